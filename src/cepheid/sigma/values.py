"""A value of a Sigma rule and a field of an event: the condition that the field has such a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
)

from cepheid.pattern.expr import Binary, Call, Expr, Field, IsNull, Literal
from cepheid.pattern.regex import check_regex
from cepheid.pattern.values import BadArgument
from cepheid.sigma.logic import any_of
from cepheid.sigma.networks import network_regex
from cepheid.sigma.refusals import Refused

Part = str | SpecialChars
FieldOf = Callable[[str], Field]
_MANY, _ONE = SpecialChars.WILDCARD_MULTI, SpecialChars.WILDCARD_SINGLE
_COMPARE = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
    CompareOperators.NEQ: "!=",
}
_EXACT = 2**53  # whole numbers up to here are floats without loss


def has_value(field: Field, value: SigmaType, field_of: FieldOf) -> Expr:
    """The condition `field: value` of a rule. `field_of` finds the fields that values refer to."""
    match value:
        case SigmaExpansion(values=values):
            return any_of([has_value(field, v, field_of) for v in values])
        case SigmaString():
            return text_test(field, string_parts(value), isinstance(value, SigmaCasedString))
        case SigmaTimestampPart():
            return _time_part(field, value)
        case SigmaNumber(number=number):
            return _equals_number(field, number)
        case SigmaBool(boolean=boolean):
            return Binary("==", _folded(field), Literal("true" if boolean else "false"))
        case SigmaNull():
            return IsNull(field)
        case SigmaExists(exists=exists):
            return IsNull(field, negated=exists)
        case SigmaRegularExpression():
            return Call("regexp_like", (_text(field), Literal(regex_text(value))))
        case SigmaCIDRExpression(cidr=cidr):
            return Call("regexp_like", (_text(field), Literal(network_regex(cidr))))
        case SigmaCompareExpression(number=SigmaNumber(number=number), op=op):
            return Binary(_COMPARE[op], Call("float", (field,)), Literal(number))
        case SigmaFieldReference():
            return _like_field(field, value, field_of)
    raise Refused(f"a value of the kind {type(value).__name__.removeprefix('Sigma')} cannot be tested")


def has_keyword(field: Field, value: SigmaType) -> Expr:
    """The condition that a text holds a keyword somewhere."""
    match value:
        case SigmaExpansion(values=values):
            return any_of([has_keyword(field, v) for v in values])
        case SigmaString():
            parts = _surrounded(string_parts(value))
            return text_test(field, parts, isinstance(value, SigmaCasedString))
        case SigmaTimestampPart():
            pass
        case SigmaNumber(number=number):
            return text_test(field, [_MANY, str(number), _MANY], cased=False)
        case SigmaRegularExpression():
            return Call("regexp_like", (_text(field), Literal(regex_text(value))))
    raise Refused(
        "only text, numbers and regular expressions can be looked for as keywords",
        "name the field that has the value",
    )


# Text. Sigma compares without regard to case unless `cased` is said.


def text_test(field: Field, parts: Sequence[Part], cased: bool) -> Expr:
    """The shortest condition that says the same as text with wildcards."""
    text = _text(field) if cased else _folded(field)
    kept = [p if cased or not isinstance(p, str) else p.lower() for p in parts]
    match kept:
        case []:
            return Binary("==", text, Literal(""))
        case [str() as only]:
            return Binary("==", text, Literal(only))
        case [SpecialChars.WILDCARD_MULTI]:
            return IsNull(field, negated=True)
        case [str() as start, SpecialChars.WILDCARD_MULTI]:
            return Call("starts_with", (text, Literal(start)))
        case [SpecialChars.WILDCARD_MULTI, str() as end]:
            return Call("ends_with", (text, Literal(end)))
        case [SpecialChars.WILDCARD_MULTI, str() as inside, SpecialChars.WILDCARD_MULTI]:
            return Call("contains", (text, Literal(inside)))
    return Call("like", (text, Literal("".join(map(_like_part, kept)))))


def _like_part(part: Part) -> str:
    if isinstance(part, str):
        return part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return "%" if part is _MANY else "_"


def string_parts(value: SigmaString) -> list[Part]:
    """Text and wildcards in turn, two neighbouring `*` as one."""
    found: list[Part] = []
    for part in value.s:
        if isinstance(part, Placeholder):
            raise Refused(
                f"nobody says what the placeholder %{part.name}% stands for",
                "write the values themselves, and leave out the modifier `expand`",
                "expand",
            )
        if part is _MANY and found[-1:] == [_MANY]:
            continue
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _surrounded(parts: list[Part]) -> list[Part]:
    before = parts[:1] != [_MANY]
    after = parts[-1:] != [_MANY] and bool(parts)
    return [_MANY] * before + parts + [_MANY] * after


def _text(field: Field) -> Expr:
    return Call("string", (field,))


def _folded(field: Field) -> Expr:
    return Call("lower", (_text(field),))


def regex_text(value: SigmaRegularExpression) -> str:
    """The expression with its flags; RE2 has to take it."""
    letters = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
    pattern = str(value.regexp)
    if value.regexp.contains_placeholder():
        raise Refused("a regular expression with a placeholder cannot be run", None, "re")
    try:
        check_regex(f"(?{letters}){pattern}" if letters else pattern)
    except BadArgument as bad:
        raise Refused(bad.message, bad.hint, "re") from None
    return f"(?{letters}){pattern}" if letters else pattern


# Numbers, times, other fields.


def _equals_number(field: Field, number: int | float) -> Expr:
    """A number, also if the events write it as text. Beyond 2^53 only its digits tell numbers apart."""
    if isinstance(number, float) and abs(number) >= _EXACT:
        raise Refused("pySigma has rounded this number", "put it into quotes: then its digits are compared")
    if isinstance(number, int) and abs(number) > _EXACT:
        return Binary("==", _text(field), Literal(str(number)))
    return Binary("==", Call("float", (field,)), Literal(number))


def _time_part(field: Field, value: SigmaTimestampPart) -> Expr:
    part = value.timestamp_part.name.lower()
    if part == "week":
        raise Refused(
            "the week of a time cannot be tested",
            "minute, hour, day, month and year can",
            "week",
        )
    return Binary("==", Call(part, (Call("timestamp", (field,)),)), Literal(value.number))


def _like_field(field: Field, value: SigmaFieldReference, field_of: FieldOf) -> Expr:
    left, right = _folded(field), _folded(field_of(value.field))
    if value.starts_with and value.ends_with:
        return Call("contains", (left, right))
    if value.starts_with:
        return Call("starts_with", (left, right))
    if value.ends_with:
        return Call("ends_with", (left, right))
    return Binary("==", left, right)
