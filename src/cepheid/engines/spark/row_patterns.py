"""Row patterns on Spark: rows are shuffled by partition and sorted by Spark, then matched in its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark.arrow_tasks import (
    arrow_kinds,
    as_view,
    refuse_stream,
    spark_schema,
    whole_partitions,
)
from cepheid.engines.spark.failures import without_stack
from cepheid.engines.spark.function_names import SparkFunctions
from cepheid.engines.spark.row_stream import found_in_stream
from cepheid.engines.spark.row_windows import windowed_rows
from cepheid.engines.sql.all_matched import all_matched_fields
from cepheid.engines.sql.clauses import without_clauses
from cepheid.engines.sql.matched_table import RowMatching, term_type
from cepheid.errors import InputMistake
from cepheid.sql_lang.asking import ARRIVAL, KEY, MATCH, ORDER, UNMATCHED, made_for_us, shown, wanted
from cepheid.sql_lang.clause import Rows
from cepheid.sql_lang.database_aggregates import kept_columns, one_by_one, with_aggregates
from cepheid.sql_lang.row_query import RowQuery
from cepheid.sql_lang.scan import SPARK
from cepheid.sql_lang.window_query import WindowQuery

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_GROUPS_OF_A_TASK = 40  # bits for matches; the others number the tasks


def run_on_spark(text: str, spark: SparkSession) -> DataFrame:
    return spark.sql(without_clauses(text, _Spark(spark)))


class _Spark:
    dialect = "spark"
    letters = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.functions = SparkFunctions(spark)

    def matched(self, query: RowQuery, table: str, before: str) -> str:
        rows = asked_rows(self.spark, query, table, before)
        if rows.isStreaming:
            query = query.keeping_aggregates()
        ordering = [f"{ORDER}{i}" for i in range(len(query.order_by))]
        schema = _out(rows.drop(ARRIVAL, *ordering), query)
        if rows.isStreaming:
            found = found_in_stream(rows, query, schema)
        else:
            found = in_order(rows, query).mapInArrow(_matching(query, schema), spark_schema(schema))
        given = [c for c in rows.columns if c not in made_for_us(query) and c not in ordering]
        if query.left:
            found = self._with_aggregates(query, as_view(found), kept_columns(query, given, self.quoted))
        return as_view(found.selectExpr(*shown(query, given, self.dialect, self.quoted)))

    def columns(self, query: str) -> list[str]:
        return self.spark.sql(query).columns

    def rows(self, query: str, names: Sequence[str]) -> str:
        found = self.spark.sql(query)
        refuse_stream(found, "a window with a row pattern reads a stream here")
        return as_view(found.toDF(*names))

    def windowed(self, query: WindowQuery, table: str) -> str:
        rows = in_order(asked_rows(self.spark, query.query, table), query.query)
        return as_view(windowed_rows(self.spark, query, rows))

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def _with_aggregates(self, query: RowQuery, raw: str, kept: list[str]) -> DataFrame:
        from pyspark.errors import AnalysisException

        try:
            return self.spark.sql(with_aggregates(query, raw, kept, self.functions))
        except AnalysisException as problem:
            raise self._at_its_place(query, raw, problem) from problem

    def _at_its_place(self, query: RowQuery, raw: str, problem: Exception) -> InputMistake:
        from pyspark.errors import AnalysisException

        for alone, call in one_by_one(query):
            try:
                self.spark.sql(with_aggregates(alone, raw, [], self.functions))
            except AnalysisException as own:
                return InputMistake(str(own).split(" SQLSTATE:")[0], code="database", place=call.place)
        return InputMistake(str(problem), code="database")


def asked_rows(spark: SparkSession, query: RowQuery, table: str, before: str = "") -> DataFrame:
    """The columns that are needed, those of ORDER BY among them."""
    return spark.sql(f"{before}SELECT {', '.join(_asked(query))} FROM {table}")


def _asked(query: RowQuery) -> list[str]:
    order = [f"({item.value.text}) AS {ORDER}{i}" for i, item in enumerate(query.order_by)]
    # Without any column there would be no rows.
    return [*wanted(query), *order] or [f"TRUE AS {ARRIVAL}"]


def in_order(rows: DataFrame, query: RowQuery) -> DataFrame:
    """Each partition in one task, its rows in their order; of equal ones as they came."""
    from pyspark.sql import functions as F

    rows = rows.withColumn(ARRIVAL, F.monotonically_increasing_id())
    keys = [F.col(f"{KEY}{i}") for i in range(len(query.partition_by))]
    together = rows.repartition(*keys) if keys else rows.repartition(1)
    order = [_direction(F.col(f"{ORDER}{i}"), query, i) for i in range(len(query.order_by))]
    in_order = together.sortWithinPartitions(*keys, *order, F.col(ARRIVAL))
    if query.within is not None:
        in_order = in_order.withColumnRenamed(f"{ORDER}0", ORDER)
    needed = in_order.drop(ARRIVAL, *(f"{ORDER}{i}" for i in range(len(query.order_by))))
    # Without any column it would be forgotten on the way how many rows there are.
    return needed if needed.columns else in_order.select(ARRIVAL)


def _direction(column: Column, query: RowQuery, i: int) -> Column:
    item = query.order_by[i]
    first = not item.descending if item.nulls_first is None else item.nulls_first
    if item.descending:
        return column.desc_nulls_first() if first else column.desc_nulls_last()
    return column.asc_nulls_first() if first else column.asc_nulls_last()


def _out(rows: DataFrame, query: RowQuery) -> pa.Schema:
    """The columns of `RowMatching.matched`, of the types that Spark has for them."""
    kinds = arrow_kinds(rows)
    fields = [(n, kind) for n, kind in kinds.items() if n not in query.columns and n not in (ORDER, ARRIVAL)]
    known = {name: term for name, term in query.terms.items() if name not in query.left}
    fields += [(name, term_type(term, kinds)) for name, term in known.items()]
    fields.append((MATCH, pa.int64()))
    if query.rows is Rows.ALL_WITH_UNMATCHED:
        fields.append((UNMATCHED, pa.bool_()))
    fields += all_matched_fields(query, kinds)
    return pa.schema(fields)


def _matching(
    query: RowQuery, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        matching, context = RowMatching(query), TaskContext.get()
        groups = (context.partitionId() if context is not None else 0) << _GROUPS_OF_A_TASK
        for table in whole_partitions(batches, len(query.partition_by)):
            with without_stack():
                found = matching.matched(table, groups)
            groups += table.num_rows + found.num_rows  # more than there are matches and rows in none
            yield from found.cast(schema).combine_chunks().to_batches()

    return run
