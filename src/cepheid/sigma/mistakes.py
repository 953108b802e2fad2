"""What pySigma finds wrong with a rule, told with the place in the rule and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sigma import exceptions as of_sigma
from sigma.modifiers import modifier_mapping, reverse_modifier_mapping

from cepheid.errors import Place, SyntaxMistake, nearest
from cepheid.pattern.regex import check_regex
from cepheid.pattern.values import BadArgument
from cepheid.sigma.documents import Document

# Errors about one key of a rule, by what they are called: SigmaLevelError is about `level`.
_KEYS = {"identifier": "id", "timespan": "timespan"}
_IN_CORRELATION = {
    of_sigma.SigmaTimespanError: "timespan",
    of_sigma.SigmaCorrelationTypeError: "type",
    of_sigma.SigmaCorrelationConditionError: "condition",
}
TYPES = ("event_count", "value_count", "temporal", "temporal_ordered", "value_sum", "value_avg")


def explained(problem: of_sigma.SigmaError, document: Document, names: Sequence[str] = ()) -> SyntaxMistake:
    """The mistake behind an error of pySigma. `names`: the detections of the rule, or the rules of the text."""
    said = str(problem.args[0]) if problem.args else str(problem)
    if isinstance(problem, of_sigma.SigmaRegularExpressionError):
        return _bad_regex(said, document)
    return SyntaxMistake(
        _in_one_sentence(said),
        code="sigma",
        place=_place(problem, said, document),
        hint=_hint(problem, said, document, names),
    )


def _bad_regex(said: str, document: Document) -> SyntaxMistake:
    """In our own words, which know what RE2 does not have."""
    written = re.match(r"Regular expression '(.*)' is invalid", said, re.DOTALL)
    message, hint = said, None
    try:
        check_regex(written[1] if written else "")
    except BadArgument as bad:
        message, hint = bad.message, bad.hint
    return SyntaxMistake(_in_one_sentence(message), code="sigma", place=document.modifier("re"), hint=hint)


def _in_one_sentence(said: str) -> str:
    return " ".join(said.split()).rstrip(".")


def _place(problem: of_sigma.SigmaError, said: str, document: Document) -> Place:
    quoted = re.findall(r"'([^']+)'", said)
    if isinstance(problem, of_sigma.SigmaRuleNotFoundError):
        return document.word(quoted[0], "correlation") if quoted else document.place("correlation", "rules")
    for kind, key in _IN_CORRELATION.items():
        if isinstance(problem, kind):
            return document.place("correlation", key)
    if isinstance(problem, of_sigma.SigmaCorrelationRuleError):
        return _place_in_correlation(said, document)
    if isinstance(problem, of_sigma.SigmaModifierError | of_sigma.SigmaModifiedError):
        return _place_of_modifier(said, quoted, document)
    if isinstance(problem, of_sigma.SigmaConditionError):
        return document.word(quoted[0], "detection", "condition") if quoted else _condition(document)
    if isinstance(problem, of_sigma.SigmaDetectionError):
        return document.key("detection")
    name = re.sub(r"^Sigma|Error$", "", type(problem).__name__).lower()
    return document.place(_KEYS.get(name, name))


def _condition(document: Document) -> Place:
    return document.place("detection", "condition")


def _place_in_correlation(said: str, document: Document) -> Place:
    """pySigma says in words which part of the correlation it means."""
    for word, key in (("group-by", "group-by"), ("alias", "aliases"), ("generate", "generate")):
        if word in said:
            return document.place("correlation", key)
    if "field reference" in said or "condition" in said.lower():
        return document.place("correlation", "condition")
    return document.key("correlation")


def _place_of_modifier(said: str, quoted: list[str], document: Document) -> Place:
    if said.startswith("Unknown modifier") and quoted:
        return document.modifier(quoted[0])
    for name, short in reverse_modifier_mapping.items():
        if name in said:
            return document.modifier(short)
    if "CIDR" in said:
        return document.modifier("cidr")
    if "windash" in said:
        return document.modifier("windash")
    if "Compare operator" in said:
        compared = (document.modifier(short) for short in ("lt", "lte", "gt", "gte"))
        return next(
            (place for place in compared if place != document.place("detection")), _condition(document)
        )
    return document.place("detection")


def _hint(problem: of_sigma.SigmaError, said: str, document: Document, names: Sequence[str]) -> str | None:
    quoted = re.findall(r"'([^']+)'", said)
    if isinstance(problem, of_sigma.SigmaRuleNotFoundError | of_sigma.SigmaConditionError) and quoted:
        what = "rules of this text" if isinstance(problem, of_sigma.SigmaRuleNotFoundError) else "detections"
        listed = f"the {what} are {', '.join(names)}" if names else f"the {what} have no names"
        return nearest(quoted[0], list(names)) or listed
    if said.startswith("Unknown modifier") and quoted:
        return nearest(quoted[0], list(modifier_mapping)) or "the modifiers are " + ", ".join(
            modifier_mapping
        )
    if isinstance(problem, of_sigma.SigmaTimespanError):
        return "write a whole number and a unit: 30s, 5m, 1h, 7d"
    if isinstance(problem, of_sigma.SigmaCorrelationTypeError):
        return _type_hint(document)
    if isinstance(problem, of_sigma.SigmaCorrelationConditionError):
        return "write one of gt, gte, lt, lte, eq, neq with a number: `condition: {gte: 10}`"
    if "pipe syntax" in said:
        return "write a correlation rule of the type event_count or value_count"
    if "log source" in said or "logsource" in said:
        return "say which log the rule is for: `logsource: {product: windows, service: security}`"
    return None


def _type_hint(document: Document) -> str:
    correlation: Any = document.data.get("correlation")
    said = str(correlation.get("type", "")) if isinstance(correlation, dict) else ""
    return nearest(said, TYPES) or "the types are " + ", ".join(TYPES)
