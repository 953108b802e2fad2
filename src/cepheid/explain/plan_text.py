"""A plan as text: what is matched, what is kept, what decides what, and what to look out for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.explain.advice import warnings
from cepheid.explain.state_text import Load, Sample, state_lines
from cepheid.explain.tables import Line, Row, aligned
from cepheid.explain.test_places import TestsPlaced
from cepheid.explain.trends_text import trends_lines
from cepheid.explain.words import Names, shown, shown_pattern, test_text
from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Binary, Expr, Field, conjuncts
from cepheid.pattern.model import (
    Absence,
    Emission,
    Every,
    Forecast,
    Guard,
    Pattern,
    Selection,
    SkipTo,
    Step,
)
from cepheid.pattern.text import expr_text, guard_text, node_text, pattern_text
from cepheid.plan.automaton import START, AbsenceSpec
from cepheid.plan.plan import Plan

_ALONE, _OTHERS = "decided by the event alone", "looks at other events"
_MOST_TRANSITIONS = 60

_SELECTIONS = {
    Selection.STAM: "stam (default): at an event that fits, one copy of the run takes it and one waits on",
    Selection.STNM: "stnm: a run takes the first event that fits; an event serves one match",
    Selection.STRICT: "strict: every event must be the very next one of the partition",
}
_EMISSIONS = {
    Emission.EACH: "a match for each prefix of a closure",
    Emission.LONGEST: "of the matches complete at one moment, only those no other contains",
    Emission.SUBSETS: "a match for every combination of a closure's events",
}
_SKIPS = {
    SkipTo.NONE: "none (default): matches may overlap",
    SkipTo.TO_NEXT: "to_next: after a match, none that starts at the same event",
    SkipTo.PAST_LAST: "past_last: after a match, none that starts before its last event has passed",
    SkipTo.TO_FIRST: "to_first({}): after a match, none that starts before its first {}",
    SkipTo.TO_LAST: "to_last({}): after a match, none that starts before its last {}",
}
_RESTARTS = {
    Every.LATEST: "every: one run a partition; while it holds only its start, a newer start takes its place",
    Every.FIRST: "every first: one run a partition; it keeps its first start",
}


def explain_text(
    plan: Plan,
    written: Pattern | None = None,
    load: Load | None = None,
    sample: Sample | None = None,
    tests: TestsPlaced | None = None,
    beside: Sequence[Plan] = (),
) -> str:
    """The plan in sections. `written` is the pattern before the rewrites, if it is at hand.

    `beside`: plans of the same program that it may share work with.
    """
    names = Names(plan)
    sections: list[tuple[str, list[Line]]] = [
        *_patterns(plan, written),
        ("partition", _partition(plan, names)),
        ("window", _window(plan)),
        ("matching", _matching(plan, written)),
        ("state", state_lines(plan, names, load, sample)),
        ("trends", trends_lines(plan, beside)),
        ("steps", _steps(plan, names)),
        ("absences and guards", _refusals(plan, names)),
        ("conditions on the whole pattern", _conditions(names)),
        ("transitions", _transitions(names)),
        ("where tests run", tests.lines() if tests is not None else []),
        ("warnings", [f"! {w}" for w in warnings(plan, names)]),
    ]
    texts = [
        "\n".join([title, *(f"  {line}".rstrip() for line in lines)]) for title, lines in sections if lines
    ]
    return "\n\n".join(texts) + "\n"


# Sections.


def _patterns(plan: Plan, written: Pattern | None) -> Iterator[tuple[str, list[Line]]]:
    result = pattern_text(shown_pattern(plan.pattern))
    # A plan without a name is known by the text of its pattern as it was written.
    before = pattern_text(written) if written is not None else plan.identity
    if written is None and plan.identity == plan.name:
        yield "pattern, after rewrites", [result]
        return
    yield "pattern", [before]
    if before != result:
        yield "after rewrites", [result]


def _partition(plan: Plan, names: Names) -> list[Line]:
    if not plan.key:
        return ["one partition: all events"]
    keys = ", ".join(expr_text(k) for k in plan.key)
    if not plan.inferred_key:
        return [f"by {keys}"]
    (key,) = plan.key
    return [
        f"by {keys}, inferred: these equalities tie every step",
        *aligned(list(_ties(plan, names, key)), 2),
    ]


def _ties(plan: Plan, names: Names, key: Expr) -> Iterator[Row]:
    for position, name in zip(plan.automaton.positions, names.positions, strict=True):
        yield from _equalities(position.step, name, key)
    for absence in plan.automaton.absences:
        yield from _equalities(absence.node.step, f"NOT {absence.node.step.type}", key)
    for spec in plan.guards:
        yield from _equalities(spec.guard.step, f"unless {spec.guard.step.type}", key)


def _equalities(step: Step, name: str, key: Expr) -> Iterator[Row]:
    for part in conjuncts(step.where):
        if isinstance(part, Binary) and part.op == "==":
            sides = (part.left, part.right)
            if isinstance(key, Field) and all(isinstance(s, Field) and s.path == key.path for s in sides):
                yield name, test_text(part)


def _window(plan: Plan) -> list[Line]:
    within = plan.pattern.within
    if within is None:
        return ["none over the whole pattern"]
    return [f"{duration_text(within)} from the first event of a match to its last"]


def _matching(plan: Plan, written: Pattern | None) -> list[Line]:
    pattern = plan.pattern
    skip = _SKIPS[pattern.skip.to].format(pattern.skip.alias, pattern.skip.alias)
    rows: list[Row] = [("selection", _SELECTIONS[pattern.selection])]
    if pattern.every is not None:
        rows = [("restart", _RESTARTS[pattern.every])]
    rows += [("emission", _emission(plan, written)), ("skip", skip)]
    if pattern.eager:
        rows.append(("eager", "a provisional match at once, the longest when it is certain"))
    if pattern.timeouts:
        rows.append(("timeouts", "a run that its window ends is reported"))
    if plan.forecast is not None:
        rows.append(("forecast", _forecast(plan.forecast)))
    return aligned(rows)


def _forecast(forecast: Forecast) -> str:
    ends = [duration_text(forecast.horizon)] if forecast.horizon is not None else []
    ends += [f"{forecast.events} events"] if forecast.events is not None else []
    model = "a model for each key" if forecast.per_key else "one model for all keys"
    return (
        f"open runs that complete within {' and '.join(ends) or 'the window'} with a chance of "
        f"{forecast.confidence:g} or more; {model}, contexts of up to {forecast.max_depth} events"
    )


def _emission(plan: Plan, written: Pattern | None) -> str:
    said = (written or plan.pattern).emission
    mark = ""
    if said is None and plan.emission is Emission.EACH:
        mark = " (default)"
    elif said is None and plan.trends is not None:
        mark = " (implied by .trend_aggregate)"
    elif said is None:
        mark = (
            " (implied by every)"
            if plan.pattern.every is not None
            else " (implied by .increasing or .decreasing)"
        )
    closures = any(c.max != 1 for c in plan.automaton.closures)
    what = (
        _EMISSIONS[plan.emission]
        if closures or plan.emission is Emission.LONGEST
        else "no closure, no choice"
    )
    return f"{plan.emission.value}{mark}: {what}"


def _steps(plan: Plan, names: Names) -> list[Line]:
    rows: list[Row] = [("step", "event", _ALONE, _OTHERS)]
    for position, name in zip(plan.automaton.positions, names.positions, strict=True):
        how_many = " (list)" if position.repeated else ""
        rows.append((name + how_many, position.step.type, _tests(position.alpha), _tests(position.beta)))
    return aligned(rows)


def _refusals(plan: Plan, names: Names) -> list[Line]:
    rows: list[Row] = [("what", "where", _ALONE, _OTHERS)]
    for spec in plan.automaton.absences:
        bound = f" within {duration_text(spec.node.within)}" if spec.node.within is not None else ""
        what = f"{node_text(Absence(Step(spec.node.step.type), next=spec.node.next))}{bound}"
        rows.append((what, "; ".join(_places(plan, names, spec)), _tests(spec.alpha), _tests(spec.beta)))
    for guard in plan.guards:
        what = f"unless {guard_text(Guard(Step(guard.guard.step.type))).removeprefix('unless ')}"
        rows.append((what, _guarded(guard.guard), _tests(guard.alpha), _tests(guard.beta)))
    return aligned(rows) if len(rows) > 1 else []


def _places(plan: Plan, names: Names, spec: AbsenceSpec) -> Iterator[str]:
    """Where an absence holds, way by way."""
    within = spec.node.within if spec.node.within is not None else plan.pattern.within
    bound = duration_text(within) if within is not None else ""
    edges = [e for e in names.edges() if spec.index in e.absences]
    first = dict.fromkeys(names.states[e.target] for e in edges if e.source == START)
    if first:
        yield f"in the {bound} before {' or '.join(first)}"
    between: dict[str, list[str]] = {}
    for edge in edges:
        if edge.source != START:
            between.setdefault(names.states[edge.source], []).append(names.states[edge.target])
    for source, targets in between.items():
        yield f"after {source}, before {' or '.join(dict.fromkeys(targets))}"
    ends = dict.fromkeys(names.states[a.state] for a in names.accepts() if spec.index in a.absences)
    if ends:
        until = f"until {bound} after the first event" if bound else "at the next event"
        yield f"after {' or '.join(ends)}, {until if spec.node.within is None else f'for {bound}'}"


def _guarded(guard: Guard) -> str:
    if guard.start and guard.end:
        return f"from {guard.start} until {guard.end} is taken"
    return f"from {guard.start or 'the first event'} until the match is complete"


def _conditions(names: Names) -> list[Line]:
    places: dict[str, list[str]] = {}
    for edge in names.edges():
        for test in edge.tests:
            places.setdefault(test_text(test), []).append(names.arrow(edge))
    for accept in names.accepts():
        for test in accept.tests:
            places.setdefault(test_text(test), []).append(f"when complete in {names.states[accept.state]}")
    rows = [(text, "tested: " + ", ".join(dict.fromkeys(found))) for text, found in places.items()]
    return aligned(rows)


def _transitions(names: Names) -> list[Line]:
    rows: list[Row] = []
    for edge in names.edges():
        notes = "; ".join(names.edge_notes(edge))
        rows.append((names.arrow(edge), f"({notes})" if notes else ""))
    for accept in names.accepts():
        notes = "; ".join([*names.leaving(accept.leaves), *_awaited(names, accept.absences)])
        rows.append((f"{names.states[accept.state]} is complete", f"({notes})" if notes else ""))
    rows = list(dict.fromkeys(rows))
    more = len(rows) - _MOST_TRANSITIONS
    return aligned(rows[:_MOST_TRANSITIONS]) + ([f"... and {more} more"] if more > 0 else [])


def _awaited(names: Names, absences: tuple[int, ...]) -> Iterator[str]:
    for number in absences:
        yield f"once it is certain that no {names.automaton.absences[number].node.step.type} came"


# Small parts.


def _tests(tests: tuple[Expr, ...]) -> str:
    return " and ".join(expr_text(shown(t), 2 if len(tests) > 1 else 0) for t in tests) or "-"
