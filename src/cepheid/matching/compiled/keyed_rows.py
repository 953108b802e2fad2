"""Rows of many keys with the answers of tests that several plans share, and what is worked out of them once for all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from cepheid.matching.compiled.tables import Table

BITS_A_COLUMN = 62
Places = Table  # for each test of a plan: which shared column, which bit of it
_SAMPLE = 4096


def places_of(numbers: Sequence[int]) -> Places:
    """By the numbers of a plan's tests among the shared ones."""
    return np.array([divmod(number, BITS_A_COLUMN) for number in numbers], np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class KeyedRows:
    """Rows of keys that lie one after the other, each key's in order."""

    shared: Table  # the bits of all tests; a column is a row of it
    times: Table
    offsets: Table  # where each key begins; one more
    _passing: dict[tuple[int, int], Table] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, columns: Sequence[Table], times: Table, offsets: Table) -> KeyedRows:
        shared = np.stack(columns) if len(columns) > 1 else columns[0].reshape(1, -1)
        return cls(shared, times, offsets)

    def share(self, column: int, bit: int) -> float:
        """About how many of the rows pass a test: every so many-th is asked."""
        asked = self.shared[column, :: max(self.shared.shape[1] // _SAMPLE, 1)]
        return float(((asked >> bit) & 1).sum()) / max(len(asked), 1)

    def masks(self, places: Places) -> Table:
        """The bits of some tests in each column."""
        found = np.zeros(len(self.shared), np.int64)
        for column, bit in places.tolist():
            found[column] |= 1 << bit
        return found

    def passing_any(self, places: Places, first: int, last: int) -> Table:
        """Of some rows those that pass any of some tests."""
        passes = np.zeros(last - first, np.bool_)
        for column, mask in zip(self.shared, self.masks(places), strict=True):
            passes |= (column[first:last] & mask) != 0
        found: Table = np.flatnonzero(passes) + first
        return found

    def passing(self, column: int, bit: int) -> Table:
        """The rows that pass a test."""
        with self._lock:
            if (column, bit) not in self._passing:
                self._passing[column, bit] = _rows_with(self.shared[column], np.int64(bit))
            return self._passing[column, bit]


def _made(cache: bool) -> Any:
    @njit(cache=cache, nogil=True)
    def rows_with(column: Any, bit: Any) -> Any:
        count = 0
        for row in range(len(column)):
            count += (column[row] >> bit) & 1
        found = np.empty(count + 1, np.int64)  # one more: what passes or not is written without asking
        n = 0
        for row in range(len(column)):
            found[n] = row
            n += (column[row] >> bit) & 1
        return found[:count]

    return rows_with


try:
    _rows_with = _made(cache=True)
except RuntimeError:  # there is no folder to keep it in
    _rows_with = _made(cache=False)
