"""What a part of an expression becomes over a batch of events: an Arrow array with the type Cepheid gives it.

NaN is null in Cepheid: no array of a term holds one. Times and durations are whole numbers of microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.pattern.duration import duration
from cepheid.pattern.times import EPOCH
from cepheid.pattern.values import as_utc, kind_of

LEAST, GREATEST = -(2**63), 2**63 - 1
EXACT_IN_FLOAT = 2**53
DAY = 86_400_000_000
FIRST_INSTANT = duration(datetime(1, 1, 1, tzinfo=UTC) - EPOCH)
LAST_INSTANT = duration(datetime(MAXYEAR, 12, 31, 23, 59, 59, 999_999, UTC) - EPOCH)
WHOLE = ("int", "timestamp", "date", "duration")  # kinds whose arrays are of int64


class Stays(Exception):
    """An expression that Arrow cannot answer exactly for these events: it stays in Python."""


@dataclass(frozen=True)
class Term:
    """`kind` is as `kind_of` names it; "other": only whether it is null can be asked."""

    kind: str
    values: Any  # an Arrow array, or a scalar where it is the same for all events

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value there is: with them one knows that nothing overflows."""
        if isinstance(self.values, pa.Scalar):
            value = self.values.as_py()
            return (0, 0) if value is None else (value, value)
        found = pc.min_max(self.values).as_py()
        return (0, 0) if found["min"] is None else (found["min"], found["max"])

    def within(self, low: int, high: int) -> bool:
        return low <= self.bounds[0] and self.bounds[1] <= high

    @property
    def floats(self) -> Any:
        """Whole numbers as the nearest float, as Python has it."""
        return self.values if self.kind == "float" else self.values.cast(pa.float64(), safe=False)


NULL_TERM = Term("null", pa.scalar(None))
UNKNOWN = Term("bool", pa.scalar(None, pa.bool_()))


def of_value(value: Any) -> Term:
    """A constant."""
    if value is None:
        return NULL_TERM
    kind = kind_of(value)
    match kind:
        case "bool":
            return Term(kind, pa.scalar(value, pa.bool_()))
        case "int":
            return Term(kind, _whole(value))
        case "float":
            return Term(kind, pa.scalar(float(value), pa.float64()))
        case "string":
            return Term(kind, _text(value))
        case "bytes":
            return Term(kind, pa.scalar(bytes(value), pa.large_binary()))
        case "timestamp" | "date":
            return Term(kind, _whole(_instant(value)))
        case "duration":
            return Term(kind, _whole(duration(value)))
    raise Stays


def _whole(value: int) -> Any:
    if not LEAST <= value <= GREATEST:
        raise Stays
    return pa.scalar(value, pa.int64())


