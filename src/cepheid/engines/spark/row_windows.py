"""Row patterns in windows on Spark: each row goes through a task with its partition, and comes out with its match.

No row is read twice and joined with itself: what orders rows may leave some of them equal, and Spark may then order
them otherwise the second time. So a row is carried along to where it is needed, with the rows of its match beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.engines.spark.arrow_tasks import arrow_kinds, as_view, spark_schema, whole_partitions
from cepheid.engines.sql.matched_table import term_type
from cepheid.engines.sql.window_table import GROUP, MATCHED, Members, WindowMatching
from cepheid.sql_lang.asking import made_for_us
from cepheid.sql_lang.window_functions import LAST, NTH
from cepheid.sql_lang.window_query import WindowQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SELF, _SELVES = "__self", "__selves"  # a row, and all rows that ask for the same match
_GROUPS_OF_A_TASK = 1 << 40
_Tasks = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def windowed_rows(spark: SparkSession, window: WindowQuery, in_order: DataFrame) -> DataFrame:
    """The rows, each with what is asked over the window."""
    kinds = arrow_kinds(in_order)
    own = [name for name in kinds if name not in made_for_us(window.query)]
    found = pa.schema(
        [
            *((name, kinds[name]) for name in own),
            *((name, term_type(term, kinds)) for name, term in window.query.terms.items()),
            (MATCHED, pa.bool_()),
        ]
    )
    measures = [f"CASE WHEN {MATCHED} THEN ({text}) END AS {name}" for name, text in window.query.measures]
    if not window.aggregates:
        rows = in_order.mapInArrow(_matching(window, found), spark_schema(found))
        return rows.selectExpr(*own, *measures)
    schema = _records_schema(window, found)
    records = as_view(in_order.mapInArrow(_recording(window, found, schema), spark_schema(schema)))
    aggregates = ", ".join(f"{sql} AS {name}" for name, sql in window.aggregates)
    names = ", ".join(name for name, _ in window.aggregates)
    grouped = f"SELECT collect_list({_SELF}) AS {_SELVES}, {aggregates} FROM {records} GROUP BY {GROUP}"
    rows = spark.sql(f"SELECT inline({_SELVES}), {names} FROM ({grouped})")
    return rows.selectExpr(*own, *measures, *(name for name, _ in window.aggregates))


def _records_schema(window: WindowQuery, found: pa.Schema) -> pa.Schema:
    """A record is a row that looked for a match, or a row of a match."""
    kinds = {field.name: field.type for field in found}
    return pa.schema(
        [
            (GROUP, pa.int64()),
            (_SELF, pa.struct(list(found))),
            (NTH, pa.int64()),
            (LAST, pa.bool_()),
            *((name, kinds[name]) for name in window.arguments),
        ]
    )


def _matching(window: WindowQuery, schema: pa.Schema) -> _Tasks:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matching = WindowMatching(window)
        for table in whole_partitions(batches, len(window.query.partition_by)):
            rows, _ = matching.matched(table)
            yield from rows.select(schema.names).cast(schema).combine_chunks().to_batches()

    return run


def _recording(window: WindowQuery, found: pa.Schema, schema: pa.Schema) -> _Tasks:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        matching, first = WindowMatching(window), context.partitionId() * _GROUPS_OF_A_TASK
        for table in whole_partitions(batches, len(window.query.partition_by)):
            rows, members = matching.matched(table)
            own = rows.select(found.names).cast(found).combine_chunks()
            yield from _selves(own, rows[GROUP], first, schema)
            yield from _members(own, members, first, schema)
            first += 2 * table.num_rows + len(members.groups)  # more groups there cannot be

    return run


def _selves(
    rows: pa.Table, groups: pa.ChunkedArray, first: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    columns = {GROUP: pa.array(groups.to_numpy() + first), _SELF: rows.to_struct_array()}
    yield from _filled(columns, schema, rows.num_rows)


def _members(rows: pa.Table, members: Members, first: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    at = pa.array(members.rows, pa.int64())
    columns = {GROUP: pa.array(members.groups + np.int64(first)), NTH: pa.array(members.nth)}
    columns |= {LAST: pa.array(members.last)}
    columns |= {name: rows[name].take(at) for name in schema.names if name in rows.column_names}
    yield from _filled(columns, schema, len(at))


def _filled(columns: dict[str, pa.Array], schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """With null for what a record has not."""
    known = {f.name: columns[f.name] if f.name in columns else pa.nulls(rows, f.type) for f in schema}
    yield from pa.table(known).cast(schema).combine_chunks().to_batches()
