"""Aggregates of a row pattern: over a stretch of the chosen rows for each point, nulls left out.

The stretches come in order, and those of one match begin at the same row and grow. So numbers are summed and
compared as they go on, in one compiled pass; what is rarer is left to Python, stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from cepheid.matching.rows.kept import (
    NOTHING,
    STEPS,
    in_int64,
    is_null,
    state_value,
    sum_too_big,
    whole_value,
)
from cepheid.pattern.row_aggregates import OF_TWO
from cepheid.pattern.row_terms import Over

_SUM, _MIN, _MAX = range(3)
_SAFE = 9.2e18  # an int64 holds no more


def aggregated(
    term: Over, values: pa.Array | None, begin: Any, end: Any, by: pa.Array | None = None
) -> pa.Array:
    """For each point the aggregate of the values in its stretch. Without values rows are counted."""
    if values is None:
        return pa.array(end - begin)
    compiled = None if term.distinct else _COMPILED.get(term.function)
    found = compiled(values, begin, end) if compiled is not None else None
    return _by_python(term, values, by, begin, end) if found is None else found


def _count(values: pa.Array, begin: Any, end: Any) -> pa.Array:
    known = np.concatenate([[0], np.cumsum(_known(values))])
    return pa.array(known[end] - known[begin])


def _sum(values: pa.Array, begin: Any, end: Any) -> pa.Array | None:
    if pa.types.is_integer(values.type):
        numbers, known = _numbers(values, np.int64), _known(values)
        found, any_known = _running(numbers, known, begin, end, _SUM)
        nearly, _ = _running(numbers.astype(np.float64), known, begin, end, _SUM)
        if len(nearly) and np.abs(nearly).max() > _SAFE:
            raise sum_too_big()
        return pa.array(found, mask=~any_known)
    if pa.types.is_floating(values.type):
        found, any_known = _running(_numbers(values, np.float64), _known(values), begin, end, _SUM)
        return pa.array(found, mask=~any_known)
    return None


def _avg(values: pa.Array, begin: Any, end: Any) -> pa.Array | None:
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return None
    total = pc.cast(_sum(values, begin, end), pa.float64(), safe=False)
    return pc.divide(total, pc.cast(_count(values, begin, end), pa.float64()))


def _least(values: pa.Array, begin: Any, end: Any) -> pa.Array:
    return _extreme(values, begin, end, _MIN)


def _greatest(values: pa.Array, begin: Any, end: Any) -> pa.Array:
    return _extreme(values, begin, end, _MAX)


def _extreme(values: pa.Array, begin: Any, end: Any, which: int) -> pa.Array:
    """By rank, whatever the type."""
    order = pc.sort_indices(values).to_numpy()
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    found, any_known = _running(ranks, _known(values), begin, end, which)
    places = order[np.where(any_known, found, 0)] if len(order) else np.zeros(len(found), np.uint64)
    return values.take(pa.array(places, mask=~any_known))


_COMPILED: dict[str, Callable[[pa.Array, Any, Any], pa.Array | None]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _least,
    "max": _greatest,
}


def _known(values: pa.Array) -> Any:
    return pc.is_valid(values).to_numpy(zero_copy_only=False)


def _numbers(values: pa.Array, kind: Any) -> Any:
    return pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(kind)


@njit(cache=True, nogil=True)
def _running(values, known, begin, end, which):  # type: ignore[no-untyped-def]
    """The sum, the least or the greatest of the known values of each stretch, and whether there is any."""
    found, any_known = np.zeros(len(begin), values.dtype), np.zeros(len(begin), np.bool_)
    at = last = -1
    total, some = values.dtype.type(0), False
    for i in range(len(begin)):
        if begin[i] != last or end[i] < at:
            at, last = begin[i], begin[i]
            total, some = values.dtype.type(0), False
        while at < end[i]:
            if known[at]:
                value = values[at]
                if not some or (which == _SUM):
                    total = total + value if some else value
                elif which == _MIN:
                    total = min(total, value)
                else:
                    total = max(total, value)
                some = True
            at += 1
        found[i], any_known[i] = total, some
    return found, any_known


# Rarer ones.


def _by_python(term: Over, values: pa.Array, by: pa.Array | None, begin: Any, end: Any) -> pa.Array:
    items = values.to_pylist()
    if by is not None:
        items = list(zip(items, by.to_pylist(), strict=True))
    stretches = zip(begin.tolist(), end.tolist(), strict=True)
    if term.function in STEPS and not term.distinct:
        found = _by_steps(term, items, stretches)
    else:
        found = [whole_value(term, items[i:j]) for i, j in stretches]
    kind = result_type(term.function, values.type)
    return pa.array([in_int64(v) for v in found] if pa.types.is_int64(kind) else found, kind)


def _by_steps(term: Over, items: list[Any], stretches: Iterable[tuple[int, int]]) -> list[Any]:
    """A stretch goes on where the one before ended, if they begin together."""
    step, state, found = STEPS[term.function], NOTHING, []
    first = at = -1
    for begin, end in stretches:
        if begin != first or end < at:
            first, at, state = begin, begin, NOTHING
        for value in items[at:end]:
            if not is_null(term.function, value):
                state = step(state, value)
        at = end
        found.append(state_value(term.function, state))
    return found


def result_type(name: str, kind: pa.DataType) -> pa.DataType:
    """What an aggregate over values of a type gives."""
    if name in ("count", "count_if"):
        return pa.int64()
    if name in ("list", "collect_list", "collect_set"):
        return pa.list_(kind)
    if name in ("bool_and", "bool_or"):
        return pa.bool_()
    if name in ("min", "max", "any_value", *OF_TWO):
        return kind
    if name == "sum":
        return _sum_type(kind)
    return pa.float64()


def _sum_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.decimal128(38, kind.scale) if pa.types.is_decimal(kind) else kind
