"""Batches of Arrow columns to rows of Python values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from cepheid.engines.local.arrow_types import plain_arrow, type_from_arrow
from cepheid.engines.local.reading import BATCH
from cepheid.engines.local.times import from_microseconds
from cepheid.errors import InputMistake
from cepheid.pattern.types import UNKNOWN, Type

# A column is an Arrow array, or plain Python values where Arrow has no type for what a pandas column holds.
Column = Any


def named(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Column]]:
    for batch in batches:
        yield dict(zip(batch.schema.names, batch.columns, strict=True))


def slices(arrays: Mapping[str, Column], length: int) -> Iterator[dict[str, Column]]:
    for start in range(0, length, BATCH):
        yield {name: values[start : start + BATCH] for name, values in arrays.items()}


def batch_rows(batch: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    lists = [python_values(name, column) for name, column in batch.items()]
    names = list(batch)
    return (dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True))


def python_values(name: str, column: Column) -> list[Any]:
    if isinstance(column, list):
        return column
    try:
        target = plain_arrow(column.type)
        if target != column.type:
            column = column.cast(target, safe=False)  # nanoseconds are cut off
        if pa.types.is_timestamp(target):
            ints = column.cast(pa.int64()).to_pylist()
            return [None if value is None else from_microseconds(value) for value in ints]
        return list(column.to_pylist(maps_as_pydicts="lossy"))
    except (InputMistake, pa.ArrowException, ValueError, OverflowError) as failure:
        raise InputMistake(f"column `{name}` cannot be read: {failure}", code="bad_column") from None


def column_type(values: Column) -> Type:
    return UNKNOWN if isinstance(values, list) else type_from_arrow(values.type)
