"""Functions of terms: those whose meaning Spark shares to the last digit and character.

Not here, so they stay in Python: `ln log10 exp pow` (the last digit depends on the machine's library), `round` of a
float (by the digits it is written with, which Java 17 writes otherwise), `floor ceil int` of a float (the result
may be larger than any bigint), regular expressions (RE2 is not Java's), conversions of strings and the spelling of
floats, `lower` and `upper` but for equality with ASCII text (each side knows its own version of Unicode).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cepheid.engines.spark.catalyst_terms import (
    DAY,
    LEAST_LONG,
    Stays,
    Term,
    as_double,
    as_micros,
    as_wide,
    comparable,
    day_of,
    decimal,
    null,
    number,
    one_type,
    whole,
)
from cepheid.pattern.text_functions import like as python_like
from cepheid.pattern.time_functions import known_unit
from cepheid.pattern.values import NUMBERS, TIMES, BadArgument

if TYPE_CHECKING:
    from pyspark.sql import Column

_Apply = Callable[[Sequence[Term]], Term]
_LONG_ENOUGH = 18  # digits that surely fit a bigint
_POSITIONS = range(-(2**31) + 1, 2**31)  # Spark's are 32 bits


def call(name: str, args: Sequence[Term]) -> Term:
    if name in _NULL_FUNCTIONS:
        return _NULL_FUNCTIONS[name](args)
    apply = _FUNCTIONS.get(name)
    if apply is None:
        raise Stays
    return null() if any(arg.kind == "null" for arg in args) else apply(args)


def _kinds(args: Sequence[Term], *allowed: str) -> None:
    if not all(arg.kind in allowed for arg in args):
        raise Stays


# Of nulls.


def _first_known(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    known = [arg for arg in args if arg.kind != "null"]
    if len(known) < 2:
        return known[0] if known else null()
    like, columns = one_type(known)
    return replace(like, column=F.coalesce(*columns))


def _extreme(name: str) -> _Apply:
    def apply(args: Sequence[Term]) -> Term:
        from pyspark.sql import functions as F

        known = [arg for arg in args if arg.kind != "null"]
        if len(known) < 2:
            return known[0] if known else null()
        like, columns = one_type(known)
        return replace(like, column=getattr(F, name)(*columns))

    return apply


def _null_if(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    first, second = args
    if "null" in (first.kind, second.kind):
        return first
    left, right = comparable(first, second)
    column = F.when(left == right, F.lit(None)).otherwise(first.column)
    return replace(first, column=column, constant=False, value=None)


# Of numbers.


def _absolute(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    (x,) = args
    _kinds(args, *NUMBERS)
    if x.kind == "int":
        most = max(abs(x.low), abs(x.high))
        return whole(F.abs(x.column if x.low > LEAST_LONG and x.narrow else as_wide(x)), 0, most)
    if x.kind == "decimal":
        return decimal(F.abs(x.column), x.precision, x.scale)
    return number(F.abs(x.column))


def _round(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    x, digits = args[0], args[1].value if len(args) > 1 else 0
    if digits.__class__ is not int or digits < 0:
        raise Stays
    if x.kind == "int" or (x.kind == "decimal" and digits >= x.scale):
        return x
    _kinds([x], "decimal")
    return decimal(F.round(x.column, digits), x.precision - x.scale + digits + 1, digits)


def _cut(name: str) -> _Apply:
    def apply(args: Sequence[Term]) -> Term:
        from pyspark.sql import functions as F

        (x,) = args
        if x.kind == "int":
            return x
        if x.kind == "bool" and name == "int":
            return whole(x.column.cast("bigint"), 0, 1)
        if x.kind != "decimal" or x.precision - x.scale > _LONG_ENOUGH:
            raise Stays
        cut = x.column if name == "int" else getattr(F, name)(x.column)  # a cast cuts towards zero
        most = 10**_LONG_ENOUGH
        return whole(cut.cast("bigint"), -most, most)

    return apply


def _sign(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    (x,) = args
    _kinds(args, *NUMBERS)
    number = as_double(x)  # no decimal is so small that its double is 0
    sign = F.when(number > F.lit(0.0), F.lit(1)).when(number < F.lit(0.0), F.lit(-1))
    return whole(sign.when(number.isNotNull(), F.lit(0)), -1, 1)


def _root(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    _kinds(args, *NUMBERS)
    return number(F.sqrt(as_double(args[0])))


def _to_float(args: Sequence[Term]) -> Term:
    _kinds(args, *NUMBERS, "bool")
    return Term("float", as_double(args[0]))


def _to_bool(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    (x,) = args
    _kinds(args, *NUMBERS, "bool")
    return x if x.kind == "bool" else Term("bool", as_double(x) != F.lit(0.0))


# Of strings.


def _length(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    _kinds(args, "string", "bytes")
    return whole(F.length(args[0].column), 0, 2**31)


def _text(name: str, kind: str = "string") -> _Apply:
    """A function of strings that Spark has too, by the same characters."""

    def apply(args: Sequence[Term]) -> Term:
        from pyspark.sql import functions as F

        _kinds(args, "string")
        return Term(kind, getattr(F, name)(*[arg.column for arg in args]))

    return apply


def _substring(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    _kinds(args[:1], "string")
    positions = [arg.value for arg in args[1:]]
    if not all(p.__class__ is int and p in _POSITIONS for p in positions):
        raise Stays
    return Term("string", F.substr(args[0].column, *[F.lit(p) for p in positions]))


def _like(args: Sequence[Term]) -> Term:
    _kinds(args, "string")
    text, pattern = args[0], args[1].value
    if not isinstance(pattern, str):
        raise Stays
    try:
        python_like("", pattern)
    except BadArgument:
        raise Stays from None
    return Term("bool", text.column.like(_spark_like(pattern)))


def _spark_like(pattern: str) -> str:
    r"""Our `\x` is any x itself; Spark knows only `\%`, `\_` and `\\`, and raises for others."""
    result, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += at + 1 < len(pattern)  # at the very end it is itself
            char = pattern[at]
            result += f"\\{char}" if char in "\\%_" else char
        else:
            result += char
        at += 1
    return result


def _to_string(args: Sequence[Term]) -> Term:
    (x,) = args
    _kinds(args, "string", "bool", "int", "date")
    if x.kind == "int" and not x.narrow:
        raise Stays
    return x if x.kind == "string" else Term("string", x.column.cast("string"))


# Of times, in UTC whatever the session's zone is.


def _of_day(name: str) -> _Apply:
    def apply(args: Sequence[Term]) -> Term:
        from pyspark.sql import functions as F

        _kinds(args, *TIMES)
        return whole(getattr(F, name)(day_of(args[0])), -(10**6), 10**6)

    return apply


def _of_time(size: int, cycle: int) -> _Apply:
    """How many `size` have passed of the `cycle`, both in microseconds."""

    def apply(args: Sequence[Term]) -> Term:
        from pyspark.sql import functions as F

        _kinds(args, *TIMES)
        inside = F.pmod(as_micros(args[0]), _long(cycle))
        return whole((inside - F.pmod(inside, _long(size))) / _long(size), 0, cycle // size)

    return apply


def _long(value: int) -> Column:
    from pyspark.sql import functions as F

    return F.lit(value).cast("bigint")


def _epoch(args: Sequence[Term]) -> Term:
    """Through a decimal: the double nearest to the exact number of seconds."""
    from pyspark.sql import functions as F

    _kinds(args, *TIMES)
    millionth = F.lit(Decimal("0.000001")).cast("decimal(7,6)")
    return Term("float", (as_micros(args[0]).cast("decimal(19,0)") * millionth).cast("double"))


_SIZES = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 10**6,
    "minute": 60 * 10**6,
    "hour": 3600 * 10**6,
    "day": DAY,
}


def _truncate(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    unit, time = args
    _kinds([unit], "string")
    _kinds([time], *TIMES)
    if not unit.constant:
        raise Stays
    name = _unit(unit.value)
    if name in _SIZES:
        micros = as_micros(time)
        return Term(
            "timestamp", F.timestamp_micros(F.try_subtract(micros, F.pmod(micros, _long(_SIZES[name]))))
        )
    return _to_timestamp([Term("date", F.trunc(day_of(time), name))])


def _unit(name: Any) -> str:
    try:
        return known_unit(name)
    except BadArgument:
        raise Stays from None


def _to_timestamp(args: Sequence[Term]) -> Term:
    from pyspark.sql import functions as F

    (x,) = args
    _kinds(args, *TIMES)
    return x if x.kind == "timestamp" else Term("timestamp", F.timestamp_micros(as_micros(x)))


_NULL_FUNCTIONS: dict[str, _Apply] = {
    "coalesce": _first_known,
    "ifnull": _first_known,
    "nullif": _null_if,
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
}
_FUNCTIONS: dict[str, _Apply] = {
    "abs": _absolute,
    "round": _round,
    "floor": _cut("floor"),
    "ceil": _cut("ceil"),
    "int": _cut("int"),
    "sign": _sign,
    "sqrt": _root,
    "float": _to_float,
    "bool": _to_bool,
    "length": _length,
    "trim": _text("trim"),
    "ltrim": _text("ltrim"),
    "rtrim": _text("rtrim"),
    "concat": _text("concat"),
    "replace": _text("replace"),
    "contains": _text("contains", "bool"),
    "starts_with": _text("startswith", "bool"),
    "ends_with": _text("endswith", "bool"),
    "substr": _substring,
    "like": _like,
    "string": _to_string,
    "year": _of_day("year"),
    "month": _of_day("month"),
    "day": _of_day("day"),
    "dayofweek": _of_day("dayofweek"),
    "hour": _of_time(3600 * 10**6, DAY),
    "minute": _of_time(60 * 10**6, 3600 * 10**6),
    "second": _of_time(10**6, 60 * 10**6),
    "epoch": _epoch,
    "date_trunc": _truncate,
    "timestamp": _to_timestamp,
}


# Letters without case.

_LOWERED = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ\u212a", "abcdefghijklmnopqrstuvwxyzk", strict=True))
_RAISED = {chr(ord(c) + 32): c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} | {"\u0131": "I", "\u017f": "S"}
_RAISED_TO_SEVERAL = {
    "\u00df": "SS",
    "\ufb00": "FF",
    "\ufb01": "FI",
    "\ufb02": "FL",
    "\ufb03": "FFI",
    "\ufb04": "FFL",
    "\ufb05": "ST",
    "\ufb06": "ST",
}


def without_case(name: str, text: Term, others: Sequence[Term]) -> Term:
    """`lower(x)` and `upper(x)`, good for one thing: to be equal to one of `others` or not, all of them ASCII.

    Only these characters become ASCII letters, in every version of Unicode: so no other can make the two equal.
    Spark's own `lower` would also depend on the JVM's locale.
    """
    from pyspark.sql import functions as F

    _kinds([text, *others], "string")
    if not all(other.constant and other.value.isascii() for other in others):
        raise Stays
    letters = _LOWERED if name == "lower" else _RAISED
    column = text.column
    if name == "upper":
        for char, several in _RAISED_TO_SEVERAL.items():
            if any(several in other.value for other in others):
                column = F.replace(column, F.lit(char), F.lit(several))
    return Term("string", F.translate(column, "".join(letters), "".join(letters.values())))
