"""What a part of an expression becomes: a Spark column with the type Cepheid gives it.

NaN is null in Cepheid and the largest number in Spark: no column of a term is ever NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cepheid.pattern.duration import duration
from cepheid.pattern.times import EPOCH
from cepheid.pattern.values import NUMBERS, TIMES, as_utc, kind_of

if TYPE_CHECKING:
    from pyspark.sql import Column

LEAST_LONG, GREATEST_LONG = -(2**63), 2**63 - 1
DAY = 86_400_000_000  # microseconds
_MOST_DIGITS = 38
_GREATEST_WIDE = 10**_MOST_DIGITS - 1
_WIDE = f"decimal({_MOST_DIGITS},0)"


class Stays(Exception):
    """An expression that stays in Python: Spark could answer something else."""


@dataclass(frozen=True)
class Term:
    """A column and what is known of its values.

    Whole numbers have no largest in Cepheid, so their bounds are known: those that fit are Spark's bigint, those
    up to 38 digits a decimal without a fraction, and there is no term for more.
    """

    kind: str  # as `kind_of` names it; "null"; "other": only whether it is null can be asked
    column: Column
    low: int = 0
    high: int = 0
    precision: int = 0  # of a decimal: exactly that of the column
    scale: int = 0
    in_micros: bool = False  # a duration as a number of microseconds, not as an interval
    constant: bool = False
    value: Any = None  # of a constant

    @property
    def narrow(self) -> bool:
        return self.low >= LEAST_LONG and self.high <= GREATEST_LONG


# Making terms.


def null() -> Term:
    from pyspark.sql import functions as F

    return Term("null", F.lit(None), constant=True)


def of_value(value: Any) -> Term:
    """A constant."""
    if value is None:
        return null()
    return replace(_of_value(value, kind_of(value)), constant=True, value=value)


def _of_value(value: Any, kind: str) -> Term:
    from pyspark.sql import functions as F

    match kind:
        case "bool":
            return Term(kind, F.lit(value))
        case "int":
            return _of_int(value)
        case "float":
            return Term(kind, F.lit(float(value)))
        case "decimal":
            return _of_decimal(value)
        case "string":
            return _of_string(value)
        case "bytes":
            return Term(kind, F.lit(bytes(value)))
        case "timestamp":
            # Not F.lit: on the way to the JVM old times are moved from the Julian calendar.
            return Term(kind, F.timestamp_micros(F.lit(microseconds(value)).cast("bigint")))
        case "date":
            return Term(kind, F.date_from_unix_date(F.lit((value - EPOCH.date()).days)))
        case "duration":
            return _of_duration(value)
    raise Stays


def _of_int(value: int) -> Term:
    from pyspark.sql import functions as F

    if LEAST_LONG <= value <= GREATEST_LONG:
        return Term("int", F.lit(value).cast("bigint"), value, value)
    if abs(value) > _GREATEST_WIDE:
        raise Stays
    return Term("int", F.lit(Decimal(value)).cast(_WIDE), value, value)


def _of_decimal(value: Decimal) -> Term:
    from pyspark.sql import functions as F

    if not value.is_finite():
        raise Stays
    plain = Decimal(format(value, "f")) if abs(value.adjusted()) <= 2 * _MOST_DIGITS else value
    exponent = plain.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(plain.as_tuple().digits) + max(exponent, 0), scale, 1)
    if precision > _MOST_DIGITS:
        raise Stays
    return decimal(F.lit(plain), precision, scale)


def _of_string(value: str) -> Term:
    from pyspark.sql import functions as F

    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair: no string in Spark has it
        raise Stays from None
    return Term("string", F.lit(value))


def _of_duration(value: timedelta) -> Term:
    from pyspark.sql import functions as F

    if not LEAST_LONG <= duration(value) <= GREATEST_LONG:
        raise Stays
    # Not F.lit: PySpark goes through a float of seconds, and long durations come out wrong.
    seconds = Decimal(duration(value) % DAY).scaleb(-6)
    days, zero = F.lit(duration(value) // DAY), F.lit(0)
    return Term("duration", F.make_dt_interval(days, zero, zero, F.lit(seconds).cast("decimal(18,6)")))


def whole(column: Column, low: int, high: int) -> Term:
    """An int whose column is in the form that its bounds ask for."""
    if max(abs(low), abs(high)) > _GREATEST_WIDE:
        raise Stays
    term = Term("int", column, low, high)
    return replace(term, column=column.cast("bigint" if term.narrow else _WIDE))


def decimal(column: Column, precision: int, scale: int) -> Term:
    if precision > _MOST_DIGITS:
        raise Stays
    column = column.cast(f"decimal({precision},{scale})")
    return Term("decimal", column, precision=precision, scale=scale)


def number(column: Column) -> Term:
    """A float; NaN becomes null."""
    from pyspark.sql import functions as F

    return Term("float", F.nanvl(column, F.lit(None).cast("double")))


def microseconds(value: date) -> int:
    return duration(as_utc(value) - EPOCH)


# Reading them in another form.


def as_double(term: Term) -> Column:
    """Ints and decimals as the nearest double: Python and the JVM both round half to even."""
    return term.column if term.kind == "float" else term.column.cast("double")


def as_wide(term: Term) -> Column:
    return term.column.cast(_WIDE) if term.narrow else term.column


def digits(term: Term) -> tuple[int, int]:
    """Precision and scale of an int or a decimal."""
    if term.kind == "decimal":
        return term.precision, term.scale
    return len(str(max(abs(term.low), abs(term.high)))), 0


def as_micros(term: Term) -> Column:
    """Times and durations as bigint. `try_` because Spark has days whose microseconds fit nowhere."""
    from pyspark.sql import functions as F

    if term.constant:
        value = term.value
        micros = duration(value) if isinstance(value, timedelta) else microseconds(value)
        return F.lit(micros).cast("bigint")
    if term.kind == "timestamp":
        return F.unix_micros(term.column)
    if term.kind == "date":
        return F.try_multiply(F.unix_date(term.column).cast("bigint"), F.lit(DAY).cast("bigint"))
    if not term.in_micros:
        raise Stays
    return term.column


def day_of(term: Term) -> Column:
    """The date of a time in UTC. Spark's own functions of timestamps see the session's zone."""
    from pyspark.sql import functions as F

    if term.kind == "date":
        return term.column
    micros, size = as_micros(term), F.lit(DAY).cast("bigint")
    midnight = F.try_subtract(micros, F.pmod(micros, size))  # 2**13 divides it: its double is exact
    return F.date_from_unix_date((midnight / size).cast("int"))


# Terms that meet.


def comparable(a: Term, b: Term) -> tuple[Column, Column]:
    """Both in one Spark type that keeps their order, as `ordered_pair` does it for values."""
    kinds = {a.kind, b.kind}
    if len(kinds) == 1 and a.kind in ("bool", "string", "bytes", "date", "timestamp", "float"):
        return a.column, b.column
    if kinds <= set(TIMES):
        return as_micros(a), as_micros(b)
    if kinds == {"duration"}:
        return _durations(a, b)
    if kinds == {"int"}:
        return (a.column, b.column) if a.narrow and b.narrow else (as_wide(a), as_wide(b))
    if not kinds <= set(NUMBERS):
        raise Stays
    if "float" in kinds:
        return as_double(a), as_double(b)
    precision, scale = _common_digits([a, b])
    return decimal(a.column, precision, scale).column, decimal(b.column, precision, scale).column


def _durations(a: Term, b: Term) -> tuple[Column, Column]:
    if a.in_micros or b.in_micros:
        return as_micros(a), as_micros(b)
    return a.column, b.column


def _common_digits(terms: Sequence[Term]) -> tuple[int, int]:
    pairs = [digits(term) for term in terms]
    scale = max(s for _, s in pairs)
    return max(max(p - s for p, s in pairs) + scale, 1), scale


def one_type(terms: Sequence[Term]) -> tuple[Term, list[Column]]:
    """Terms one of which will be the value: what is known of all of them, and the column of each.

    Of different kinds they stay in Python: there each value keeps its own.
    """
    known = [term for term in terms if term.kind != "null"]
    if not known:
        return null(), [term.column for term in terms]
    if len({(term.kind, term.in_micros) for term in known}) > 1 or known[0].kind == "other":
        raise Stays
    like = _covering(known)
    return like, [term.column if term.kind == "null" else _in_form(term, like) for term in terms]


def _covering(terms: Sequence[Term]) -> Term:
    first = replace(terms[0], constant=False, value=None)
    if first.kind == "int":
        return replace(first, low=min(t.low for t in terms), high=max(t.high for t in terms))
    if first.kind == "decimal":
        precision, scale = _common_digits(terms)
        return decimal(first.column, precision, scale)
    return first


def _in_form(term: Term, like: Term) -> Column:
    if like.kind == "int":
        return term.column if like.narrow else as_wide(term)
    if like.kind == "decimal":
        return decimal(term.column, like.precision, like.scale).column
    return term.column
