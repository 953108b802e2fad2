"""Scalar functions: what each takes, gives and does. The same for every engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.conversion_functions import to_bool, to_float, to_int, to_string, to_timestamp
from cepheid.pattern.expr import AGGREGATES, MATCH_FUNCTIONS, Call, Literal
from cepheid.pattern.null_functions import coalesce, greatest, least, null_if
from cepheid.pattern.number_functions import absolute, possible, round_half_up, sign, whole
from cepheid.pattern.regex import check_group, check_regex, extract, matches
from cepheid.pattern.signature import (
    ANYTHING,
    INSTANT,
    LOGICAL,
    NUMBER,
    SCALAR,
    SIGNED,
    SIZED,
    TEXT,
    TIME,
    WHOLE,
    Accept,
    ResultType,
    common_type,
    first_if_comparable,
    gives,
    ordered_type,
    same_as_first,
)
from cepheid.pattern.text_functions import concat, like, replace, substring
from cepheid.pattern.time_functions import day_of_week, epoch, known_unit, part, truncate
from cepheid.pattern.types import BOOL, FLOAT, INT, STRING, TIMESTAMP, Type
from cepheid.pattern.values import BadArgument, Clash, float_power, kind_of


@dataclass(frozen=True)
class Function:
    """A scalar function: what it takes, what it gives, what it does to values."""

    name: str
    accepts: tuple[Accept, ...]  # of each argument; the last goes on if there is no most
    least: int
    most: int | None
    result: ResultType  # None: these argument types do not go together
    apply: Callable[..., Any]
    takes_null: bool = False  # otherwise a null argument makes the result null

    def result_type(self, types: Sequence[Type]) -> Type | None:
        """The type of the result, None if the arguments clash."""
        if not all(self._accept(i).takes(kind.name) for i, kind in enumerate(types)):
            return None
        return self.result(types)

    def call(self, values: Sequence[Any]) -> Any:
        """The result for values; a Clash if they are of the wrong kinds."""
        for i, value in enumerate(values):
            kinds = self._accept(i).kinds
            if kinds and value is not None and kind_of(value) not in kinds:
                raise Clash(*values)
        return self.apply(*values)

    def signature(self) -> str:
        """
        >>> FUNCTIONS["substr"].signature()
        'substr(string, int[, int])'
        """
        labels = [self._accept(i).label for i in range(max(self.least, len(self.accepts)))]
        text = ", ".join(labels[: self.least])
        text += "".join(f"[, {label}]" for label in labels[self.least :]) + (
            ", ..." if self.most is None else ""
        )
        return f"{self.name}({text})"

    def _accept(self, position: int) -> Accept:
        return self.accepts[min(position, len(self.accepts) - 1)]


def _function(
    name: str,
    accepts: tuple[Accept, ...],
    result: ResultType | Type,
    apply: Callable[..., Any],
    *,
    optional: int = 0,
    variadic: bool = False,
    takes_null: bool = False,
) -> Function:
    rule = gives(result) if isinstance(result, Type) else result
    most = None if variadic else len(accepts)
    return Function(name, accepts, len(accepts) - optional, most, rule, apply, takes_null)


_ALL = (
    _function("abs", (SIGNED,), same_as_first, absolute),
    _function("round", (NUMBER, WHOLE), same_as_first, round_half_up, optional=1),
    _function("floor", (NUMBER,), INT, whole(ROUND_FLOOR)),
    _function("ceil", (NUMBER,), INT, whole(ROUND_CEILING)),
    _function("sqrt", (NUMBER,), FLOAT, possible(math.sqrt)),
    _function("ln", (NUMBER,), FLOAT, possible(math.log)),
    _function("log10", (NUMBER,), FLOAT, possible(math.log10)),
    _function("exp", (NUMBER,), FLOAT, math.exp),
    _function("pow", (NUMBER, NUMBER), FLOAT, float_power),
    _function("sign", (NUMBER,), INT, sign),
    _function("least", (ANYTHING,), ordered_type, least, variadic=True, takes_null=True),
    _function("greatest", (ANYTHING,), ordered_type, greatest, variadic=True, takes_null=True),
    _function("coalesce", (ANYTHING,), common_type, coalesce, variadic=True, takes_null=True),
    _function("ifnull", (ANYTHING, ANYTHING), common_type, coalesce, takes_null=True),
    _function("nullif", (ANYTHING, ANYTHING), first_if_comparable, null_if, takes_null=True),
    _function("length", (SIZED,), INT, len),
    _function("lower", (TEXT,), STRING, str.lower),
    _function("upper", (TEXT,), STRING, str.upper),
    _function("trim", (TEXT,), STRING, lambda s: s.strip(" ")),
    _function("ltrim", (TEXT,), STRING, lambda s: s.lstrip(" ")),
    _function("rtrim", (TEXT,), STRING, lambda s: s.rstrip(" ")),
    _function("substr", (TEXT, WHOLE, WHOLE), STRING, substring, optional=1),
    _function("concat", (TEXT,), STRING, concat, variadic=True),
    _function("contains", (TEXT, TEXT), BOOL, lambda s, part: part in s),
    _function("starts_with", (TEXT, TEXT), BOOL, lambda s, start: s.startswith(start)),
    _function("ends_with", (TEXT, TEXT), BOOL, lambda s, end: s.endswith(end)),
    _function("replace", (TEXT, TEXT, TEXT), STRING, replace),
    _function("like", (TEXT, TEXT), BOOL, like),
    _function("regexp_like", (TEXT, TEXT), BOOL, matches),
    _function("regexp_extract", (TEXT, TEXT, WHOLE), STRING, extract, optional=1),
    *(
        _function(name, (TIME,), INT, part(name))
        for name in ("year", "month", "day", "hour", "minute", "second")
    ),
    _function("dayofweek", (TIME,), INT, day_of_week),
    _function("epoch", (TIME,), FLOAT, epoch),
    _function("date_trunc", (TEXT, TIME), TIMESTAMP, truncate),
    _function("int", (LOGICAL,), INT, to_int),
    _function("float", (LOGICAL,), FLOAT, to_float),
    _function("string", (SCALAR,), STRING, to_string),
    _function("bool", (LOGICAL,), BOOL, to_bool),
    _function("timestamp", (INSTANT,), TIMESTAMP, to_timestamp),
)

FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _ALL}


def find_function(call: Call) -> Function:
    """The function a call names, with the right number of arguments."""
    function = FUNCTIONS.get(call.name)
    if function is None:
        raise _unknown_function(call)
    count = len(call.args)
    if count < function.least or (function.most is not None and count > function.most):
        raise PatternMistake(
            f"`{call.name}` takes {_counts(function)}, not {count}",
            code="wrong_arguments",
            place=call.place,
            hint=function.signature(),
        )
    return function


def _unknown_function(call: Call) -> PatternMistake:
    known = {*FUNCTIONS, *AGGREGATES, *MATCH_FUNCTIONS, "count", "first", "last", "if"}
    if call.name == "if":
        return PatternMistake(
            f"`if` takes 3 arguments, not {len(call.args)}",
            code="wrong_arguments",
            place=call.place,
            hint="if(condition, value, otherwise)",
        )
    return PatternMistake(
        f"there is no function `{call.name}`",
        code="unknown_function",
        place=call.place,
        hint=nearest(call.name, known) or "the functions are " + ", ".join(sorted(FUNCTIONS)),
    )


def _counts(function: Function) -> str:
    least, most = function.least, function.most
    if most is None:
        return f"{least} argument{'s' * (least != 1)} or more"
    if least == most:
        return f"{least} argument{'s' * (least != 1)}"
    return f"{least} or {most} arguments" if most == least + 1 else f"{least} to {most} arguments"


_REGEX = {"regexp_like", "regexp_extract"}


def check_literals(call: Call) -> None:
    """Arguments that are written out are tested when the pattern is compiled, not when an event comes."""
    values = [arg.value if isinstance(arg, Literal) else None for arg in call.args]
    at = 0 if call.name == "date_trunc" else 1
    try:
        _check_written(call.name, values)
    except BadArgument as bad:
        place = call.args[at].place or call.place
        raise PatternMistake(bad.message, code=bad.code, place=place, hint=bad.hint) from None


def _check_written(name: str, values: list[Any]) -> None:
    if name == "date_trunc" and isinstance(values[0], str):
        known_unit(values[0])
    if name in _REGEX and isinstance(values[1], str):
        check_regex(values[1])
        check_group(values[1], values[2] if len(values) > 2 and type(values[2]) is int else None)
