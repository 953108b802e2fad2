"""What row patterns on Spark share: tables of Arrow in a task, whole partitions of rows at a time."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.sql.matched_table import partition_offsets
from cepheid.errors import InputMistake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS = 1 << 17  # that are matched at a time, if they are whole partitions


def arrow_kinds(rows: DataFrame) -> dict[str, pa.DataType]:
    from pyspark.sql.pandas.types import to_arrow_type

    return {f.name: to_arrow_type(f.dataType, timezone="UTC") for f in rows.schema.fields}


def spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def as_view(rows: DataFrame) -> str:
    """The name of a view of them."""
    name = f"__cepheid_{secrets.token_hex(8)}"
    rows.createOrReplaceTempView(name)
    return name


def refuse_stream(rows: DataFrame, what: str) -> None:
    if rows.isStreaming:
        raise InputMistake(
            f"{what}: each row of it would wait for all that follow",
            code="window_over_stream",
            hint="MATCH_RECOGNIZE, patterns and FROM PATTERN run on streams",
        )


def whole_partitions(batches: Iterator[pa.RecordBatch], keys: int) -> Iterator[pa.Table]:
    """Rows in order, cut only where a partition ends. One that does not end is looked at again when it has doubled."""
    waiting: list[pa.RecordBatch] = []
    count, enough = 0, _ROWS
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count < enough:
            continue
        table = pa.Table.from_batches(waiting)
        last = int(partition_offsets(table, keys)[-2])
        if last:
            yield table.slice(0, last)
        waiting = table.slice(last).to_batches()
        count = table.num_rows - last
        enough = max(_ROWS, 2 * count)
    if count:
        yield pa.Table.from_batches(waiting)
