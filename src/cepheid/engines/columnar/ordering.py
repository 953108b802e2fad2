"""Orders: the total order of rows, rows by key, and the order in which findings become certain."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import ORDER, TIME


def total_order(table: pa.Table, order_columns: int) -> Numbers | None:
    """Rows by time, then the order columns, then arrival; None: they lie so already."""
    times = table[TIME].to_numpy()
    if not order_columns:
        if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
            return None
        return np.argsort(times, kind="stable")
    return _sorted([table[TIME], *(table[f"{ORDER}{i}"] for i in range(order_columns))])


def by_code(codes: Numbers, count: int, pool: Executor) -> tuple[Numbers, Numbers]:
    """A stable order by codes from 0, and where each of so many begins; one more. Two threads take half of it each."""
    half = len(codes) // 2
    halves = (codes[:half], codes[half:])
    counts = [np.bincount(own, minlength=count) for own in halves]
    offsets = np.concatenate([[0], np.cumsum(counts[0] + counts[1])])
    order = np.empty(len(codes), np.int64)
    places = (offsets[:-1].copy(), offsets[:-1] + counts[0])
    list(pool.map(_put_in_place, halves, places, (0, half), (order, order)))
    return order, offsets


@njit(cache=True, nogil=True)
def _put_in_place(codes, next_places, first, order):  # type: ignore[no-untyped-def]
    """`first`: the number of the first row."""
    for i in range(len(codes)):
        code = codes[i]
        order[next_places[code]] = first + i
        next_places[code] += 1


def order_of(keys: Sequence[Any]) -> Numbers:
    """Rows by several keys, the first counts most; null first. Equal ones stay as they are."""
    if all(isinstance(key, np.ndarray) for key in keys):
        found: Numbers = np.lexsort(tuple(reversed(keys)))
        return found
    return _sorted([pa.array(key) if isinstance(key, np.ndarray) else key for key in keys])


def _sorted(columns: Sequence[Any]) -> Numbers:
    names = [str(i) for i in range(len(columns))]
    table = pa.table([comparable(column) for column in columns], names)
    keys = [(name, "ascending") for name in names]
    found: Numbers = pc.sort_indices(table, sort_keys=keys, null_placement="at_start").to_numpy()
    return found.astype(np.int64)


def comparable(column: Any) -> Any:
    """A column as it is to be sorted: NaN is null, durations are numbers."""
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_floating(column.type):
        floats = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(floats), pa.scalar(None, pa.float64()), floats)
    return column


def can_be_order(kind: pa.DataType) -> bool:
    test = pa.types
    if test.is_dictionary(kind):
        return can_be_order(kind.value_type)
    tests = (
        test.is_integer,
        test.is_float32,
        test.is_float64,
        test.is_string,
        test.is_large_string,
        test.is_boolean,
        test.is_timestamp,
        test.is_date,
        test.is_duration,
    )
    return any(is_it(kind) for is_it in tests)
