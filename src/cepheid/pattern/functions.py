"""Scalar functions, and how values of different kinds meet: the same for every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.duration import duration, duration_text
from cepheid.pattern.expr import AGGREGATES, MATCH_FUNCTIONS, Call, Literal
from cepheid.pattern.types import BOOL, FLOAT, INT, STRING, TIMESTAMP, Type, common, type_of


class Clash(ValueError):
    """Values that have no common type, or that a function does not take."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.values = values

    @property
    def left(self) -> Any:
        return self.values[0]

    @property
    def right(self) -> Any:
        return self.values[-1]


class BadArgument(ValueError):
    """A value of the right type that means nothing: a broken regular expression, an unknown unit."""

    def __init__(self, message: str, code: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code, self.hint = message, code, hint


# Values.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    Decimal: "decimal",
    str: "string",
    bytes: "bytes",
    datetime: "timestamp",
    date: "date",
    timedelta: "duration",
}


def kind_of(value: Any) -> str:
    """The name of a value's type.

    >>> kind_of(True), kind_of(1), kind_of([1])
    ('bool', 'int', 'list')
    """
    return _KINDS.get(value.__class__) or type_of(value).name


def article(kind: str) -> str:
    """
    >>> article("int"), article("string")
    ('an int', 'a string')
    """
    return f"{'an' if kind[0] in 'aeiou' and kind != 'unknown' else 'a'} {kind}"


def kind_text(value: Any) -> str:
    return article(kind_of(value))


def clean(value: Any) -> Any:
    """NaN is null, everywhere."""
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, Decimal) and value.is_nan():
        return None
    return value


def as_utc(value: date) -> datetime:
    """A time in UTC; without a zone it is UTC already, and a date is its midnight."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    if value.tzinfo is UTC:
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


_SAME_ORDER = ("bool", "int", "float", "decimal", "string", "bytes", "date", "duration")
_TIMES = ("timestamp", "date")


def ordered_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Both in one type, ready for `<`; a Clash if there is no such type."""
    left, right = kind_of(a), kind_of(b)
    if left == right and left in _SAME_ORDER:
        return a, b
    if left in _TIMES and right in _TIMES:
        return as_utc(a), as_utc(b)
    if {left, right} == {"int", "decimal"}:
        return a, b
    if left in _NUMBERS and right in _NUMBERS:
        return _as_floats(a, b)
    if left == right == "unknown" and type(a) is type(b) and hasattr(type(a), "__lt__"):
        return a, b
    raise Clash(a, b)


def _as_floats(a: Any, b: Any) -> tuple[Any, Any]:
    try:
        return float(a), float(b)
    except OverflowError:  # an integer beyond every float: Python compares it exactly
        return a, b


def equal(a: Any, b: Any) -> bool | None:
    """`a == b` for values that are not null; lists and structs may hold nulls, then it may be unknown."""
    left, right = kind_of(a), kind_of(b)
    if left == right == "list":
        return _all_equal(list(zip(a, b, strict=False)), len(a) == len(b))
    if left == right == "struct":
        return _all_equal([(a[name], b[name]) for name in a if name in b], set(a) == set(b))
    if left == right == "unknown" and type(a) is type(b):
        return bool(a == b)
    first, second = ordered_pair(a, b)
    return bool(first == second)


def _all_equal(pairs: list[tuple[Any, Any]], same_shape: bool) -> bool | None:
    results = [None if a is None or b is None else equal(a, b) for a, b in pairs]
    if not same_shape or False in results:
        return False
    return None if None in results else True


def identity(value: Any) -> Any:
    """A key that is equal where the values are: for counting what is distinct."""
    kind = kind_of(value)
    if kind in _NUMBERS:
        return "number", value
    if kind in _TIMES:
        return "time", as_utc(value)
    if kind == "list":
        return kind, tuple(identity(item) for item in value)
    if kind == "struct":
        return kind, frozenset((name, identity(item)) for name, item in value.items())
    try:
        hash(value)
    except TypeError:
        return kind, repr(value)
    return kind, value


def extreme(values: Sequence[Any], largest: bool) -> Any:
    """The least or the greatest of what is not null."""
    found = [value for value in values if value is not None]
    best = found[0] if found else None
    for value in found[1:]:
        a, b = ordered_pair(value, best)
        if a > b if largest else a < b:
            best = value
    return best


def float_power(a: Any, b: Any) -> float | None:
    try:
        return math.pow(a, b)
    except ValueError:  # 0 ** -1, (-8) ** 0.5
        return None


