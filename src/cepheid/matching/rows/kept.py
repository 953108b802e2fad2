"""Aggregates over values that come one after the other, in Python: each value changes a state, or all are looked at."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.pattern.row_aggregates import KEEPS_NULLS, OF_TWO
from cepheid.pattern.row_terms import Over

State = tuple[int, Any]  # how many values there were, and what is kept of them
NOTHING: State = (0, None)
Step = Callable[[State, Any], State]


def is_null(function: str, value: Any) -> bool:
    """Does the value count for nothing? Of pairs what they are compared by must be there."""
    if function in KEEPS_NULLS:
        return False
    if function in OF_TWO:
        return value[1] is None or (function.startswith("arg") and value[0] is None)
    return value is None


def _picked(better: Callable[[Any, Any], Any]) -> Step:
    return lambda state, value: (state[0] + 1, value if state[1] is None else better(state[1], value))


def _added(state: State, value: Any) -> State:
    total = value if state[1] is None else state[1] + value
    if type(value) is int:
        in_int64(total)
    return state[0] + 1, total


def _spread(state: State, value: Any) -> State:
    """The mean so far, and the sum of the squares of what lies off it."""
    count, (mean, squares) = state[0] + 1, state[1] or (0.0, 0.0)
    off = float(value) - mean
    mean += off / count
    return count, (mean, squares + off * (float(value) - mean))


STEPS: dict[str, Step] = {
    "count": lambda state, _: (state[0] + 1, None),
    "count_if": lambda state, value: (state[0] + 1, (state[1] or 0) + bool(value)),
    "sum": _added,
    "avg": lambda state, value: (state[0] + 1, value if state[1] is None else state[1] + value),
    "min": _picked(min),
    "max": _picked(max),
    "any_value": _picked(lambda kept, _: kept),
    "bool_and": _picked(lambda kept, value: kept and value),
    "bool_or": _picked(lambda kept, value: kept or value),
    **dict.fromkeys(
        ("max_by", "arg_max"), _picked(lambda kept, value: value if value[1] > kept[1] else kept)
    ),
    **dict.fromkeys(
        ("min_by", "arg_min"), _picked(lambda kept, value: value if value[1] < kept[1] else kept)
    ),
    **dict.fromkeys(("stddev_samp", "stddev_pop", "var_samp", "var_pop"), _spread),
}


def state_value(function: str, state: State) -> Any:
    count, kept = state
    if function == "count":
        return count
    if kept is None:
        return None
    if function == "avg":
        return float(kept) / count if isinstance(kept, Decimal) else kept / count
    if function in OF_TWO:
        return kept[0]
    if function.startswith(("stddev", "var")):
        rest = count - function.endswith("samp")
        if not rest:
            return None
        return math.sqrt(kept[1] / rest) if function.startswith("stddev") else kept[1] / rest
    return kept


_WHOLE: dict[str, Callable[[Sequence[Any]], Any]] = {
    "median": lambda values: statistics.median(float(v) for v in values) if values else None,
    "list": lambda values: list(values) if values else None,
    "collect_list": list,
    "collect_set": lambda values: list(dict.fromkeys(values)),
}


def whole_value(term: Over, values: Sequence[Any]) -> Any:
    """Of all values of a stretch."""
    known = [value for value in values if not is_null(term.function, value)]
    if term.distinct:
        known = list(dict.fromkeys(known))
    if term.function in _WHOLE:
        return _WHOLE[term.function](known)
    step, state = STEPS[term.function], NOTHING
    for value in known:
        state = step(state, value)
    return state_value(term.function, state)


def in_int64(value: Any) -> Any:
    if value is not None and not -(2**63) <= value < 2**63:
        raise sum_too_big()
    return value


def sum_too_big() -> EvaluationError:
    return EvaluationError(
        "a sum is too big for a 64-bit integer", code="sum_too_big", hint="cast it to double"
    )
