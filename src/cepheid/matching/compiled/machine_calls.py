"""Functions of several events as instructions: those that the machine works out exactly as the reference does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from cepheid.matching.compiled.kernel import machine as m
from cepheid.matching.compiled.kernel.decimals import CEILING, DOWN, FLOOR, HALF_UP
from cepheid.matching.compiled.machine_types import (
    NUMBER,
    QUOTIENT,
    TIMES,
    compared_as,
    comparison,
    conversion,
    one_of,
)
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.pattern.expr import MATCH_FUNCTIONS, Call, Expr, Literal
from cepheid.pattern.functions import find_function
from cepheid.pattern.types import BOOL, DECIMAL, DURATION, FLOAT, INT, NULL, STRING, TIMESTAMP, Type


class Code(Protocol):
    """Instructions in the making."""

    def value(self, expr: Expr) -> Type:
        """Adds what puts a value on the stack, and says of which type it is."""
        ...

    def kind(self, expr: Expr) -> Type:
        """The type a value would have."""
        ...

    def add(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> None: ...

    def constant(self, value: float) -> Type: ...


def call(code: Code, expr: Call) -> Type:
    if expr.name in MATCH_FUNCTIONS:
        raise Unsupported(f"`{expr.name}()` in a test")
    if not find_function(expr).takes_null and any(code.kind(arg) == NULL for arg in expr.args):
        code.add(m.NULL)
        return NULL
    function = _FUNCTIONS.get(expr.name)
    found = function(code, expr) if function is not None else None
    if found is None:
        raise Unsupported(f"`{expr.name}` of several events")
    return found


_Compile = Callable[[Code, Call], Type | None]  # None: not of these types


# Functions of one value.


def _of_one(of_types: Mapping[Type, tuple[tuple[int, ...] | None, Type]]) -> _Compile:
    """By the type of the argument: the instruction, if there is anything to do, and the type of the result."""

    def compile(code: Code, expr: Call) -> Type | None:
        kind = code.value(expr.args[0])
        if kind not in of_types or len(expr.args) > 1:
            return None
        instruction, result = of_types[kind]
        if instruction is not None:
            code.add(*instruction)
        return result

    return compile


_ABSOLUTE = _of_one(
    {
        INT: ((m.ABS_INT,), INT),
        DURATION: ((m.ABS_INT,), DURATION),
        FLOAT: ((m.ABS_FLOAT,), FLOAT),
        QUOTIENT: ((m.ABS_FLOAT,), QUOTIENT),
        NUMBER: ((m.ABS_FLOAT,), NUMBER),
        DECIMAL: ((m.ABS_DECIMAL,), DECIMAL),
    }
)
_SIGN = _of_one(
    {
        INT: ((m.SIGN_INT,), INT),
        DECIMAL: ((m.SIGN_INT,), INT),
        **dict.fromkeys((FLOAT, QUOTIENT, NUMBER), ((m.SIGN_FLOAT,), INT)),
    }
)


def _whole(how: int) -> dict[Type, tuple[tuple[int, ...] | None, Type]]:
    return {
        INT: (None, INT),
        **dict.fromkeys((FLOAT, NUMBER), ((m.WHOLE_FLOAT, how), INT)),
        DECIMAL: ((m.WHOLE_DECIMAL, how), INT),
    }


_TO_FLOAT = _of_one(
    {
        **dict.fromkeys((INT, BOOL), ((m.TO_FLOAT,), FLOAT)),
        **dict.fromkeys((FLOAT, QUOTIENT, NUMBER), (None, FLOAT)),
        DECIMAL: ((m.DECIMAL_TO_FLOAT,), FLOAT),
    }
)
_TO_TIMESTAMP = _of_one(dict.fromkeys(TIMES, (None, TIMESTAMP)))


def _square_root(code: Code, expr: Call) -> Type | None:
    kind = _TO_FLOAT(code, expr)
    code.add(m.SQUARE_ROOT)
    return kind


def _round(code: Code, expr: Call) -> Type | None:
    """The digits are written out, if any; a double is rounded by the digits Python writes it with, unless to none."""
    digits = expr.args[1].value if len(expr.args) > 1 and isinstance(expr.args[1], Literal) else 0
    kind = code.value(expr.args[0])
    if (len(expr.args) > 1 and not isinstance(expr.args[1], Literal)) or digits.__class__ is not int:
        return None
    if kind == DECIMAL and digits >= 0:
        code.add(m.ROUND_DECIMAL, HALF_UP, min(digits, 2**31))
    elif kind == FLOAT and digits == 0:
        code.add(m.ROUND_FLOAT, HALF_UP)
    elif kind != INT or digits < 0:
        return None
    return kind


def _epoch(code: Code, expr: Call) -> Type | None:
    kind = code.value(expr.args[0])
    if kind not in TIMES:
        return None
    code.add(m.TO_FLOAT_EXACTLY)
    code.constant(1e6)
    code.add(m.DIVIDE_FLOAT)
    return FLOAT


def _to_bool(code: Code, expr: Call) -> Type | None:
    kind = code.value(expr.args[0])
    if kind == BOOL:
        return BOOL
    if kind not in (INT, FLOAT, DECIMAL, QUOTIENT, NUMBER):
        return None
    code.add(m.INT, 0)  # the same word, whatever the type
    compare = comparison(FLOAT if kind == QUOTIENT else kind)
    assert compare is not None
    code.add(compare, m.NOT_EQUAL)
    return BOOL


# Functions that choose among values.


def _fold(op: Callable[[Type, Type], tuple[int, ...] | None]) -> _Compile:
    """Of any number of values: two at a time, from the first on."""

    def compile(code: Code, expr: Call) -> Type | None:
        found = code.value(expr.args[0])
        for arg in expr.args[1:]:
            other = code.value(arg)
            both = one_of(found, other)
            if both is None:
                return None
            for below, kind in ((1, found), (0, other)):
                widened = conversion(kind, both)
                if widened is not None:
                    code.add(widened, below)
            instruction = op(both, other)
            if instruction is None:
                return None
            code.add(*instruction)
            found = both
        return found

    return compile


def _extreme(which: int) -> _Compile:
    """A value is replaced by one that it is so compared with."""

    def op(both: Type, other: Type) -> tuple[int, ...] | None:
        compare = comparison(both)
        return None if compare is None else (compare, which, m.CHOICE)

    return _fold(op)


def _null_if(code: Code, expr: Call) -> Type | None:
    """The first value as it is: so both have to be of one type."""
    first, second = code.value(expr.args[0]), code.value(expr.args[1])
    if first != second and NULL not in (first, second) and not {first, second} <= set(TIMES):
        return None
    both = compared_as(first, second)
    compare = None if both is None else comparison(both)
    if compare is None:
        return None
    code.add(compare, m.EQUAL, m.UNLESS)
    return first


# Texts.


def _find(where: int) -> _Compile:
    def compile(code: Code, expr: Call) -> Type | None:
        kinds = {code.value(arg) for arg in expr.args}
        if kinds != {STRING}:
            return None
        code.add(m.FIND_TEXT, where)
        return BOOL

    return compile


_coalesce = _fold(lambda both, other: (m.COALESCE,))

_FUNCTIONS: dict[str, _Compile] = {
    "abs": _ABSOLUTE,
    "sign": _SIGN,
    "floor": _of_one(_whole(FLOOR)),
    "ceil": _of_one(_whole(CEILING)),
    "int": _of_one({**_whole(DOWN), BOOL: (None, INT)}),
    "float": _TO_FLOAT,
    "bool": _to_bool,
    "timestamp": _TO_TIMESTAMP,
    "epoch": _epoch,
    "round": _round,
    "sqrt": _square_root,
    "least": _extreme(m.GREATER),
    "greatest": _extreme(m.LESS),
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nullif": _null_if,
    "starts_with": _find(m.AT_START),
    "ends_with": _find(m.AT_END),
    "contains": _find(m.ANYWHERE),
}
