"""temporal and temporal_ordered: hits of several rules within a time, in any order or in that of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionNOT,
    CorrelationConditionOR,
)
from sigma.rule import SigmaRule

from cepheid.errors import PatternMistake
from cepheid.pattern.expr import Expr, Field
from cepheid.pattern.model import (
    And,
    Link,
    Node,
    Or,
    Output,
    Pattern,
    Selection,
    Sequence,
    Step,
    Stream,
)
from cepheid.sigma.correlation import Correlation
from cepheid.sigma.counting import PAST_LAST, columns_of
from cepheid.sigma.hits import HitMaker, Hits, owned
from cepheid.sigma.naming import fresh_alias
from cepheid.sigma.refusals import unsupported

_MOST = 64  # ways to choose some of the rules


@dataclass(frozen=True)
class _Member:
    """A rule of the correlation as a step."""

    step: Step
    hits: Hits
    references: tuple[str, ...]  # what the rule may be called in a condition


def temporal_streams(correlation: Correlation, maker: HitMaker) -> list[Stream]:
    """The streams of a temporal correlation; the last one gives its matches."""
    ordered = correlation.kind == "temporal_ordered"
    helpers, members = _members(correlation, maker, ordered)
    root = _root(correlation, members, ordered)
    hits = members[0].hits
    pattern = Pattern(
        root,
        within=correlation.timespan,
        partition_by=tuple(Field(None, hits.paths[name]) for name in correlation.group_by),
        # A run that follows one of several ways cannot change it: then every run has to stay, too.
        selection=Selection.STAM if _has_choice(root) else Selection.STNM,
        skip=PAST_LAST,
        name=correlation.label,
    )
    return [*helpers, Stream(correlation.label, pattern, _outputs(correlation, members, root, ordered))]


def _members(correlation: Correlation, maker: HitMaker, ordered: bool) -> tuple[list[Stream], list[_Member]]:
    """In any order an event that fits two rules is a hit of both, so each rule has a stream of its own."""
    names = correlation.columns
    plain = all(isinstance(rule, SigmaRule) for rule in correlation.rules)
    inline = ordered and plain and correlation.same_fields(names, maker.rules)
    helpers: list[Stream] = []
    found: list[Hits] = []
    made: dict[int, Hits] = {}
    for rule in correlation.rules:
        if inline:
            found.append(maker.inline(correlation, [rule], names))
            continue
        if id(rule) not in made:
            label = f"{correlation.label}: {maker.rules.label(rule)}"
            stream, made[id(rule)] = maker.stream(correlation, label, [[rule]])
            helpers.append(stream)
        found.append(made[id(rule)])
    taken = {*names, "match_id", "start", "end"}.union(*(hits.fields() for hits in found))
    members = []
    for rule, hits in zip(correlation.rules, found, strict=True):
        alias = fresh_alias(maker.rules.label(rule), taken)
        taken.add(alias)
        called = tuple(str(name) for name in (rule.name, rule.id) if name is not None)
        members.append(_Member(Step(hits.type, owned(hits.where, alias), alias), hits, called))
    return helpers, members


def _root(correlation: Correlation, members: list[_Member], ordered: bool) -> Node:
    steps: list[Node] = [member.step for member in members]
    if correlation.extended is not None:
        return _of_condition(correlation, correlation.extended.parsed, members, ordered)
    wanted = _how_many(correlation, len(members))
    chosen = list(combinations(steps, wanted))
    if len(chosen) > _MOST:
        raise unsupported(
            f"{wanted} of {len(members)} rules can be chosen in {len(chosen)} ways, which is too many",
            correlation.document.place("correlation", "condition"),
            "split the correlation into several",
        )
    return _either([_together(list(some), ordered) for some in chosen])


def _how_many(correlation: Correlation, rules: int) -> int:
    threshold = correlation.threshold
    least = rules if (threshold.operator, threshold.number) == ("==", rules) else threshold.least
    place = correlation.document.place("correlation", "condition")
    if least is None:
        raise unsupported(
            f"`{correlation.kind}` with {threshold.operator} {threshold.number} would have to know what never comes",
            place,
            "use gte or gt, or leave out the condition: then all rules must match",
        )
    if least > rules:
        raise PatternMistake(
            f"the correlation has {rules} rules, so {least} of them never match",
            code="sigma",
            place=place,
            hint=f"write `gte: {rules}`, or leave out the condition",
        )
    return least


def _of_condition(correlation: Correlation, tree: Any, members: list[_Member], ordered: bool) -> Node:
    """`a and (b or c)`."""
    match tree:
        case CorrelationConditionAND(args=args):
            return _together([_of_condition(correlation, a, members, ordered) for a in args], ordered)
        case CorrelationConditionOR(args=args):
            return _either([_of_condition(correlation, a, members, ordered) for a in args])
        case CorrelationConditionNOT():
            raise unsupported(
                "`not` in the condition of a correlation cannot be run: nothing says when a rule has not matched",
                correlation.document.word("not", "correlation", "condition"),
                "write the pattern itself: `A -> NOT B within 5m`, or a guard `unless B`",
            )
    return next(m.step for m in members if tree.reference in m.references)


def _together(parts: list[Node], ordered: bool) -> Node:
    if len(parts) == 1:
        return parts[0]
    if not ordered:
        return And(tuple(parts))
    return Sequence(tuple(Link(part) for part in parts))


def _either(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _has_choice(node: Node) -> bool:
    return isinstance(node, Or) or any(_has_choice(child) for child in node.children())


def _outputs(
    correlation: Correlation, members: list[_Member], root: Node, ordered: bool
) -> tuple[Output, ...]:
    last = members[-1]

    def needed(name: str) -> Expr:
        if not ordered or _has_choice(root):
            raise unsupported(
                f"another correlation asks for `{name}`, and the rules of this one come in no fixed order",
                correlation.document.key("correlation", "group-by"),
                f"add `{name}` to its group-by",
            )
        return Field(last.step.alias, last.hits.paths[name])

    columns = columns_of(correlation, members[0].hits, needed)
    for member in members:
        columns[str(member.step.alias)] = Field(member.step.alias, member.hits.event)
    return tuple(Output(name, expr) for name, expr in columns.items())
