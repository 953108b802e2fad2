"""What a plan keeps while it runs: after which step, for how long, and how many runs that can be.

Everything here is a bound, read off the windows, the arrows, the closures and the selection. `n` is the number of
events of a partition between the first event of a run and the end of its wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, comb

from cepheid.explain.words import Names
from cepheid.pattern.model import Arrow, Emission, Loop, Selection
from cepheid.plan.automaton import START, ClosureSpec, Edge
from cepheid.plan.plan import Plan

FIRST, LAST, NEXT = "first", "last", "next"
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_EXPONENT = 1000.0


@dataclass(frozen=True)
class Growth:
    """At most how many runs: `factor` times as many as there are choices of `degree` among n events."""

    degree: int
    factor: int = 1
    exponential: bool = False  # every combination of the events
    ordered: bool = True  # False: the same events in another order are another run (the operands of an AND)

    @property
    def grows(self) -> bool:
        return self.degree > 0 or self.exponential

    def most(self, events: float, keys: int = 1) -> float:
        """For so many events, spread evenly over so many keys."""
        if not self.grows:
            return float(keys * self.factor)
        busy = min(float(keys), max(events, 1.0))
        each = ceil(events / busy)
        if self.exponential:
            return float(busy * self.factor * 2.0 ** min(each, _MOST_EXPONENT))
        choices = comb(each + self.degree - 1, self.degree) if self.ordered else each**self.degree
        return float(busy * self.factor * choices)

    def __str__(self) -> str:
        if self.exponential:
            return "2ⁿ"
        if not self.degree:
            return str(self.factor)
        power = "" if self.degree == 1 else str(self.degree).translate(_SUPERSCRIPTS)
        return f"{self.factor}·n{power}" if self.factor > 1 else f"n{power}"


@dataclass(frozen=True)
class StateBound:
    """Runs that have come as far as a step.

    `lasts` is how long one waits there, in microseconds, since its `first` or its `last` event; `next`: only until the
    partition's next event. `span` is the longest time from a run's first event until it leaves; None: there is no end.
    """

    state: int
    step: str
    waits_for: tuple[str, ...]
    since: str
    lasts: int | None
    span: int | None
    growth: Growth

    @property
    def bounded(self) -> bool:
        """Is there an end to it, as long as there is one to the events of a while?"""
        return self.span is not None or not self.growth.grows


def state_bounds(plan: Plan, names: Names | None = None) -> tuple[StateBound, ...]:
    """One for each state in which a run may wait. Aggregates of trends keep no runs: nothing is told of them."""
    return () if plan.trends is not None else tuple(_bounds(plan, names or Names(plan)))


def _bounds(plan: Plan, names: Names) -> Iterator[StateBound]:
    ways = _ways(plan, names)
    edges: dict[int, list[Edge]] = {}
    for edge in names.edges():
        edges.setdefault(edge.source, []).append(edge)
    for state in names.reached():
        awaited = [a for accept in plan.automaton.accepting[state] for a in accept.absences]
        out = edges.get(state, [])
        if state == START or not (out or awaited):
            continue
        waits = dict.fromkeys(names.positions[e.position] for e in out)
        waits |= dict.fromkeys(f"no {plan.automaton.absences[a].node.step.type}" for a in awaited)
        since, lasts = _how_long(plan, out, awaited)
        growth, span = ways[state].growth, _span(plan, ways[state], since, lasts)
        if since == NEXT and not plan.automaton.closures_of[state]:
            growth, span = Growth(0, growth.factor), 0  # what began earlier is past this step, or gone
        yield StateBound(state, names.states[state], tuple(waits), since, lasts, span, growth)


# How long.


def _how_long(plan: Plan, edges: list[Edge], awaited: list[int]) -> tuple[str, int | None]:
    """The tighter of the pattern's window and the bounds of all ways on."""
    absences = [plan.automaton.absences[a].node for a in awaited]
    if all(e.arrow is Arrow.NEXT for e in edges) and all(a.next for a in absences):
        return NEXT, plan.pattern.within
    waits = [edge_bound(plan, e) for e in edges if e.arrow is not Arrow.NEXT]
    waits += [a.within for a in absences if not a.next]
    own = None if None in waits else max(w for w in waits if w is not None)
    within = plan.pattern.within
    if own is not None and (within is None or own < within):
        return LAST, own
    return FIRST, within


