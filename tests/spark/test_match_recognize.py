"""Every case of MATCH_RECOGNIZE on Spark, many in one job: the rows that were worked out by hand, or the error."""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.engines.spark.failures import in_our_words
from cepheid.engines.sql.entrance import sql
from cepheid.errors import CepheidError, EvaluationError

sys.path.insert(0, str(Path(__file__).parents[1] / "sql"))

from cases import Case, Table, differences, load_cases

CASES = [c for c in load_cases() if c.only != "local"]
TOPICS = sorted({c.file for c in CASES if c.error is None})


def put(spark: SparkSession, tables: dict[str, Table]) -> None:
    for name, table in tables.items():
        schema = ", ".join(f"`{column}` {kind}" for column, kind in table.columns.items())
        spark.createDataFrame([tuple(row) for row in table.rows], schema).createOrReplaceTempView(name)


@pytest.mark.parametrize("topic", TOPICS)
def test_some_of_a_topic(spark: SparkSession, topic: str) -> None:
    check_topic(spark, topic, one_in=5)


@pytest.mark.soak
@pytest.mark.parametrize("topic", TOPICS)
def test_all_of_a_topic(spark: SparkSession, topic: str) -> None:
    check_topic(spark, topic, one_in=1)


def check_topic(spark: SparkSession, topic: str, one_in: int) -> None:
    cases = [c for c in CASES if c.file == topic and c.error is None][::one_in]
    tables = [_told(spark, number, case) for number, case in enumerate(cases)]
    found: dict[int, list[Any]] = {}
    for row in reduce(DataFrame.unionByName, tables).collect():
        found.setdefault(row.case, []).append(tuple(json.loads(row.row)))
    wrong = {}
    for number, case in enumerate(cases):
        problems = differences(case, case.columns, _like(case, found.get(number, [])))
        if problems:
            wrong[case.name] = problems
    assert not wrong


def _told(spark: SparkSession, number: int, case: Case) -> DataFrame:
    """The answer as one column of text, so that answers of all shapes go through one job."""
    put(spark, case.tables)
    rows = sql(case.query, spark=spark)
    assert [c.lower() for c in rows.columns] == [c.lower() for c in case.columns], case.name
    values = F.to_json(F.array(*(F.to_json(F.struct(F.col(f"`{c}`").alias("v"))) for c in rows.columns)))
    return rows.select(F.lit(number).alias("case"), values.alias("row"))


def _like(case: Case, rows: list[Any]) -> list[tuple[Any, ...]]:
    kinds = [_kind([row[i] for row in case.rows]) for i in range(len(case.columns))]
    return [tuple(_value(kind, text) for kind, text in zip(kinds, row, strict=True)) for row in rows]


def _kind(values: list[Any]) -> type | None:
    return next((type(v) for v in values if v is not None), None)


def _value(kind: type | None, text: str) -> Any:
    value = json.loads(text, parse_float=Decimal).get("v")
    if value is None:
        return None
    if kind is date:
        return date.fromisoformat(value)
    if kind is datetime:
        return datetime.fromisoformat(value.replace("Z", ""))
    return value


def test_a_failing_task_says_what_and_where_first(spark: SparkSession) -> None:
    spark.createDataFrame([(1, "a"), (2, "b")], "id int, k string").createOrReplaceTempView("t")
    query = """SELECT n FROM t MATCH_RECOGNIZE (
      ORDER BY id MEASURES COUNT(*) AS n AFTER MATCH SKIP TO LAST C
      PATTERN (A C? B) DEFINE A AS k = 'a', B AS k = 'b', C AS k = 'c')"""
    rows = sql(query, spark=spark)
    with pytest.raises(PythonException) as caught:
        rows.collect()
    first, *rest = str(caught.value).strip().split("\ncepheid.errors.", 1)[-1].split("\n")
    assert "query, line 2, column 67: AFTER MATCH SKIP TO LAST C: the match at row 1" in first
    assert rest[0].startswith("  2 |")
    assert rest[2].startswith("  hint: skip to a variable that every match has")
    assert "Traceback" not in "\n".join([first, *rest[:3]])
    with pytest.raises(EvaluationError), in_our_words():
        rows.collect()


def test_rows_of_which_no_column_is_asked_for_are_counted(spark: SparkSession) -> None:
    spark.range(5).createOrReplaceTempView("t")
    query = "SELECT n FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (A B))"
    assert [row.n for row in sql(query, spark=spark).collect()] == [2, 2]


def test_an_aggregate_of_a_user(spark: SparkSession) -> None:
    @F.pandas_udf("double")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def total(values: pd.Series) -> float:
        return float(values.sum())

    spark.udf.register("total_of_mine", total)
    spark.udf.register("one_of_mine", lambda value: value + 1, "int")
    rows = [(1, 20), (2, 18), (3, 15), (4, 17), (5, 22)]
    spark.createDataFrame(rows, "id int, price int").createOrReplaceTempView("t")
    query = """SELECT * FROM t MATCH_RECOGNIZE (
      ORDER BY id MEASURES {} PATTERN (S D+ U+) DEFINE D AS price < PREV(price), U AS price > PREV(price))"""
    found = sql(
        query.format("total_of_mine(D.price) AS a, one_of_mine(D.price) AS b, COUNT(*) AS n"), spark=spark
    )
    assert [tuple(row) for row in found.collect()] == [(33.0, 16, 5)]
    every = sql(query.format("FINAL total_of_mine(price) AS a ALL ROWS PER MATCH"), spark=spark).select("a")
    assert [row.a for row in every.collect()] == [92.0] * 5


MISTAKES = [c for c in CASES if c.error is not None]


@pytest.mark.parametrize("case", MISTAKES[::5], ids=lambda c: c.name)
def test_some_errors(spark: SparkSession, case: Case) -> None:
    check_error(spark, case)


@pytest.mark.soak
@pytest.mark.parametrize("case", MISTAKES, ids=lambda c: c.name)
def test_all_errors(spark: SparkSession, case: Case) -> None:
    check_error(spark, case)


def check_error(spark: SparkSession, case: Case) -> None:
    put(spark, case.tables)
    with pytest.raises(Exception) as caught:  # a worker's error comes as one of Spark's
        sql(case.query, spark=spark).collect()
    said = str(caught.value).lower()
    assert case.error is not None
    parts = case.error.get("contains", [])
    parts = [parts] if isinstance(parts, str) else parts
    assert not parts or any(part.lower() in said for part in parts), said[:500]
    # What is wrong outside the clauses is Spark's to say.
    assert isinstance(caught.value, (CepheidError, AnalysisException)) or "cepheid.errors" in said
