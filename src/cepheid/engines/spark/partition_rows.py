"""Rows of a stream brought together by partition, each in the order that the statement says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.keyed_rows import KeyedRows, numbered
from cepheid.engines.spark.reading import one_array
from cepheid.engines.spark.segment import DIGEST, Digests, key_digest
from cepheid.matching.values import dump
from cepheid.sql_lang.asking import ARRIVAL, KEY, ORDER
from cepheid.sql_lang.clause import OrderItem
from cepheid.sql_lang.row_query import RowQuery

TIME = f"{ORDER}0"  # the first of ORDER BY


def key_names(query: RowQuery) -> list[str]:
    return [f"{KEY}{i}" for i in range(len(query.partition_by))]


def order_names(query: RowQuery) -> list[str]:
    return [f"{ORDER}{i}" for i in range(len(query.order_by))]


def in_partitions(rows: pa.Table, query: RowQuery) -> KeyedRows:
    """What is needed of the rows after they are in order, the time among it."""
    numbers, firsts = numbered(rows, key_names(query))
    digests, number_of = np.unique(_digests(rows.take(firsts), query), return_inverse=True)
    partitions = number_of[numbers]
    order = _order(rows, partitions, query)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(partitions, minlength=len(digests)))])
    return KeyedRows(needed(rows.take(order), query), digests, offsets)


def needed(rows: pa.Table, query: RowQuery) -> pa.Table:
    named = rows.rename_columns([ORDER if name == TIME else name for name in rows.column_names])
    return named.drop_columns([ARRIVAL, *order_names(query)[1:]])


def concatenated(tables: list[pa.Table]) -> pa.Table:
    """What was kept may have been read in a session of another time zone: the instants are the same."""
    return pa.concat_tables([table.cast(tables[-1].schema) for table in tables])


def _digests(rows: pa.Table, query: RowQuery) -> Digests:
    columns = [rows[name].to_pylist() for name in key_names(query)]
    keys = zip(*columns, strict=True) if columns else [()] * rows.num_rows
    return np.array([key_digest(dump([_one_zero(v) for v in key])) for key in keys], DIGEST)


def _one_zero(value: Any) -> Any:
    """-0.0 is 0.0"""
    return value + 0.0 if isinstance(value, float) else value


def _order(rows: pa.Table, partitions: Any, query: RowQuery) -> pa.Array:
    """Of equal rows the one that came first."""
    columns: list[tuple[Any, str]] = [(pa.array(partitions), "ascending")]
    for name, item in zip(order_names(query), query.order_by, strict=True):
        columns += _sorted_by(one_array(rows[name]), item)
    columns.append((rows[ARRIVAL], "ascending"))
    names = [str(i) for i in range(len(columns))]
    table = pa.table([column for column, _ in columns], names)
    keys = [(name, direction) for name, (_, direction) in zip(names, columns, strict=True)]
    return pc.sort_indices(table, sort_keys=keys)


def _sorted_by(column: pa.Array, item: OrderItem) -> list[tuple[Any, str]]:
    """As Spark has it: null is the least unless it is said where nulls go, and NaN the greatest number."""
    direction = "descending" if item.descending else "ascending"
    found: list[tuple[Any, str]] = []
    if column.null_count:
        first = not item.descending if item.nulls_first is None else item.nulls_first
        found.append((pc.is_valid(column) if first else pc.is_null(column), "ascending"))
    if pa.types.is_floating(column.type):
        found.append((pc.fill_null(pc.is_nan(column), False), direction))
    return [*found, (column, direction)]