def _text(value: str) -> Any:
    try:
        return pa.scalar(value, pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair: no string in Arrow has it
        raise Stays from None


def _instant(value: date) -> int:
    elapsed: timedelta = as_utc(value) - EPOCH
    return duration(elapsed)


def whole(kind: str, values: Any, low: int, high: int) -> Term:
    """The result of whole numbers; it must be certain that it did not overflow."""
    least, greatest = (FIRST_INSTANT, LAST_INSTANT) if kind in ("timestamp", "date") else (LEAST, GREATEST)
    if low < least or high > greatest:
        raise Stays
    return Term(kind, values)


def number(values: Any) -> Term:
    """A float; NaN becomes null."""
    if isinstance(values, pa.Scalar):
        value = values.as_py()
        return Term("float", pa.scalar(None, pa.float64()) if value != value else values)
    unknown = pc.is_nan(values)
    if pc.any(unknown).as_py():
        values = pc.if_else(unknown, pa.scalar(None, pa.float64()), values)
    return Term("float", values)


# Fields.


class Fields:
    """The columns of a batch of events; each field is read once."""

    def __init__(self, columns: Mapping[str, Any], rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._terms: dict[tuple[str, ...], Term] = {}

    def term(self, path: tuple[str, ...]) -> Term:
        if path not in self._terms:
            self._terms[path] = self._read(path)
        return self._terms[path]

    def _read(self, path: tuple[str, ...]) -> Term:
        first, *rest = path
        values = self.columns.get(first)
        if values is None:
            return NULL_TERM
        for name in rest:
            kind = values.type
            if pa.types.is_map(kind):
                raise Stays
            if not pa.types.is_struct(kind) or kind.get_all_field_indices(name) == []:
                return NULL_TERM
            if len(kind.get_all_field_indices(name)) > 1:
                raise Stays
            values = pc.struct_field(values, name)
        return term_of(values)

    def one(self, term: Term) -> Any:
        """A term's values as an array, also of a constant."""
        values = term.values
        if isinstance(values, pa.Scalar):
            return pa.nulls(self.rows, values.type) if not values.is_valid else pa.repeat(values, self.rows)
        return values


def term_of(values: Any) -> Term:
    """A column as a term."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kind, test = values.type, pa.types
    if test.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if test.is_boolean(kind):
        return Term("bool", values)
    if test.is_integer(kind):
        return Term("int", _narrowed(values))
    if test.is_floating(kind):
        return number(values.cast(pa.float64()))
    if test.is_string(kind) or test.is_large_string(kind) or test.is_string_view(kind):
        return Term("string", values.cast(pa.large_string()))
    if test.is_binary(kind) or test.is_large_binary(kind) or test.is_fixed_size_binary(kind):
        return Term("bytes", values.cast(pa.large_binary()))
    if test.is_timestamp(kind):
        return _instants("timestamp", values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()))
    if test.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        return _instants("date", pc.multiply(days, pa.scalar(DAY, pa.int64())))
    if test.is_duration(kind):
        return Term("duration", values.cast(pa.duration("us"), safe=False).cast(pa.int64()))
    return NULL_TERM if test.is_null(kind) else Term("other", values)


def _narrowed(values: Any) -> Any:
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits with a sign
        raise Stays from None


def _instants(kind: str, micros: Any) -> Term:
    term = Term(kind, micros)
    if not term.within(FIRST_INSTANT, LAST_INSTANT):  # Python says what is wrong with it
        raise Stays
    return term


# Terms that meet.


def comparable(a: Term, b: Term) -> tuple[Any, Any]:
    """Both in one Arrow type that keeps their order, as `ordered_pair` does it for values."""
    kinds = {a.kind, b.kind}
    if len(kinds) == 1 and a.kind != "other":
        return a.values, b.values
    if kinds == {"timestamp", "date"}:
        return a.values, b.values
    if kinds == {"int", "float"}:
        return a.floats, b.floats
    raise Stays


def one_kind(terms: Sequence[Term]) -> str:
    """The kind of terms one of which will be the value. Of different kinds each value keeps its own in Python."""
    kinds = {term.kind for term in terms} - {"null"}
    if len(kinds) != 1 or kinds == {"other"}:
        raise Stays
    return kinds.pop()


ARROW_OF = {
    "bool": pa.bool_(),
    "float": pa.float64(),
    "string": pa.large_string(),
    "bytes": pa.large_binary(),
    **dict.fromkeys(WHOLE, pa.int64()),
}


def in_form(term: Term, kind: str) -> Any:
    return pa.scalar(None, ARROW_OF[kind]) if term.kind == "null" else term.values


def by_numpy(fields: Fields, function: Any, a: Any, b: Any, known: Any) -> Any:
    """What Arrow has no function for: worked out by numpy where it is known, null elsewhere."""
    left = pc.fill_null(fields.one(Term("", a)), 0).to_numpy(zero_copy_only=False)
    right = pc.fill_null(fields.one(Term("", b)), 1).to_numpy(zero_copy_only=False)
    unknown = np.invert(known.to_numpy(zero_copy_only=False))
    with np.errstate(all="ignore"):
        return pa.array(function(left, np.where(unknown, 1, right)), mask=unknown)