def edge_bound(plan: Plan, edge: Edge) -> int | None:
    """How long after a run's last event it can take the edge; None: there is no end. Without the pattern's window.

    A group's bound counts from its first event, which is no later than the run's last: until then nothing counts.
    """
    if edge.source == START or edge.arrow is Arrow.NEXT:  # neighbours: no choice, however long it takes
        return 0
    scopes = [plan.automaton.scopes[number] for number in edge.inside]
    bounds = [scope.bound for scope in scopes if scope.from_previous or scope.index not in edge.opens]
    return min(bounds + ([edge.gap] if edge.gap is not None else []), default=None)


def _span(plan: Plan, way: _Way, since: str, lasts: int | None) -> int | None:
    within = plan.pattern.within
    if within is not None:
        return within
    wait = 0 if since == NEXT else lasts
    return None if way.arrival is None or wait is None else way.arrival + wait


# How many: by the choices on the way to each state.


@dataclass(frozen=True)
class _Way:
    growth: Growth
    arrival: int | None  # at most so long after the first event; None: there is no bound


def _ways(plan: Plan, names: Names) -> dict[int, _Way]:
    """Loops are counted where a closure is entered, so what is left has an end."""
    ordered = not any(e.component for e in plan.automaton.edges)
    found = {START: _Way(Growth(0, ordered=ordered), 0)}
    onward = [e for e in names.edges() if e.loop is None]
    for _ in range(plan.automaton.states):
        before = dict(found)
        for edge in onward:
            if edge.source in found:
                way = _after(plan, found[edge.source], edge)
                found[edge.target] = _larger(way, found.get(edge.target, way))
        if found == before:
            break
    return found


def _larger(one: _Way, other: _Way) -> _Way:
    a, b = one.growth, other.growth
    growth = Growth(
        max(a.degree, b.degree), max(a.factor, b.factor), a.exponential or b.exponential, a.ordered
    )
    known = one.arrival is not None and other.arrival is not None
    return _Way(growth, max(one.arrival or 0, other.arrival or 0) if known else None)


def _after(plan: Plan, before: _Way, edge: Edge) -> _Way:
    growth = before.growth
    degree, factor, exponential = growth.degree, growth.factor, growth.exponential
    times = [before.arrival, edge_bound(plan, edge)]
    if edge.source == START:
        degree += int(plan.pattern.every is None)
    elif edge.arrow is Arrow.ANY and plan.pattern.selection is Selection.STAM and plan.pattern.every is None:
        degree += 1  # a copy waits on before it
    for number in edge.enters:
        spec = plan.automaton.closures[number]
        more, fold, wild = _rounds(plan, spec)
        degree, factor, exponential = degree + more, factor * fold, exponential or wild
        times.append(_rounds_time(plan, spec))
    arrival = None if None in times else sum(t for t in times if t is not None)
    return _Way(Growth(degree, factor, exponential, growth.ordered), arrival)


def _rounds(plan: Plan, spec: ClosureSpec) -> tuple[int, int, bool]:
    """How many runs one becomes in a closure: a copy waits on after each round."""
    if spec.max == 1:
        return 0, 1, False
    if spec.loop is Loop.ANY or plan.emission is Emission.SUBSETS:
        return (0, 1, True) if spec.max is None else (spec.max - 1, spec.max, False)
    return (1, 1, False) if spec.max is None else (0, spec.max, False)


def _rounds_time(plan: Plan, spec: ClosureSpec) -> int | None:
    """How long all rounds may take together."""
    if spec.max == 1:
        return 0
    inside = [e for e in plan.automaton.edges if spec.index in plan.automaton.closures_of[e.source]]
    bounds = [edge_bound(plan, e) for e in inside if spec.index in plan.automaton.closures_of[e.target]]
    if spec.max is None or None in bounds:
        return None
    return (spec.max - 1) * sum(b for b in bounds if b is not None)