VERBS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), "cannot be compared"),
    "+": "cannot be added",
    "-": "cannot be subtracted",
    "*": "cannot be multiplied",
    "/": "cannot be divided",
    "%": "have no remainder",
    "**": "have no power",
}


def clash_hint(op: str, left: str, right: str) -> str | None:
    """What a user probably wants who wrote `op` between these types."""
    kinds = {left, right}
    if op == "+" and "string" in kinds:
        return "strings are joined by concat(a, b)" + ("" if kinds == {"string"} else "; string(x) makes one")
    if "string" in kinds and kinds & set(_TIMES):
        return 'timestamp("2024-05-01T12:00:00Z") makes a timestamp of a string'
    if "string" in kinds and kinds & set(_NUMBERS):
        return "convert one of them: float(x), int(x) or string(x)"
    if "bool" in kinds:
        return "a bool is not a number: use it as a condition, or write if(x, 1, 0)"
    if "duration" in kinds and kinds & set(_NUMBERS):
        return "write durations with a unit (5s, 30m); d / 1s is a number of seconds"
    if kinds & set(_TIMES) and kinds & set(_NUMBERS):
        return "epoch(t) is a number of seconds, timestamp(x) makes a timestamp of one"
    return None


# What functions take.


@dataclass(frozen=True)
class Accept:
    """The kinds an argument may have. No kinds: anything."""

    label: str
    kinds: frozenset[str] = frozenset()

    def takes(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds or kind in ("null", "unknown")


_NUMBERS = ("int", "float", "decimal")
_ANYTHING = Accept("anything")
_TEXT = Accept("string", frozenset({"string"}))
_NUMBER = Accept("number", frozenset(_NUMBERS))
_WHOLE = Accept("int", frozenset({"int"}))
_TIME = Accept("timestamp", frozenset(_TIMES))
_SIGNED = Accept("number or duration", frozenset({*_NUMBERS, "duration"}))
_SIZED = Accept("string or list", frozenset({"string", "bytes", "list"}))
_SCALAR = Accept("scalar", frozenset({*_NUMBERS, *_TIMES, "bool", "string", "bytes", "duration"}))
_LOGICAL = Accept("bool, number or string", frozenset({*_NUMBERS, "bool", "string"}))
_INSTANT = Accept("string, number or timestamp", frozenset({*_NUMBERS, *_TIMES, "string"}))

ResultType = Callable[[Sequence[Type]], Type | None]


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


def _gives(kind: Type) -> ResultType:
    return lambda types: kind


def _same_as_first(types: Sequence[Type]) -> Type:
    return types[0]


def _common_type(types: Sequence[Type]) -> Type | None:
    result: Type | None = types[0]
    for kind in types[1:]:
        result = None if result is None else common(result, kind)
    return result


def _ordered_type(types: Sequence[Type]) -> Type | None:
    """Lists and structs can be equal, but not one less than the other."""
    result = _common_type(types)
    return None if result is not None and result.name in ("list", "struct") else result


def _first_if_comparable(types: Sequence[Type]) -> Type | None:
    return None if _common_type(types) is None else types[0]


# Numbers.

_WIDE = Context(prec=400)
_MOST_DIGITS = 4000  # of an integer made from a decimal or a string


def _absolute(x: Any) -> Any:
    return x.copy_abs() if isinstance(x, Decimal) else abs(x)


def _round(x: Any, digits: int = 0) -> Any:
    """Half away from zero, by the decimal digits a number is written with."""
    if isinstance(x, int):
        return x if digits >= 0 else _round_whole(x, -digits)
    exact = x if isinstance(x, Decimal) else Decimal(repr(float(x)))
    exponent = exact.as_tuple().exponent
    if not isinstance(exponent, int) or exponent >= -digits:  # infinite, or no digits to round away
        return x
    if -digits > exact.adjusted() + 1:
        return type(x)(0)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDE)
    return rounded if isinstance(x, Decimal) else float(rounded)


def _round_whole(x: int, zeros: int) -> int:
    if zeros > len(str(abs(x))):
        return 0
    unit: int = 10**zeros
    rounded = (2 * abs(x) + unit) // (2 * unit) * unit
    return -rounded if x < 0 else rounded


def _whole(rounding: str) -> Callable[[Any], int | None]:
    """To an integer, by one of decimal's rules."""

    def whole(x: Any) -> int | None:
        if isinstance(x, int):
            return x
        exact = Decimal(x)
        if not exact.is_finite():
            return None
        if exact.adjusted() > _MOST_DIGITS:
            raise OverflowError
        return int(exact.to_integral_value(rounding))

    return whole


