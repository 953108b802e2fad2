"""What a correlation rule asks for: groups, a window, a condition; and which fields its rules must tell it."""

from __future__ import annotations

from dataclasses import dataclass

from sigma.correlations import (
    SigmaCorrelationCondition,
    SigmaCorrelationRule,
    SigmaExtendedCorrelationCondition,
)

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.duration import duration
from cepheid.sigma.documents import Document
from cepheid.sigma.refusals import unsupported
from cepheid.sigma.rules import Rule, Rules

_OPERATORS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "EQ": "==", "NEQ": "!="}


@dataclass(frozen=True)
class Threshold:
    """`gte: 10`."""

    operator: str
    number: int | float

    @property
    def least(self) -> int | None:
        """The count from which it holds for good; None if more events may end it again."""
        if self.operator == ">=":
            return max(1, -int(-self.number // 1))
        return max(1, int(self.number // 1) + 1) if self.operator == ">" else None


@dataclass(frozen=True)
class Correlation:
    """A correlation rule, its references found."""

    rule: SigmaCorrelationRule
    label: str
    document: Document
    kind: str
    rules: tuple[Rule, ...]
    group_by: tuple[str, ...]
    timespan: int
    aliases: dict[str, dict[int, str]]  # by the alias, then by the rule's id()
    needed: tuple[str, ...] = ()  # fields that correlations of this one ask for

    @property
    def columns(self) -> tuple[str, ...]:
        """What a hit must tell beside itself."""
        return tuple(dict.fromkeys((*self.group_by, *self.needed)))

    @property
    def field(self) -> str | None:
        """The field whose values are counted or added up."""
        condition = self.rule.condition
        name = condition.fieldref if isinstance(condition, SigmaCorrelationCondition) else None
        if isinstance(name, list):
            if len(name) != 1:
                raise unsupported(
                    "values of several fields together cannot be counted",
                    self.document.place("correlation", "condition", "field"),
                    "name one field",
                )
            name = name[0]
        return name

    @property
    def threshold(self) -> Threshold:
        condition = self.rule.condition
        assert isinstance(condition, SigmaCorrelationCondition)
        return Threshold(_OPERATORS[condition.op.name], condition.count)

    @property
    def extended(self) -> SigmaExtendedCorrelationCondition | None:
        condition = self.rule.condition
        return condition if isinstance(condition, SigmaExtendedCorrelationCondition) else None

    def field_of(self, name: str, rule: Rule, rules: Rules) -> str:
        """What a field, or an alias, of this correlation is called in the events of one of its rules."""
        if name not in self.aliases:
            return name
        found = self.aliases[name].get(id(rule))
        if found is None:
            raise PatternMistake(
                f"the alias `{name}` does not say what it is in `{rules.label(rule)}`",
                code="sigma_alias",
                place=self.document.key("correlation", "aliases", name),
                hint=f"add `{rules.label(rule)}: FIELD` to it",
            )
        return found

    def same_fields(self, names: tuple[str, ...], rules: Rules) -> bool:
        """Are these names of the same field in every rule?"""
        return all(len({self.field_of(n, r, rules) for r in self.rules}) == 1 for n in names)


def read_correlation(rule: SigmaCorrelationRule, rules: Rules, needed: tuple[str, ...]) -> Correlation:
    document = rules.document(rule)
    return Correlation(
        rule,
        rules.label(rule),
        document,
        rule.type.name.lower(),
        _referenced(rule, document),
        tuple(dict.fromkeys(rule.group_by or ())),
        duration(f"{rule.timespan.seconds}s"),
        _aliases(rule, rules, document),
        needed,
    )


def _referenced(rule: SigmaCorrelationRule, document: Document) -> tuple[Rule, ...]:
    found = tuple(reference.rule for reference in rule.referenced_rules)
    if not found:
        raise PatternMistake(
            "this correlation refers to no rule",
            code="sigma",
            place=document.key("correlation", "rules"),
            hint="name rules of this text under `rules`",
        )
    twice = [r for i, r in enumerate(found) if any(r is other for other in found[:i])]
    if twice and rule.type.name != "TEMPORAL_ORDERED":
        reference = next(ref.reference for ref in rule.referenced_rules if ref.rule is twice[0])
        raise PatternMistake(
            f"`{reference}` is named twice",
            code="sigma",
            place=document.word(reference, "correlation", "rules"),
            hint="a rule is counted once; to ask for it several times, use event_count",
        )
    return found


def _aliases(rule: SigmaCorrelationRule, rules: Rules, document: Document) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    names = list(rules.collection.names_to_rules)
    for alias in rule.aliases or ():
        of_rule: dict[int, str] = {}
        for reference, field in alias.mapping.items():
            try:
                of_rule[id(rules.named(reference.reference))] = str(field)
            except ValueError:
                raise PatternMistake(
                    f"there is no rule `{reference.reference}`",
                    code="sigma_alias",
                    place=document.key("correlation", "aliases", alias.alias, reference.reference),
                    hint=nearest(reference.reference, names) or f"the rules are {', '.join(names)}",
                ) from None
        found[alias.alias] = of_rule
    return found


def read_correlations(rules: Rules) -> dict[int, Correlation]:
    """All correlations by their rule's id(); what a correlation asks of another, the other gets to know."""
    needed: dict[int, list[str]] = {}
    found: dict[int, Correlation] = {}
    for rule in reversed(rules.rules):
        if not isinstance(rule, SigmaCorrelationRule):
            continue
        correlation = read_correlation(rule, rules, tuple(dict.fromkeys(needed.get(id(rule), ()))))
        found[id(rule)] = correlation
        names = [*correlation.columns, *([correlation.field] if correlation.field else [])]
        for inner in correlation.rules:
            if isinstance(inner, SigmaCorrelationRule):
                needed.setdefault(id(inner), []).extend(correlation.field_of(n, inner, rules) for n in names)
    return found
