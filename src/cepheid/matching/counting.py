"""`count_matches()`: how many matches there are, without listing them.

Runs that nothing later can tell apart are kept as one run with a weight, so a closure of n events under `subsets`
is one run of weight 2^n - 1 as long as no test looks into it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from cepheid.matching.partition import Partition
from cepheid.matching.run import Run
from cepheid.pattern.expr import Expr, Field, Length, Opaque, aliases_in, walk
from cepheid.pattern.model import Arrow
from cepheid.plan.automaton import Automaton, Edge

_WHOLE, _LAST, _LENGTH = "whole", "last", "length"


class CountingPartition(Partition):
    """Keeps one run for all that have the same future."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.uses = [self._uses_from(state) for state in range(self.plan.automaton.states)]
        self.final_uses = _merged([_uses(o) for o in self.plan.output_exprs])
        self.counted = counted_closures(self.plan.automaton)
        self.marks_matter = marks_matter(self.plan.automaton)

    def _uses_from(self, state: int) -> dict[str, str]:
        """What of each name is still looked at by tests after this state, or by the answer."""
        automaton = self.plan.automaton
        exprs: list[Expr] = list(self.plan.output_exprs)
        states = {state}
        for edge in automaton.reachable(state):
            states.add(edge.target)
            exprs += [*automaton.positions[edge.position].beta, *edge.tests]
            exprs += [b for a in edge.absences for b in automaton.absences[a].beta]
        for accept in automaton.accepts:
            if accept.state in states:
                exprs += [*accept.tests, *(b for a in accept.absences for b in automaton.absences[a].beta)]
        exprs += [b for g in self.plan.guards for b in g.beta]
        closures = {c for s in states for c in automaton.closures_of[s]}
        exprs += [until for c in closures if (until := automaton.closures[c].until) is not None]
        named = {n for g in self.plan.guards for n in (g.guard.start, g.guard.end) if n is not None}
        bound = dict.fromkeys(named, _LENGTH)
        return _merged([bound, *(_uses(e) for e in exprs)])

    def _advance(self, seen: Any, taken: Any) -> list[Run]:
        complete = super()._advance(seen, taken)
        self.runs = self._joined(self.runs)
        return complete

    def _joined(self, runs: list[Run]) -> list[Run]:
        joined: dict[Hashable, Run] = {}
        for run in runs:
            future = self._future(run)
            known = joined.get(future)
            joined[future] = run if known is None else replace(known, weight=known.weight + run.weight)
        return list(joined.values())

    def _future(self, run: Run) -> Hashable:
        """Two runs with the same future are one."""
        marks = tuple((c, t.index) for c, t in sorted(run.marks.items())) if self.marks_matter else ()
        return (
            run.state,
            run.start,
            run.start_time,
            tuple(run.counts.get(c, 0) for c in self.counted),
            run.closed,
            run.blocked,
            tuple(sorted(run.scopes.items())),
            marks,
            run.late,
            self._seen_of(run, self.uses[run.state]),
        )

    def _seen_of(self, run: Run, uses: dict[str, str]) -> Hashable:
        """What can still be seen of the run's events."""
        indexes: dict[str, list[int]] = {}
        for t in run.taken:
            alias = self.plan.automaton.positions[t.position].step.alias
            if alias in uses and alias is not None:
                indexes.setdefault(alias, []).append(t.index)
        return tuple((a, _part(uses[a], indexes[a])) for a in sorted(indexes))

    def _chosen(self, complete: list[Run]) -> list[Run]:
        """One row for all matches of a moment that the answer cannot tell apart."""
        groups: dict[Hashable, Run] = {}
        for run in complete:
            visible = self._seen_of(run, self.final_uses)
            known = groups.get(visible)
            groups[visible] = run if known is None else replace(known, weight=known.weight + run.weight)
        return list(groups.values())


def _part(use: str, indexes: list[int]) -> Hashable:
    if use == _LENGTH:
        return len(indexes)
    return indexes[-1] if use == _LAST else tuple(indexes)


def _uses(expr: Expr) -> dict[str, str]:
    """How an expression looks at each name: at its length, its last event, or all of it."""
    found: list[dict[str, str]] = []
    for node in walk(expr):
        if isinstance(node, Field) and node.alias is not None and node.path:
            found.append({node.alias: _LAST})
        elif isinstance(node, Length):
            found.append({node.alias: _LENGTH})
        elif isinstance(node, Opaque) or getattr(node, "alias", None) is not None:
            found.append(dict.fromkeys(aliases_in(node), _WHOLE))
    return _merged(found)


def _merged(uses: list[dict[str, str]]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for use in uses:
        for name, how in use.items():
            merged[name] = how if merged.get(name, how) == how else _WHOLE
    return merged


def counted_closures(automaton: Automaton) -> list[int]:
    """Those whose number of rounds decides how they go on."""
    return [c.index for c in automaton.closures if c.min > 1 or c.max is not None]


def marks_matter(automaton: Automaton) -> bool:
    """Does it matter later which event was the last one of a part?"""
    return (
        any(_looks_back(e) for e in automaton.edges)
        or any(s.from_previous for s in automaton.scopes)
        or any(a.node.within is not None or a.node.next for a in automaton.absences)
        or any(
            p.repeated and p.step.alias in {n for b in p.beta for n in aliases_in(b)}
            for p in automaton.positions
        )
    )


def _looks_back(edge: Edge) -> bool:
    return edge.arrow is Arrow.NEXT or edge.gap is not None
