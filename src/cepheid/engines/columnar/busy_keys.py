"""Rows of keys of which any event passes a test. Events that no stream names are kept where neighbours count, and are
most often of other keys: each row is looked at where it lies, and only those that stay are put together.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit

from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import BITS
from cepheid.engines.columnar.key_codes import (
    CloseIntegers,
    Integers,
    close_integers,
    integers_of,
    is_there,
    key_codes,
    only_column,
)
from cepheid.plan.plan import Plan


class BusyRows(NamedTuple):
    """Rows in ascending order, the number of the key of each, and how many keys there are."""

    rows: Numbers
    codes: Numbers
    keys: int


def busy_rows(plan: Plan, table: pa.Table, pool: Executor) -> BusyRows:
    column = only_column(plan, table)
    keys = None if column is None else close_integers(column, pool.map)
    if keys is None:
        codes, count = key_codes(plan, table)
        keys = CloseIntegers([integers_of(pa.array(codes))], 0, count + 1)
    return rows_of_busy(
        keys, [table[name].to_numpy() for name in table.column_names if name.startswith(BITS)], pool
    )


def rows_of_busy(keys: CloseIntegers, bits: list[Numbers], pool: Executor) -> BusyRows:
    """`bits` are columns: a row with any bit passes a test."""
    ends = np.cumsum([0, *(len(own.values) for own in keys.chunks)]).tolist()
    numbers = np.full(keys.size, -1, np.int64)

    def mark(own: Integers, first: int, end: int) -> None:
        for column in bits:
            passing = column[first:end]
            passing.flags.writeable = False  # what is compiled is of one kind
            _mark_busy(*own, keys.least, passing, numbers)

    def keep(own: Integers, first: int) -> tuple[Numbers, Numbers]:
        rows, codes = np.empty(len(own.values), np.int64), np.empty(len(own.values), np.int64)
        count = _keep_busy(*own, keys.least, numbers, first, rows, codes)
        return rows[:count], codes[:count]

    list(pool.map(mark, keys.chunks, ends, ends[1:]))  # all write the same
    busy = np.flatnonzero(numbers == 0)
    numbers[busy] = np.arange(len(busy))
    none = np.zeros(0, np.int64)
    parts = [(none, none), *pool.map(keep, keys.chunks, ends)]
    rows, codes = (np.concatenate(own) for own in zip(*parts, strict=True))
    return BusyRows(rows, codes, len(busy))


@njit(cache=True, nogil=True)
def _mark_busy(values, present, offset, least, bits, numbers):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        if bits[i] != 0:
            numbers[values[i] - least if is_there(present, offset + i) else -1] = 0


@njit(cache=True, nogil=True)
def _keep_busy(values, present, offset, least, numbers, first, rows, codes):  # type: ignore[no-untyped-def]
    """`first`: the number of the first row. The answer is how many are kept."""
    place = 0
    for i in range(len(values)):
        number = numbers[values[i] - least if is_there(present, offset + i) else -1]
        if number >= 0:
            rows[place], codes[place] = first + i, number
            place += 1
    return place
