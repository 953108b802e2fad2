"""The runs that got furthest, and what kept each of them from its next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.explain.causes import Cause
from cepheid.explain.examining import missing
from cepheid.explain.failing import Rules, failures, ruled_out, too_few
from cepheid.explain.happenings import Happening, Killed, Trace, TracedRun
from cepheid.matching.keys import lookup_key
from cepheid.matching.run import Taken
from cepheid.pattern.event import Event
from cepheid.plan.automaton import Automaton

_LOOKED_AT = 2_000  # events after the run's last that are held against it
_ATTEMPTS = 3


@dataclass(frozen=True)
class Attempt:
    """A run that did not become a match: what it held, what it waited for, why that did not come."""

    key: tuple[Any, ...]
    held: tuple[tuple[str, Event], ...]
    waiting_for: tuple[str, ...]
    left: int  # steps it still needed
    end: Happening | None  # None: still open at the end
    causes: tuple[Cause, ...]


def furthest(
    rules: Rules,
    trace: Trace,
    timelines: dict[Any, list[Taken]],
    key_of: Callable[[Event], tuple[Any, ...]],
) -> tuple[Attempt, ...]:
    """Of every start its best run; those that needed the fewest steps more come first."""
    left = steps_left(rules.plan.automaton)
    given = {frozenset(id(e) for e in m.events) for m in trace.matches}
    best: dict[int, TracedRun] = {}
    for run in trace.runs:
        start = id(run.held[0][1])
        known = best.get(start)
        if frozenset(id(e) for _, e in run.held) in given or run.moved:
            continue
        if known is None or _rank(run, left) < _rank(known, left):
            best[start] = run
    ordered = sorted(best.values(), key=lambda r: _rank(r, left))[:_ATTEMPTS]
    return tuple(_attempt(rules, run, timelines, key_of, left) for run in ordered)


def _rank(run: TracedRun, left: list[int]) -> tuple[int, int, int]:
    return left[run.state], -len(run.held), run.number


def steps_left(automaton: Automaton) -> list[int]:
    """For each state, how many events a run in it needs at least."""
    far = automaton.states + 1
    left = [0 if automaton.accepting[s] else far for s in range(automaton.states)]
    changed = True
    while changed:
        changed = False
        for edge in automaton.edges:
            if left[edge.target] + 1 < left[edge.source]:
                left[edge.source], changed = left[edge.target] + 1, True
    return left


def _attempt(
    rules: Rules,
    run: TracedRun,
    timelines: dict[Any, list[Taken]],
    key_of: Callable[[Event], tuple[Any, ...]],
    left: list[int],
) -> Attempt:
    timeline = timelines[lookup_key(key_of(run.held[0][1]), rules.plan.inferred_key)]
    edges = [e for e in rules.plan.automaton.out[run.state] if e.loop is None]
    steps = tuple(dict.fromkeys(rules.names.positions[e.position] for e in edges))
    causes = tuple(_causes(rules, run, timeline))
    return Attempt(run.key, run.held, steps, left[run.state], run.end, causes)


def _causes(rules: Rules, traced: TracedRun, timeline: Sequence[Taken]) -> list[Cause]:
    """What killed it, or the event that came nearest to its next step."""
    run, moves = traced.run, rules.moves(traced.key)
    at = {id(t.event): t.index for t in timeline}
    last = at[id(run.last.event)]
    later = [t for t in timeline if t.index > last][:_LOOKED_AT]
    automaton = rules.plan.automaton
    edges = automaton.out[run.state]
    if isinstance(traced.end, Killed) and traced.end.kind in ("guard", "absence"):
        ways = [(e, e.absences) for e in edges] + [(None, a.absences) for a in automaton.accepting[run.state]]
        for taken in later:
            for edge, absences in ways:
                if found := list(ruled_out(rules, moves, run, edge, absences, taken)):
                    return found[:1]
    nearest: list[Cause] = []
    for taken in later:
        for edge in edges:
            if automaton.positions[edge.position].step.type != taken.event.type:
                continue
            found = failures(rules, moves, run, edge, taken)
            if found and (not nearest or len(found) < len(nearest)):
                nearest = found
    few = [c for a in automaton.accepting[run.state] for c in too_few(rules, run, a.leaves, None, None)]
    return nearest or few or [missing(rules, run)]
