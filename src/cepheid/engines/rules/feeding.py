"""Rules and patterns that feed each other: what each reads and makes, and that there is no way round."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.engines.program import Program, types_read
from cepheid.errors import PatternMistake
from cepheid.pattern.rule_model import (
    AssertEvent,
    AssertFact,
    ChangeCondition,
    Emit,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    ObjectType,
    Retract,
    Rule,
    RuleSet,
)

Thing = tuple[str, str]  # "fact" or "event" or "row", and a type


def made_by(rule: Rule) -> set[Thing]:
    """The facts and events a rule makes or changes, and the rows it emits."""
    types = _fact_types(rule)
    made: set[Thing] = set()
    for action in rule.actions:
        match action:
            case AssertFact(type=name):
                made.add(("fact", name))
            case AssertEvent(type=name):
                made.add(("event", name))
            case Emit(stream=name):
                made.add(("row", name))
            case Modify(variable=variable) | Retract(variable=variable):
                if variable in types:
                    made.add(("fact", types[variable]))
    return made


def _fact_types(rule: Rule) -> dict[str, str]:
    found: dict[str, str] = {}
    for condition in rule.conditions:
        if isinstance(condition, FactCondition) and condition.variable is not None:
            found[condition.variable] = condition.shape.type
        elif isinstance(condition, ChangeCondition) and condition.fact is not None:
            found[condition.fact] = condition.before.type
    return found


def read_by(rule: Rule) -> set[Thing]:
    read: set[Thing] = set()
    for condition in rule.conditions:
        match condition:
            case FactCondition(shape=shape) | NoFact(shape=shape):
                read.add(("fact", shape.type))
            case EventCondition(shape=shape) | NoEvent(shape=shape):
                read.add(("event", shape.type))
            case ChangeCondition(before=before):
                read.add(("fact", before.type))
    return read


def pattern_types(program: Program) -> tuple[ObjectType, ...]:
    """The matches of patterns as types of events."""
    return tuple(ObjectType(s.name, s.columns, event=True) for s in program)


def check_no_way_round(rules: RuleSet, program: Program) -> None:
    """A circle of rules is stopped by a limit; one that goes through a pattern is refused."""
    streams = {s.name: set(types_read(s.stream)) for s in program}
    edges: dict[str, set[str]] = {}
    for rule in rules.rules:
        made = made_by(rule)
        told = {name for kind, name in made if kind in ("event", "row")}
        followers = {f"rule {r.name}" for r in rules.rules if made & read_by(r)}
        edges[f"rule {rule.name}"] = followers | {f"stream {s}" for s, read in streams.items() if told & read}
    for name in streams:
        readers = {f"rule {r.name}" for r in rules.rules if ("event", name) in read_by(r)}
        edges[f"stream {name}"] = readers | {f"stream {s}" for s, read in streams.items() if name in read}
    for name in streams:
        circle = _way(f"stream {name}", f"stream {name}", edges)
        if circle is not None and any(step.startswith("rule ") for step in circle):
            raise PatternMistake(
                f"rules and patterns feed each other in a circle ({' -> '.join(circle)})",
                code="rule_cycle",
                hint="give what the rule makes another name than what the pattern reads",
            )


def _way(start: str, goal: str, edges: dict[str, set[str]]) -> list[str] | None:
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop(0)
        for step in sorted(edges.get(path[-1], ())):
            if step == goal:
                return [*path, step]
            if step not in seen:
                seen.add(step)
                paths.append([*path, step])
    return None


def fed_to_patterns(program: Program | None) -> frozenset[str]:
    """The types of events that some pattern reads."""
    return frozenset() if program is None else frozenset(_names(program))


def _names(program: Program) -> Iterable[str]:
    for planned in program:
        yield from types_read(planned.stream)
