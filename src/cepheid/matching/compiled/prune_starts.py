"""Rows at which no run that can end in a match is open are taken out before the kernel runs: for `stnm` in a window.

There only matches use events up, so a run that cannot end in one changes nothing for the others. A start can lead to
a match only if the steps after it have events in their order within the window. Looking back once finds these starts;
the rows in the windows of such starts are kept as they are, the others are not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.prune import cannot_fail, tests_across
from cepheid.matching.compiled.tables import Table
from cepheid.pattern.model import Closure, Emission, Link, Node, Selection, Sequence, Step
from cepheid.plan.automaton import START
from cepheid.plan.plan import Plan

_MOST = 16  # steps that are looked for


@dataclass(frozen=True)
class Needed:
    """What a match needs at least: events at these positions, in this order, within the window."""

    chain: Table
    within: int
    span: int  # so long a run is open at most
    max_runs: int


def needed_of(plan: Plan) -> Needed | None:
    """None: the plan is of another kind, or its runs are bound by no window."""
    pattern, automaton = plan.pattern, plan.automaton
    starts = automaton.out[START]
    fits = (
        pattern.selection is Selection.STNM
        and pattern.every is None
        and pattern.within is not None
        and plan.emission is not Emission.SUBSETS
        and not (plan.counting or pattern.timeouts or pattern.eager)
        and not any(edge.absences for edge in starts)
        and len(automaton.positions) < 60
    )
    if not fits or not all(map(cannot_fail, tests_across(plan))):
        return None
    chain = list(_mandatory(plan))[:_MOST]
    bounds = [a.node.within for a in automaton.absences]
    if not chain or {edge.position for edge in starts} != {chain[0]} or None in bounds:
        return None
    within = pattern.within or 0
    span = within + max((b for b in bounds if b is not None), default=0)
    return Needed(np.array(chain, np.int64), within, span, pattern.limits.max_runs)


def _mandatory(plan: Plan) -> Iterator[int]:
    """The positions every match has events at, in their order; what is not a plain step is passed over."""
    root = plan.pattern.root
    links = root.links if isinstance(root, Sequence) else (Link(root),)
    for link in links:
        step, times = _step(link.node)
        if step is not None:
            numbers = [p.index for p in plan.automaton.positions if p.step == step]
            yield from numbers[:1] * times


def _step(node: Node) -> tuple[Step | None, int]:
    if isinstance(node, Closure):
        return (node.body, node.min) if isinstance(node.body, Step) else (None, 0)
    return (node, 1) if isinstance(node, Step) else (None, 0)


def prune_starts(
    needed: Needed, times: Table, passed: Table, offsets: Table
) -> tuple[npt.NDArray[np.bool_], Table]:
    """The rows that are needed, and every row's rank, which counts also those that are not."""
    found = _pruned(needed.chain, needed.within, needed.span, needed.max_runs, times, passed, offsets)
    return found  # type: ignore[no-any-return]


def _made(cache: bool) -> Any:
    @njit(cache=cache, nogil=True)
    def pruned(
        chain: Any, within: int, span: int, max_runs: int, times: Any, passed: Any, offsets: Any
    ) -> Any:
        steps = len(chain)
        kept = np.zeros(len(passed), np.bool_)
        ranks = np.zeros(len(passed), np.int64)
        ends = np.empty(steps, np.int64)  # the earliest end of the ways that begin with a step at a later row
        for key in range(len(offsets) - 1):
            first, last = offsets[key], offsets[key + 1]
            rank, starts = -1, 0
            for row in range(first, last):
                if row == first or times[row] != times[row - 1]:
                    rank = -1
                if passed[row] != 0:
                    rank += 1
                ranks[row] = max(rank, 0)
                starts += (passed[row] >> chain[0]) & 1
            ends[:] = NEVER
            for row in range(last - 1, first - 1, -1):
                for i in range(steps):  # a row is never two steps: the next step's end is of later rows still
                    if (passed[row] >> chain[i]) & 1:
                        end = times[row] if i == steps - 1 else ends[i + 1]
                        if i == 0 and end != NEVER and end - times[row] <= within:
                            kept[row] = True
                        ends[i] = min(ends[i], end)
            until = -NEVER
            for row in range(first, last):
                if kept[row]:
                    until = max(until, times[row] + span)
                # Where the limit of runs might be reached all rows stay: it has to be reached as ever.
                kept[row] = times[row] <= until or starts > max_runs
        return kept, ranks

    return pruned


try:
    _pruned = _made(cache=True)
except RuntimeError:  # there is no folder to keep it in
    _pruned = _made(cache=False)
