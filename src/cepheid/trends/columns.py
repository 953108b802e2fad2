"""Measures as columns of whole numbers, for the compiled aggregates, and their totals as columns of values again.

The least and the largest are found by rank. Floats are added as whole numbers of a power of two, if all of them are
such: then no order of adding matters. What does not fit is for Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.pattern.model import TrendColumn
from cepheid.pattern.trends import COUNT_TRENDS
from cepheid.plan.automaton import Position
from cepheid.trends.kernel.by_state import ADDED, LEAST, NONE
from cepheid.trends.measures import EVENTS, MAX, SUM, Measure, measure_of

Numbers = npt.NDArray[np.int64]
_EXACT = 2**53
_FINEST = 20  # a float is tried as a whole number of so many halvings of 1


class NotWhole(Exception):
    """A column whose values are no whole numbers of 64 bits: why."""


@dataclass(frozen=True)
class Added:
    """Where a measure is among the totals: the number of values, and their sum in units of 1 / scale."""

    values: int
    total: int
    scale: int | None  # None: whole numbers


@dataclass(frozen=True)
class Ranked:
    """Where a measure is among the totals: a rank; for the largest it is negative."""

    at: int
    known: pa.Array
    sign: int


class FieldColumns:
    """Fields of the events at hand, each read once, as what measures add up."""

    def __init__(self, read: Callable[[str], pa.Array], count: int) -> None:
        """`read` gives a field of the events."""
        self.count = count
        self.read = cache(read)
        self._ones: Numbers | None = None
        self._known: dict[tuple[str, str], Any] = {}

    def ones(self) -> Numbers:
        if self._ones is None:
            self._ones = np.ones(self.count, np.int64)
        return self._ones

    def added(self, measure: Measure) -> tuple[Numbers, Numbers, int | None]:
        """Which events have a value, the values as whole numbers of a unit, and how many units make 1."""
        found: tuple[Numbers, Numbers, int | None] = self._once("added", measure, _added)
        return found

    def ranked(self, measure: Measure, sign: int) -> tuple[pa.Array, Numbers]:
        """The values there are, and which of them each event has."""
        known, ranks = self._once("ranked", measure, lambda values, _: _ranked(values))
        if sign > 0:
            return known, ranks
        return known, self._once("falling", measure, lambda *_: np.where(ranks == NONE, NONE, -ranks))

    def _once(self, use: str, measure: Measure, make: Callable[[pa.Array, Measure], Any]) -> Any:
        key = (use, measure.path[0])
        if key not in self._known:
            self._known[key] = make(_number_column(self.read(measure.path[0]), measure), measure)
        return self._known[key]


class MeasureColumns:
    """The measures of some columns over the events at hand."""

    def __init__(
        self, columns: Sequence[TrendColumn], positions: Sequence[Position], fields: FieldColumns
    ) -> None:
        """Raises NotWhole."""
        self.positions, self.fields = positions, fields
        self.weights: list[Numbers] = []
        self.masks: list[int] = []
        self.kinds: list[int] = []
        self.places: dict[Measure, Added | Ranked | int] = {}
        for column in columns:
            if column.function != COUNT_TRENDS and measure_of(column) not in self.places:
                measure = measure_of(column)
                self.places[measure] = self._placed(measure)

    @property
    def width(self) -> int:
        """Words of a total: how many trends, then each measure."""
        return 1 + len(self.weights)

    def arrays(self) -> tuple[Numbers, Numbers, Numbers]:
        """Weights by measure and event, the steps each measure counts, its kind."""
        weights = np.stack(self.weights) if self.weights else np.zeros((0, self.fields.count), np.int64)
        return weights, np.array(self.masks, np.int64), np.array(self.kinds, np.int64)

    def _placed(self, measure: Measure) -> Added | Ranked | int:
        mask = sum(1 << p.index for p in self.positions if p.step.alias == measure.alias)
        if measure.kind == EVENTS:
            return self._add(self.fields.ones(), mask, ADDED)
        if measure.kind == SUM:
            there, whole, scale = self.fields.added(measure)
            return Added(self._add(there, mask, ADDED), self._add(whole, mask, ADDED), scale)
        sign = -1 if measure.kind == MAX else 1
        known, ranks = self.fields.ranked(measure, sign)
        return Ranked(self._add(ranks, mask, LEAST), known, sign)

    def _add(self, weights: Numbers, mask: int, kind: int) -> int:
        self.weights.append(weights)
        self.masks.append(mask)
        self.kinds.append(kind)
        return len(self.weights)

    # Totals to values.

    def value(self, column: TrendColumn, totals: Numbers) -> pa.Array:
        if column.function == COUNT_TRENDS:
            return pa.array(totals[:, 0])
        place = self.places[measure_of(column)]
        if isinstance(place, int):
            return pa.array(totals[:, place])
        if isinstance(place, Ranked):
            ranks = totals[:, place.at]
            none = ranks == NONE
            return place.known.take(pa.array(np.where(none, 0, place.sign * ranks), mask=none))
        values, total = totals[:, place.values], totals[:, place.total]
        if column.function == "avg_trends":
            return pa.array(_means(total, values, place.scale or 1), mask=values == 0)
        if place.scale is None:
            return pa.array(total, mask=values == 0)
        return pa.array(total / np.float64(place.scale), mask=values == 0)


def _number_column(column: Any, measure: Measure) -> pa.Array:
    """Whole numbers of 64 bits or floats; NaN is null."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return column.cast(pa.int64())
    if pa.types.is_null(kind):
        return column.cast(pa.int64())
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        floats = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(floats), pa.scalar(None, pa.float64()), floats)
    raise NotWhole(f"`{measure.alias}.{'.'.join(measure.path)}` is of type {kind}")


def _added(values: pa.Array, measure: Measure) -> tuple[Numbers, Numbers, int | None]:
    whole, scale = _whole(values, measure)
    return pc.is_valid(values).to_numpy(zero_copy_only=False).astype(np.int64), whole, scale


def _whole(values: pa.Array, measure: Measure) -> tuple[Numbers, int | None]:
    filled = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(values.type):
        return filled, None
    for halvings in range(0, _FINEST + 1, 4):
        with np.errstate(all="ignore"):
            scaled = filled * 2.0**halvings
        if np.all(np.abs(scaled) < _EXACT) and np.all(scaled == np.rint(scaled)):
            return scaled.astype(np.int64), 2**halvings
    raise NotWhole(
        f"`{measure.alias}.{'.'.join(measure.path)}` holds floats that are added exactly, by Python"
    )


def _ranked(values: pa.Array) -> tuple[pa.Array, Numbers]:
    known, ranks = np.unique(pc.fill_null(values, 0).to_numpy(zero_copy_only=False), return_inverse=True)
    there = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return pa.array(known), np.where(there, ranks.astype(np.int64), NONE)


def _means(total: Numbers, values: Numbers, scale: int) -> npt.NDArray[np.float64]:
    """Rounded once, as Python divides whole numbers."""
    found = np.where(values == 0, 0, total) / np.maximum(values, 1) / scale
    large = np.flatnonzero((np.abs(total) >= _EXACT) | (values >= _EXACT))
    for row in large.tolist():
        found[row] = int(total[row]) / (int(values[row]) * scale)
    return found
