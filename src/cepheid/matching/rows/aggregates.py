"""Aggregates of a row pattern: over a stretch of the chosen rows for each point, nulls left out.

The stretches come in order, and those of one match begin at the same row and grow. So numbers are summed and
compared as they go on, in one compiled pass; what is rarer is left to Python, stretch by stretch.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from cepheid.errors import EvaluationError, PatternMistake
from cepheid.pattern.row_terms import Over

_SUM, _MIN, _MAX = range(3)
_SAFE = 9.2e18  # an int64 holds no more


def aggregated(term: Over, values: pa.Array | None, begin: Any, end: Any) -> pa.Array:
    """For each point the aggregate of the values in its stretch. Without values rows are counted."""
    if values is None:
        return pa.array(end - begin)
    if term.distinct and term.function not in ("min", "max"):
        return _by_python(term.function, values, begin, end, distinct=True)
    compiled = _COMPILED.get(term.function)
    if compiled is not None:
        found = compiled(values, begin, end)
        if found is not None:
            return found
    return _by_python(term.function, values, begin, end)


def _count(values: pa.Array, begin: Any, end: Any) -> pa.Array:
    known = np.concatenate([[0], np.cumsum(_known(values))])
    return pa.array(known[end] - known[begin])


def _sum(values: pa.Array, begin: Any, end: Any) -> pa.Array | None:
    if pa.types.is_integer(values.type):
        numbers, known = _numbers(values, np.int64), _known(values)
        found, any_known = _running(numbers, known, begin, end, _SUM)
        nearly, _ = _running(numbers.astype(np.float64), known, begin, end, _SUM)
        if len(nearly) and np.abs(nearly).max() > _SAFE:
            raise EvaluationError(
                "a sum is too big for a 64-bit integer", code="sum_too_big", hint="cast it to double"
            )
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


def _by_python(name: str, values: pa.Array, begin: Any, end: Any, distinct: bool = False) -> pa.Array:
    function = PYTHON.get(name)
    if function is None:
        raise PatternMistake(
            f"{name} is no aggregate of a row pattern",
            code="unknown_aggregate",
            hint=f"there are {', '.join(sorted({*_COMPILED, *PYTHON}))}",
        )
    items = values.to_pylist()
    found = []
    for i, j in zip(begin.tolist(), end.tolist(), strict=True):
        own = [item for item in items[i:j] if item is not None]
        found.append(function(list(dict.fromkeys(own)) if distinct else own))
    return pa.array(found, result_type(name, values.type))


def _mean(values: Sequence[Any]) -> Any:
    if not values:
        return None
    return float(sum(values[1:], values[0])) / len(values)


def _spread(
    function: Callable[[Sequence[float]], float], least: int
) -> Callable[[Sequence[Any]], float | None]:
    return lambda values: function([float(v) for v in values]) if len(values) >= least else None


PYTHON: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "sum": lambda values: sum(values[1:], values[0]) if values else None,
    "avg": _mean,
    "stddev_samp": _spread(statistics.stdev, 2),
    "stddev_pop": _spread(statistics.pstdev, 1),
    "var_samp": _spread(statistics.variance, 2),
    "var_pop": _spread(statistics.pvariance, 1),
    "median": _spread(statistics.median, 1),
    "array_agg": list,
    "bool_and": lambda values: all(values) if values else None,
    "bool_or": lambda values: any(values) if values else None,
    "any_value": lambda values: values[0] if values else None,
}


def result_type(name: str, kind: pa.DataType) -> pa.DataType:
    """What an aggregate over values of a type gives."""
    if name == "count":
        return pa.int64()
    if name in ("stddev_samp", "stddev_pop", "var_samp", "var_pop", "median"):
        return pa.float64()
    if name == "array_agg":
        return pa.list_(kind)
    if name in ("bool_and", "bool_or"):
        return pa.bool_()
    if name in ("min", "max", "any_value"):
        return kind
    if name == "sum":
        return (
            pa.int64()
            if pa.types.is_integer(kind)
            else kind
            if not pa.types.is_decimal(kind)
            else _wide(kind)
        )
    return pa.float64()


def _wide(kind: pa.DataType) -> pa.DataType:
    return pa.decimal128(38, kind.scale)