def _possible(function: Callable[[Any], float]) -> Callable[[Any], float | None]:
    """Null where the function has no value."""

    def apply(x: Any) -> float | None:
        try:
            return function(x)
        except ValueError:
            return None

    return apply


def _sign(x: Any) -> int:
    return int(x > 0) - int(x < 0)


# Nulls.


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _null_if(a: Any, b: Any) -> Any:
    return None if a is not None and b is not None and equal(a, b) else a


def _least(*values: Any) -> Any:
    return extreme(values, largest=False)


def _greatest(*values: Any) -> Any:
    return extreme(values, largest=True)


# Strings.


def _substring(text: str, start: int, length: int | None = None) -> str:
    """From 1; a negative start counts from the end, 0 is the first."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    if start < 0 and length is not None and -start > len(text):
        length -= -start - len(text)  # what lies before the text is cut off
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def _concat(*texts: str) -> str:
    return "".join(texts)


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


# Patterns in strings. RE2 through Arrow: linear in the text, whatever the pattern; never Python's `re`.

_REGEX = {"regexp_like", "regexp_extract"}
_CACHED_LENGTH = 256  # longer texts seldom come twice


def _matches(text: str, pattern: str) -> bool:
    return _match_short(text, pattern) if len(text) <= _CACHED_LENGTH else _match(text, pattern)


def _match(text: str, pattern: str) -> bool:
    try:
        return bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())
    except (pa.ArrowInvalid, UnicodeError) as problem:
        raise _bad_regex(pattern, str(problem)) from None


# Arrow compiles the pattern at every call, which costs more than the match.
_match_short = lru_cache(maxsize=16_384)(_match)


def _extract(text: str, pattern: str, group: int | None = None) -> str | None:
    """The group of the first match: 1 if there are groups and none is named, null without a match."""
    _check_group(pattern, group)
    return (
        _extract_short(text, pattern, group)
        if len(text) <= _CACHED_LENGTH
        else _extracted(text, pattern, group)
    )


def _extracted(text: str, pattern: str, group: int | None) -> str | None:
    named, count = _name_groups(pattern)
    wanted = min(count, 1) if group is None else group
    try:
        found = pc.extract_regex(pa.scalar(text), named).as_py()
    except (pa.ArrowInvalid, UnicodeError) as problem:
        raise _bad_regex(pattern, str(problem)) from None
    return None if found is None else str(found[f"g{wanted}"])


_extract_short = lru_cache(maxsize=16_384)(_extracted)


def _check_group(pattern: str, group: int | None) -> None:
    count = _name_groups(pattern)[1]
    if group is not None and not 0 <= group <= count:
        raise BadArgument(
            f"the pattern has {count} groups, there is no group {group}",
            "wrong_arguments",
            "0 is the whole match, the first parentheses are group 1",
        )


_OPENINGS = re.compile(r"\(\?P?<\w+>|\((?!\?)")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
_QUOTED = re.compile(r"\\Q.*?(?:\\E|\Z)", re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)


@lru_cache(maxsize=1024)
def _name_groups(pattern: str) -> tuple[str, int]:
    """The pattern with its groups named g1, g2, ... inside g0: Arrow gives named groups only."""
    parts, at, count = ["(?P<g0>"], 0, 0
    while at < len(pattern):
        if opening := _OPENINGS.match(pattern, at):
            count += 1
            parts.append(f"(?P<g{count}>")
            at = opening.end()
            continue
        kept = next((m[0] for r in (_QUOTED, _ESCAPED, _CLASS) if (m := r.match(pattern, at))), pattern[at])
        # A quotation that is not closed would swallow the parenthesis that closes g0.
        closed = not kept.startswith("\\Q") or kept.endswith("\\E")
        parts.append(kept if closed else kept + "\\E")
        at += len(kept)
    return "".join([*parts, ")"]), count


def check_regex(pattern: str) -> None:
    """A BadArgument if RE2 does not take the pattern."""
    _match("", pattern)


def _bad_regex(pattern: str, problem: str) -> BadArgument:
    reason = problem.removeprefix("Invalid regular expression: ").strip()
    return BadArgument(f"`{pattern}` is not a regular expression: {reason}", "bad_regex", _regex_hint(reason))


def _regex_hint(reason: str) -> str:
    if re.match(r"invalid escape sequence: \\[1-9k]", reason):
        return "regular expressions are RE2: linear time, so no back references"
    if re.match(r"invalid (perl operator|named capture group): \(\?<?[=!]", reason):
        return "regular expressions are RE2: linear time, so no look-ahead and no look-behind"
    if reason.startswith(("missing )", "unexpected )")):
        return r"parentheses come in pairs; a parenthesis itself is written \("
    if reason.startswith("missing ]"):
        return r"a bracket itself is written \["
    if reason.startswith("no argument for repetition"):
        return r"* + ? repeat what stands before them; the signs themselves are written \* \+ \?"
    return "the syntax is RE2's"


def _like(text: str, pattern: str) -> bool:
    r"""SQL's LIKE: % is anything, _ one character, \ takes the next character as it is."""
    parts = _like_parts(pattern)
    if isinstance(parts, str):
        return _matches(text, parts)
    return _in_order(text, parts)


