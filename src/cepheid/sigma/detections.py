"""The detection of a Sigma rule as one condition on one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.exceptions import SigmaError
from sigma.rule import SigmaRule

from cepheid.errors import SyntaxMistake
from cepheid.pattern.expr import Binary, Call, Expr, Field, Literal
from cepheid.sigma.documents import Document
from cepheid.sigma.logic import all_of, any_of, none_of
from cepheid.sigma.mistakes import explained
from cepheid.sigma.options import SigmaOptions
from cepheid.sigma.refusals import Refused, unsupported
from cepheid.sigma.values import has_keyword, has_value


def detection_condition(rule: SigmaRule, document: Document, options: SigmaOptions) -> Expr:
    """The condition under which an event fits a rule; several conditions of a rule are alternatives."""
    reader = _Reader(document, options)
    conditions = []
    for condition in rule.detection.parsed_condition:
        try:
            tree = condition.parsed
        except SigmaError as problem:
            raise explained(problem, document, list(rule.detection.detections)) from None
        conditions.append(reader.read(tree))
    return all_of([*_of_logsource(rule, options), any_of(conditions)])


def _of_logsource(rule: SigmaRule, options: SigmaOptions) -> list[Expr]:
    found: list[Expr] = []
    for part, path in options.logsource.items():
        said = getattr(rule.logsource, part)
        if said is not None:
            text = Call("lower", (Call("string", (Field(None, path),)),))
            found.append(Binary("==", text, Literal(said.lower())))
    return found


@dataclass(frozen=True)
class _Reader:
    document: Document
    options: SigmaOptions

    def read(self, tree: Any) -> Expr:
        match tree:
            case ConditionAND(args=args):
                return all_of([self.read(a) for a in args])
            case ConditionOR(args=args):
                return any_of([self.read(a) for a in args])
            case ConditionNOT(args=args):
                return none_of(self.read(args[0]))
            case ConditionFieldEqualsValueExpression(field=name, value=value):
                return self._of_field(name, value)
            case ConditionValueExpression(value=value):
                return self._keyword(value)
        raise SyntaxMistake(
            "the condition of this rule says nothing",
            code="sigma",
            place=self.document.place("detection", "condition"),
            hint="name a detection: `condition: selection`",
        )

    def _of_field(self, name: str, value: Any) -> Expr:
        try:
            return has_value(self._field(name), value, self._field)
        except Refused as refused:
            place = self.document.item(name, refused.modifier)
            raise unsupported(refused.message, place, refused.hint) from None

    def _keyword(self, value: Any) -> Expr:
        if not self.options.keywords:
            raise unsupported(
                "keywords are looked for in the whole event, and nobody says which fields that is",
                self.document.item("") if isinstance(self.document.data, dict) else None,
                'name them: --keywords message, or keywords=["message"]',
            )
        try:
            return any_of([has_keyword(Field(None, path), value) for path in self.options.keywords])
        except Refused as refused:
            raise unsupported(refused.message, self.document.place("detection"), refused.hint) from None

    def _field(self, name: str) -> Field:
        return Field(None, self.options.path(name))
