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
from cepheid.engines.spark.row_windows import windowed_rows
from cepheid.engines.sql.clauses import without_clauses
from cepheid.engines.sql.matched_table import RowMatching, term_type
from cepheid.sql_lang.asking import ARRIVAL, KEY, MATCH, ORDER, UNMATCHED, made_for_us, shown, wanted
from cepheid.sql_lang.clause import Rows
from cepheid.sql_lang.row_query import RowQuery
from cepheid.sql_lang.scan import SPARK
from cepheid.sql_lang.window_query import WindowQuery

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def run_on_spark(text: str, spark: SparkSession) -> DataFrame:
    return spark.sql(without_clauses(text, _Spark(spark)))


class _Spark:
    dialect = "spark"
    letters = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def matched(self, query: RowQuery, table: str, before: str) -> str:
        in_order = rows_in_order(self.spark, query, table, before)
        refuse_stream(in_order, f"MATCH_RECOGNIZE reads a stream here (`{table}`)")
        given = [c for c in in_order.columns if c not in made_for_us(query)]
        schema = _out(in_order, query)
        found = in_order.mapInArrow(_matching(query, schema), spark_schema(schema))
        return as_view(found.selectExpr(*shown(query, given, self.dialect, self.quoted)))

    def columns(self, query: str) -> list[str]:
        return self.spark.sql(query).columns

    def rows(self, query: str, names: Sequence[str]) -> str:
        found = self.spark.sql(query)
        refuse_stream(found, "a window with a row pattern reads a stream here")
        return as_view(found.toDF(*names))

    def windowed(self, query: WindowQuery, table: str) -> str:
        return as_view(windowed_rows(self.spark, query, rows_in_order(self.spark, query.query, table)))

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"


def rows_in_order(spark: SparkSession, query: RowQuery, table: str, before: str = "") -> DataFrame:
    """What is matched: the columns that are needed, each partition in one task and in order."""
    return _in_order(spark.sql(f"{before}SELECT {', '.join(_asked(query))} FROM {table}"), query)


def _asked(query: RowQuery) -> list[str]:
    order = [f"({item.value.text}) AS {ORDER}{i}" for i, item in enumerate(query.order_by)]
    return [*wanted(query), *order, f"monotonically_increasing_id() AS {ARRIVAL}"]


def _in_order(rows: DataFrame, query: RowQuery) -> DataFrame:
    """The rows of a partition together, in their order; of equal ones as they came."""
    from pyspark.sql import functions as F

    keys = [F.col(f"{KEY}{i}") for i in range(len(query.partition_by))]
    together = rows.repartition(*keys) if keys else rows.repartition(1)
    order = [_direction(F.col(f"{ORDER}{i}"), query, i) for i in range(len(query.order_by))]
    in_order = together.sortWithinPartitions(*keys, *order, F.col(ARRIVAL))
    if query.within is not None:
        in_order = in_order.withColumnRenamed(f"{ORDER}0", ORDER)
    return in_order.drop(ARRIVAL, *(f"{ORDER}{i}" for i in range(len(query.order_by))))


def _direction(column: Column, query: RowQuery, i: int) -> Column:
    item = query.order_by[i]
    first = not item.descending if item.nulls_first is None else item.nulls_first
    if item.descending:
        return column.desc_nulls_first() if first else column.desc_nulls_last()
    return column.asc_nulls_first() if first else column.asc_nulls_last()


def _out(rows: DataFrame, query: RowQuery) -> pa.Schema:
    """The columns of `RowMatching.matched`, of the types that Spark has for them."""
    kinds = arrow_kinds(rows)
    fields = [(n, kind) for n, kind in kinds.items() if n not in query.columns and n != ORDER]
    fields += [(name, term_type(term, kinds)) for name, term in query.terms.items()]
    fields.append((MATCH, pa.int64()))
    if query.rows is Rows.ALL_WITH_UNMATCHED:
        fields.append((UNMATCHED, pa.bool_()))
    return pa.schema(fields)


def _matching(
    query: RowQuery, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matching = RowMatching(query)
        for table in whole_partitions(batches, len(query.partition_by)):
            yield from matching.matched(table).cast(schema).combine_chunks().to_batches()

    return run
