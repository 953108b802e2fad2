"""Which rows of a key a plan needs at all, as far as the tests of each event alone and the window tell.

Under `stam` a match of a plain sequence is any choice of events that fit: a row in no choice is in no match. Where a
run takes the first event that fits, it is the same: had it come to a match by a later event, it would have come to it
after the first as well, so if the first is in no choice, the run comes to no match, whether it takes it or not. Under
`stnm` only matches use events up, so a run that cannot end in one changes nothing for others: rows at which no run is
open that can end in a match are not needed. Other plans need every row that passes a test.

All that can be in a match with an event at a certain step, an anchor, lies within the window around it, so both can be
decided in each such stretch by itself. If matches have several events that pass the anchor's test, the first so many
of them lie within the window too, and the stretch goes from the window's length before the last of these to the
longest that a run is open after the first.

Under `strict` a run takes every event from its start on. A start is feasible if the rows from it on pass the tests of
the first steps, one after the other, as far as there is one way to go on. A stretch goes from the first feasible start
to the row that passes nothing and ends all runs; it begins with the rows whose runs may be open at that start. In a
stretch the plan's automaton over rows (`neighbours.py`) tells which starts can come to an end at all, and how long a
run of theirs is open. These rows stay, with the bits by which such a run takes them, and so does the row that ends the
last of these runs, as one that passes nothing: whatever was left out between, what follows begins with no run open. A
run of another start comes to no match, so it does not matter whether it begins or when it ends, unless a limit counts
it: where there might be more runs than the limit, all rows of the stretch stay as they are. Outside of stretches there
are never more runs than the chain has steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from cepheid.matching.compiled.failing_tests import cannot_fail
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.neighbours import NO_NEIGHBOURS, neighbours_of
from cepheid.matching.compiled.tables import Table
from cepheid.pattern.model import (
    Arrow,
    Closure,
    Emission,
    Limits,
    Loop,
    Node,
    Selection,
    Sequence,
    SkipTo,
    Step,
    walk_nodes,
)
from cepheid.plan.automaton import START
from cepheid.plan.plan import Plan

ALL_THAT_PASS, IN_A_CHOICE, IN_A_WINDOW, IN_A_ROW = range(4)
_MOST_STEPS = 16  # that are looked for
_MOST_TESTS = 60


class Needed(NamedTuple):
    """`chain` are positions that every match has events at, in this order. numba reads it as it is."""

    how: int
    chain: Table
    within: int  # -1: no window
    span: int  # so long a run is open at most; -1: for ever
    others: int  # the bits of what must be absent
    safe: int  # a key with so many rows reaches no limit
    max_runs: int
    max_matches: int
    cuts: int  # closures, and arrows that fork: a run has a copy for each place one may be cut at
    base: int  # closures in closures, and every combination: each row makes so many of a copy, at most
    ways: Table  # of neighbours: see `neighbours.py`
    accepting: int


def needed_by(plan: Plan) -> Needed:
    how, chain = _chain_of(plan)
    neighbours = neighbours_of(plan) if how == IN_A_ROW else NO_NEIGHBOURS
    within = -1 if plan.pattern.within is None else plan.pattern.within
    bounds = [a.node.within for a in plan.automaton.absences]
    limits = plan.pattern.limits
    cuts, base = _copies(plan)
    return Needed(
        how,
        np.array(chain, np.int64),
        within,
        -1 if within < 0 else within + max((b for b in bounds if b is not None), default=0),
        -1 << len(plan.automaton.positions),
        _safe_length(how, len(chain), limits, cuts, base),
        limits.max_runs,
        limits.max_matches,
        cuts,
        base,
        neighbours.ways,
        neighbours.accepting,
    )


def _chain_of(plan: Plan) -> tuple[int, list[int]]:
    for how, chain in (
        (IN_A_CHOICE, _plain_chain(plan)),
        (IN_A_WINDOW, _mandatory_chain(plan)),
        (IN_A_ROW, _neighbours(plan)),
    ):
        if chain is not None:
            return how, chain
    return ALL_THAT_PASS, []


def _copies(plan: Plan) -> tuple[int, int]:
    """Of one start, where each run takes one way: what its copies keep of closures tells them apart."""
    automaton = plan.automaton
    bodies = [node.body for node in walk_nodes(plan.pattern.root) if isinstance(node, Closure)]
    nested = any(isinstance(node, Closure) for body in bodies for node in walk_nodes(body))
    arrows = [e for e in automaton.edges if e.loop is None and e.source != START]
    forks = {e.position for e in arrows if e.arrow is Arrow.ANY}
    in_groups = forks and not all(isinstance(body, Step) for body in bodies)
    if nested or in_groups or any(c.loop is Loop.ANY for c in automaton.closures):
        return 0, 1 + len(automaton.positions)
    return sum(c.min != c.max for c in automaton.closures) + len(forks), 1


def most_runs(starts: float, rows: float, cuts: int, base: int) -> float:
    """So many runs are open at most of so many starts, with so many rows within the time that a run is open."""
    copies: float = (rows + 1.0) ** cuts * float(base) ** min(rows, 60.0)
    return starts * copies


def _safe_length(how: int, steps: int, limits: Limits, cuts: int, base: int) -> int:
    """Whatever its rows pass: there are no more runs than starts, or ways through all steps but the last."""
    if how == IN_A_WINDOW:
        low, high = 0, limits.max_runs
        with np.errstate(over="ignore"):  # where there is no number for it, it is infinite
            while low < high:
                middle = (low + high + 1) // 2
                rows = np.float64(middle)
                if most_runs(rows, rows, cuts, base) <= limits.max_runs:
                    low = middle
                else:
                    high = middle - 1
        return low
    if how != IN_A_CHOICE or steps == 1:
        return NEVER
    length = int(limits.max_runs ** (1 / (steps - 1))) + 1
    while length and not (
        _all_ways(length, steps) <= limits.max_runs and length ** (steps - 2) <= limits.max_matches
    ):
        length -= 1
    return length


def _all_ways(rows: int, steps: int) -> int:
    return sum(rows**i for i in range(1, steps))


def _plain_chain(plan: Plan) -> list[int] | None:
    """The positions of a plain sequence under `stam`; None if the plan is anything else."""
    pattern, automaton = plan.pattern, plan.automaton
    plain = (
        pattern.selection is Selection.STAM
        and pattern.skip.to is SkipTo.NONE
        and plan.emission is Emission.EACH
        and not automaton.closures
        and len(automaton.accepts) == 1
    )
    if not plain or not _can_be_pruned(plan):
        return None
    chain: list[int] = []
    state = START
    while automaton.out[state]:
        if len(automaton.out[state]) > 1 or len(chain) > len(automaton.edges):
            return None
        (edge,) = automaton.out[state]
        if edge.arrow is Arrow.NEXT or edge.component:
            return None
        chain.append(edge.position)
        state = edge.target
    whole = automaton.accepts[0].state == state and len(chain) == len(automaton.positions)
    return chain if whole else None


def _mandatory_chain(plan: Plan) -> list[int] | None:
    """Steps that every match of a plan under `stnm` has; None if its runs are bound by no window."""
    pattern = plan.pattern
    fits = (
        pattern.selection is Selection.STNM
        and pattern.within is not None
        and plan.emission is not Emission.SUBSETS
    )
    if not fits or not _can_be_pruned(plan):
        return None
    chain = list(islice(_mandatory(plan), _MOST_STEPS))
    starts = {edge.position for edge in plan.automaton.out[START]}
    return chain if chain and starts == {chain[0]} else None


def _neighbours(plan: Plan) -> list[int] | None:
    """The first steps of a plan under `strict`, as far as there is one way to go on; None: it is not so plain."""
    automaton = plan.automaton
    plain = (
        plan.pattern.selection is Selection.STRICT
        and all(e.arrow is Arrow.NEXT and not e.component for e in automaton.edges if e.source != START)
        and not (automaton.absences or plan.guards)
        and all(c.until is None for c in automaton.closures)
    )
    if not plain or not _can_be_pruned(plan):
        return None
    chain = list(islice(_one_way(plan), _MOST_STEPS))
    starts = {edge.position for edge in automaton.out[START]}
    fits = bool(chain) and starts == {chain[0]} and plan.pattern.limits.max_runs >= len(chain)
    return chain if fits else None


def _one_way(plan: Plan) -> Iterator[int]:
    """Up to where a closure may be left, or something begins that is more than a step."""
    for node in _nodes(plan):
        step, times = _step(node)
        if step is None:
            return
        yield from _position(plan, step) * times
        if isinstance(node, Closure) and node.max != node.min:
            return


def _mandatory(plan: Plan) -> Iterator[int]:
    """What is not a plain step is passed over."""
    for node in _nodes(plan):
        step, times = _step(node)
        if step is not None:
            yield from _position(plan, step) * times


def _nodes(plan: Plan) -> list[Node]:
    root = plan.pattern.root
    return [link.node for link in root.links] if isinstance(root, Sequence) else [root]


def _position(plan: Plan, step: Step) -> list[int]:
    return [p.index for p in plan.automaton.positions if p.step == step][:1]


def _step(node: Node) -> tuple[Step | None, int]:
    if isinstance(node, Closure):
        return (node.body, node.min) if isinstance(node.body, Step) else (None, 0)
    return (node, 1) if isinstance(node, Step) else (None, 0)


def _can_be_pruned(plan: Plan) -> bool:
    pattern, automaton = plan.pattern, plan.automaton
    tests = len(automaton.positions) + len(automaton.absences) + len(plan.guards)
    return (
        pattern.every is None
        and not (pattern.timeouts or pattern.eager or plan.counting)
        and not any(a.node.next for a in automaton.absences)
        and not any(edge.absences for edge in automaton.out[START])
        and tests < _MOST_TESTS
        and cannot_fail(plan)
    )
