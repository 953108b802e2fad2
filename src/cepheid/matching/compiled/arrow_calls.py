"""Calls of scalar functions on terms: those for which Arrow answers exactly as Python does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.matching.compiled.arrow_terms import (
    NULL_TERM,
    Stays,
    Term,
    in_form,
    one_kind,
    whole,
)


def call(name: str, args: Sequence[Term]) -> Term:
    if name in _OF_ANY:
        return _OF_ANY[name](args)
    function = _FUNCTIONS.get(name)
    if function is None:
        raise Stays
    if any(arg.kind == "null" for arg in args):
        return NULL_TERM
    return function(*args)


# Functions of nulls.


def _coalesce(args: Sequence[Term]) -> Term:
    kind = one_kind(args)
    return Term(kind, pc.coalesce(*(in_form(arg, kind) for arg in args)))


_OF_ANY: dict[str, Callable[[Sequence[Term]], Term]] = {"coalesce": _coalesce, "ifnull": _coalesce}


# Numbers.


def _abs(a: Term) -> Term:
    if a.kind == "float":
        return Term("float", pc.abs(a.values))
    if a.kind not in ("int", "duration"):
        raise Stays
    low, high = a.bounds
    return whole(a.kind, pc.abs(a.values), min(low, 0), max(abs(low), abs(high)))


def _rounded(function: Any) -> Callable[[Term], Term]:
    def rounded(a: Term) -> Term:
        if a.kind == "int":
            return a
        if a.kind != "float":
            raise Stays
        finite = pc.if_else(pc.is_finite(a.values), a.values, pa.scalar(None, pa.float64()))
        try:
            return Term("int", function(finite).cast(pa.int64()))
        except pa.ArrowInvalid:  # more than 64 bits
            raise Stays from None

    return rounded


def _sqrt(a: Term) -> Term:
    """The one of them that every machine rounds alike."""
    if a.kind not in ("int", "float"):
        raise Stays
    known = pc.if_else(pc.less(a.floats, 0.0), pa.scalar(None, pa.float64()), a.floats)
    return Term("float", pc.sqrt(known))


# Texts.


def _texts(*args: Term) -> None:
    if any(arg.kind != "string" for arg in args):
        raise Stays


def _length(a: Term) -> Term:
    if a.kind == "bytes":
        return Term("int", pc.binary_length(a.values).cast(pa.int64()))
    _texts(a)
    return Term("int", pc.utf8_length(a.values).cast(pa.int64()))


def _changed_case(function: Any) -> Callable[[Term], Term]:
    def changed(a: Term) -> Term:
        _texts(a)
        plain = pc.all(pc.string_is_ascii(a.values)) if isinstance(a.values, pa.Array) else None
        if plain is None or plain.as_py() is False:  # Python knows more of letters than Arrow
            raise Stays
        return Term("string", function(a.values))

    return changed


def _trimmed(function: Any) -> Callable[[Term], Term]:
    def trimmed(a: Term) -> Term:
        _texts(a)
        return Term("string", function(a.values, characters=" "))

    return trimmed


def _concat(*args: Term) -> Term:
    _texts(*args)
    empty = pa.scalar("", pa.large_string())
    return Term("string", pc.binary_join_element_wise(*(arg.values for arg in args), empty))


def _searched(function: Any) -> Callable[[Term, Term], Term]:
    """For a part that is written out."""

    def searched(a: Term, part: Term) -> Term:
        _texts(a, part)
        if not isinstance(part.values, pa.Scalar):
            raise Stays
        return Term("bool", function(a.values, pattern=part.values.as_py()))

    return searched


# Times.


def _part(function: Any) -> Callable[[Term], Term]:
    def part(a: Term) -> Term:
        if a.kind not in ("timestamp", "date"):
            raise Stays
        return Term("int", function(a.values.cast(pa.timestamp("us"))).cast(pa.int64()))

    return part


def _epoch(a: Term) -> Term:
    if a.kind not in ("timestamp", "date") or not a.within(-(2**53), 2**53):
        raise Stays
    return Term("float", pc.divide(a.floats, pa.scalar(1e6)))


_FUNCTIONS: dict[str, Callable[..., Term]] = {
    "abs": _abs,
    "floor": _rounded(pc.floor),
    "ceil": _rounded(pc.ceil),
    "sqrt": _sqrt,
    "length": _length,
    "lower": _changed_case(pc.utf8_lower),
    "upper": _changed_case(pc.utf8_upper),
    "trim": _trimmed(pc.utf8_trim),
    "ltrim": _trimmed(pc.utf8_ltrim),
    "rtrim": _trimmed(pc.utf8_rtrim),
    "concat": _concat,
    "contains": _searched(pc.match_substring),
    "starts_with": _searched(pc.starts_with),
    "ends_with": _searched(pc.ends_with),
    "year": _part(pc.year),
    "month": _part(pc.month),
    "day": _part(pc.day),
    "hour": _part(pc.hour),
    "minute": _part(pc.minute),
    "second": _part(pc.second),
    "epoch": _epoch,
}
