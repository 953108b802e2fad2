"""Columns that Spark's own engine cannot be trusted with: times written as text or fractions, odd keys.

They are worked out in Python, by the very functions the local engine uses, in one pass before the shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import plain
from cepheid.engines.local.times import from_microseconds, to_microseconds
from cepheid.engines.spark.inputs import Input
from cepheid.matching.evaluate import compile_value
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.values import dump
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def instant_name(given: Input, name: str) -> str:
    return f"_i{given.columns.times().index(name)}"


def key_name(number: int) -> str:
    return f"_x{number}"


def added(df: DataFrame, given: Input, keys: tuple[tuple[int, Expr], ...]) -> DataFrame:
    """The DataFrame with the columns that are missing, if any."""
    from pyspark.sql import types as T

    instants = [n for n in given.columns.times() if not pa.types.is_timestamp(given.kind(n))]
    new = [(instant_name(given, n), T.LongType()) for n in instants]
    new = [n for n in new if n[0] not in df.columns]
    instants = instants if new else []
    fields: list[Any] = [T.StructField(name, kind) for name, kind in new]
    fields += [T.StructField(key_name(i), T.StringType()) for i, _ in keys]
    if not fields:
        return df
    schema = T.StructType([*df.schema.fields, *fields])
    return df.mapInArrow(_adder(given, tuple(instants), keys), schema)


def _adder(
    given: Input, instants: tuple[str, ...], keys: tuple[tuple[int, Expr], ...]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    columns = given.columns

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        values = [(key_name(i), compile_value(expr)) for i, expr in keys]
        for batch in batches:
            new: dict[str, list[Any]] = {instant_name(given, n): [] for n in instants}
            new |= {name: [] for name, _ in values}
            for row in batch_rows(dict(zip(batch.schema.names, batch.columns, strict=True))):
                row = {name: plain(value) for name, value in row.items()}
                for name in instants:
                    time = None if row[name] is None else to_microseconds(row[name], columns.time_unit)
                    new[instant_name(given, name)].append(time)
                    row[name] = None if time is None else from_microseconds(time)
                moment = Moment(Event(str(row.get(columns.type)), 0, row), {})
                for name, value in values:
                    # Coarser than the key is safe: the matcher tells apart what is not equal.
                    new[name].append(dump(lookup_key((value(moment),), inferred=True)))
            yield _extended(batch, new)

    return add


def _extended(batch: pa.RecordBatch, new: dict[str, list[Any]]) -> pa.RecordBatch:
    kinds = {name: pa.int64() if name.startswith("_i") else pa.string() for name in new}
    arrays = [*batch.columns, *(pa.array(values, kinds[name]) for name, values in new.items())]
    return pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *new])