@lru_cache(maxsize=1024)
def _like_parts(pattern: str) -> tuple[str, ...] | str:
    """The texts between the %; with an _ among them, a regular expression for the whole."""
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    if "_" in tokens:
        meaning = {"%": ".*", "_": "."}
        return rf"(?s)\A{''.join(meaning.get(t) or re.escape(_unescaped(t)) for t in tokens)}\z"
    parts = [""]
    for token in tokens:
        if token == "%":
            parts.append("")
        else:
            parts[-1] += _unescaped(token)
    return tuple(parts)


def _unescaped(token: str) -> str:
    return token[1:] if len(token) == 2 else token


def _in_order(text: str, parts: tuple[str, ...]) -> bool:
    if len(parts) == 1:
        return text == parts[0]
    first, *middle, last = parts
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


# Times.

_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_SECOND_PARTS = {"second": 1_000_000, "millisecond": 1_000, "microsecond": 1}


def _part(name: str) -> Callable[[date], int]:
    return lambda value: int(getattr(as_utc(value), name))


def _day_of_week(value: date) -> int:
    return as_utc(value).isoweekday() % 7 + 1


def _epoch(value: date) -> float:
    return (as_utc(value) - _EPOCH).total_seconds()


def _truncate(unit: str, value: date) -> datetime:
    unit, moment = _known_unit(unit), as_utc(value)
    if unit in _SECOND_PARTS:
        size = _SECOND_PARTS[unit]
        return moment.replace(microsecond=moment.microsecond // size * size)
    if unit in ("minute", "hour"):
        return moment.replace(minute=0 if unit == "hour" else moment.minute, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return day.replace(month=month, day=1)


def _known_unit(unit: str) -> str:
    name = unit.lower()
    if name not in _UNITS:
        hint = nearest(name, _UNITS) or "the units are " + ", ".join(_UNITS)
        raise BadArgument(f"`{unit}` is not a unit of time", "wrong_arguments", hint)
    return name


# Conversions. A string that does not say such a value is null.

_WHOLE_TEXT = re.compile(r"\s*([+-]?\d{1,4000})(?:\.\d*)?\s*", re.ASCII)
_NUMBER_TEXT = re.compile(
    r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*|\s*[+-]?inf(?:inity)?\s*", re.ASCII | re.I
)
_TRUE_TEXT, _FALSE_TEXT = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_truncated = _whole(ROUND_DOWN)


def _to_int(x: Any) -> int | None:
    if isinstance(x, str):
        found = _WHOLE_TEXT.fullmatch(x)
        return int(found[1]) if found else None
    return int(x) if isinstance(x, bool) else _truncated(x)


def _to_float(x: Any) -> float | None:
    if isinstance(x, str) and not _NUMBER_TEXT.fullmatch(x):
        return None
    return float(x)


def _to_string(x: Any) -> str | None:
    return _SPELLING[kind_of(x)](x)


def _decoded(x: bytes) -> str | None:
    try:
        return x.decode()
    except UnicodeDecodeError:
        return None


_SPELLING: Mapping[str, Callable[[Any], str | None]] = {
    "bool": lambda x: "true" if x else "false",
    "int": str,
    "float": repr,
    "decimal": lambda x: format(x, "f") if abs(x.adjusted()) <= 400 else str(x),
    "string": str,
    "bytes": _decoded,
    "timestamp": lambda x: as_utc(x).isoformat().replace("+00:00", "Z"),
    "date": lambda x: x.isoformat(),
    "duration": lambda x: duration_text(duration(x)),
}


def _to_bool(x: Any) -> bool | None:
    if not isinstance(x, str):
        return bool(x)
    word = x.strip().lower()
    return True if word in _TRUE_TEXT else False if word in _FALSE_TEXT else None


def _to_timestamp(x: Any) -> datetime | None:
    try:
        if isinstance(x, str):
            return as_utc(datetime.fromisoformat(x.strip()))
        if isinstance(x, date):
            return as_utc(x)
        if isinstance(x, Decimal):
            return _EPOCH + timedelta(microseconds=int(_WIDE.multiply(x, 1_000_000)))
        return _EPOCH + timedelta(seconds=x)
    except (ValueError, OverflowError):  # not a time, or outside the years 1 to 9999
        return None


# The registry.


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
    gives = _gives(result) if isinstance(result, Type) else result
    most = None if variadic else len(accepts)
    return Function(name, accepts, len(accepts) - optional, most, gives, apply, takes_null)


_ALL = (
    _function("abs", (_SIGNED,), _same_as_first, _absolute),
    _function("round", (_NUMBER, _WHOLE), _same_as_first, _round, optional=1),
    _function("floor", (_NUMBER,), INT, _whole(ROUND_FLOOR)),
    _function("ceil", (_NUMBER,), INT, _whole(ROUND_CEILING)),
    _function("sqrt", (_NUMBER,), FLOAT, _possible(math.sqrt)),
    _function("ln", (_NUMBER,), FLOAT, _possible(math.log)),
    _function("log10", (_NUMBER,), FLOAT, _possible(math.log10)),
    _function("exp", (_NUMBER,), FLOAT, math.exp),
    _function("pow", (_NUMBER, _NUMBER), FLOAT, float_power),
    _function("sign", (_NUMBER,), INT, _sign),
    _function("least", (_ANYTHING,), _ordered_type, _least, variadic=True, takes_null=True),
    _function("greatest", (_ANYTHING,), _ordered_type, _greatest, variadic=True, takes_null=True),
    _function("coalesce", (_ANYTHING,), _common_type, _coalesce, variadic=True, takes_null=True),
    _function("ifnull", (_ANYTHING, _ANYTHING), _common_type, _coalesce, takes_null=True),
    _function("nullif", (_ANYTHING, _ANYTHING), _first_if_comparable, _null_if, takes_null=True),
    _function("length", (_SIZED,), INT, len),
    _function("lower", (_TEXT,), STRING, str.lower),
    _function("upper", (_TEXT,), STRING, str.upper),
    _function("trim", (_TEXT,), STRING, lambda s: s.strip(" ")),
    _function("ltrim", (_TEXT,), STRING, lambda s: s.lstrip(" ")),
    _function("rtrim", (_TEXT,), STRING, lambda s: s.rstrip(" ")),
    _function("substr", (_TEXT, _WHOLE, _WHOLE), STRING, _substring, optional=1),
    _function("concat", (_TEXT,), STRING, _concat, variadic=True),
    _function("contains", (_TEXT, _TEXT), BOOL, lambda s, part: part in s),
    _function("starts_with", (_TEXT, _TEXT), BOOL, lambda s, start: s.startswith(start)),
    _function("ends_with", (_TEXT, _TEXT), BOOL, lambda s, end: s.endswith(end)),
    _function("replace", (_TEXT, _TEXT, _TEXT), STRING, _replace),
    _function("like", (_TEXT, _TEXT), BOOL, _like),
    _function("regexp_like", (_TEXT, _TEXT), BOOL, _matches),
    _function("regexp_extract", (_TEXT, _TEXT, _WHOLE), STRING, _extract, optional=1),
    *(
        _function(name, (_TIME,), INT, _part(name))
        for name in ("year", "month", "day", "hour", "minute", "second")
    ),
    _function("dayofweek", (_TIME,), INT, _day_of_week),
    _function("epoch", (_TIME,), FLOAT, _epoch),
    _function("date_trunc", (_TEXT, _TIME), TIMESTAMP, _truncate),
    _function("int", (_LOGICAL,), INT, _to_int),
    _function("float", (_LOGICAL,), FLOAT, _to_float),
    _function("string", (_SCALAR,), STRING, _to_string),
    _function("bool", (_LOGICAL,), BOOL, _to_bool),
    _function("timestamp", (_INSTANT,), TIMESTAMP, _to_timestamp),
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
        _known_unit(values[0])
    if name in _REGEX and isinstance(values[1], str):
        check_regex(values[1])
        _check_group(values[1], values[2] if len(values) > 2 and type(values[2]) is int else None)


__all__ = [
    "FUNCTIONS",
    "VERBS",
    "Accept",
    "BadArgument",
    "Clash",
    "Function",
    "article",
    "as_utc",
    "check_literals",
    "check_regex",
    "clash_hint",
    "clean",
    "equal",
    "extreme",
    "find_function",
    "float_power",
    "identity",
    "kind_of",
    "kind_text",
    "ordered_pair",
]
