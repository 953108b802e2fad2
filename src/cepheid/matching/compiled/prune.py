"""Rows that can be in no match are taken out before the kernel runs: for plain sequences under `stam`.

There a match is any choice of events that fit, so what is in no choice is in no match. A row is kept if some way
through the pattern leads over it, by the tests of each event alone and the window. Looking ahead once and back once
finds out, and costs a small part of what it costs to open a run that leads nowhere. What must be absent is kept where
a run can be open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.tables import Table
from cepheid.pattern.expr import Binary, Expr, Field, In, IsNull, Literal, Unary, walk
from cepheid.pattern.model import Arrow, Emission, Selection, SkipTo
from cepheid.plan.automaton import START
from cepheid.plan.plan import Plan

_CANNOT_FAIL = ("==", "!=", "<", "<=", ">", ">=", "and", "or")


def chain_of(plan: Plan) -> Table | None:
    """The positions of a plain sequence, in their order; None if the plan is anything else."""
    pattern, automaton = plan.pattern, plan.automaton
    plain = (
        pattern.selection is Selection.STAM
        and pattern.every is None
        and pattern.skip.to is SkipTo.NONE
        and plan.emission is Emission.EACH
        and not (pattern.timeouts or pattern.eager or automaton.closures)
        and not any(a.node.next for a in automaton.absences)
        and not any(edge.absences for edge in automaton.out[START])
        and len(automaton.accepts) == 1
        and len(automaton.positions) + len(automaton.absences) + len(plan.guards) < 60
    )
    if not plain or not all(map(cannot_fail, tests_across(plan))):
        return None
    chain: list[int] = []
    state = START
    while automaton.out[state]:
        if len(automaton.out[state]) > 1 or len(chain) > len(automaton.edges):
            return None
        (edge,) = automaton.out[state]
        if edge.arrow is not Arrow.ANY or edge.component:
            return None
        chain.append(edge.position)
        state = edge.target
    whole = automaton.accepts[0].state == state and len(chain) == len(automaton.positions)
    return np.array(chain, np.int64) if whole else None


def tests_across(plan: Plan) -> list[Expr]:
    """All tests that look at several events."""
    automaton = plan.automaton
    found = [test for p in automaton.positions for test in p.beta]
    found += [test for a in automaton.absences for test in a.beta]
    found += [test for g in plan.guards for test in g.beta]
    found += [c.until for c in automaton.closures if c.until is not None]
    found += [test for e in automaton.edges for test in e.tests]
    return found + [test for a in automaton.accepts for test in a.tests]


def cannot_fail(test: Expr) -> bool:
    """An error that a test would report must not be lost with a row."""
    return all(_is_safe(node) for node in walk(test))


def _is_safe(node: Expr) -> bool:
    if isinstance(node, Binary):
        elapsed = node.op == "-" and isinstance(node.left, Field) and isinstance(node.right, Field)
        return node.op in _CANNOT_FAIL or elapsed
    return isinstance(node, (Field, Literal, In, IsNull)) or (isinstance(node, Unary) and node.op == "not")


def prune(plan: Plan, chain: Table, times: Table, passed: Table, offsets: Table) -> tuple[Table, Table]:
    """The bits that can be in a match, and every row's rank, which counts also those that cannot."""
    within = -1 if plan.pattern.within is None else plan.pattern.within
    bounds = [a.node.within for a in plan.automaton.absences]
    span = -1 if within < 0 else within + max((b for b in bounds if b is not None), default=0)
    limits = plan.pattern.limits
    others = -1 << len(plan.automaton.positions)  # the bits of absences and guards
    return _pruned(  # type: ignore[no-any-return]
        chain, within, span, others, limits.max_runs, limits.max_matches, times, passed, offsets
    )


def _made(cache: bool) -> Any:
    @njit(cache=cache, nogil=True)
    def pruned(
        chain: Any,
        within: int,
        span: int,
        others: int,
        max_runs: int,
        max_matches: int,
        times: Any,
        passed: Any,
        offsets: Any,
    ) -> Any:
        steps = len(chain)
        kept = passed.copy()
        ranks = np.zeros(len(passed), np.int64)
        ends = np.empty(
            steps, np.int64
        )  # of the ways that begin with a step at a later row: the earliest end
        starts = np.empty(
            steps, np.int64
        )  # of the ways that come to a step at an earlier row: the latest start
        counts = np.empty(steps, np.int64)
        for key in range(len(offsets) - 1):
            first, last = offsets[key], offsets[key + 1]
            rank = -1
            counts[:] = 0
            for row in range(first, last):
                if row == first or times[row] != times[row - 1]:
                    rank = -1
                if passed[row] != 0:
                    rank += 1
                ranks[row] = max(rank, 0)
                for i in range(steps):
                    counts[i] += (passed[row] >> chain[i]) & 1
            # Where a limit might be reached all rows stay: it has to be reached as ever.
            runs, ways, at_once = 0.0, 1.0, 1.0
            for i in range(steps - 1):
                ways *= counts[i]
                runs += ways
                at_once *= counts[i] if i > 0 else 1  # of one start, by one last event
            if runs > max_runs or at_once > max_matches:
                continue
            end_of = np.empty((last - first, steps), np.int64)
            ends[:] = NEVER
            for row in range(last - 1, first - 1, -1):
                for i in range(steps):  # a row is never two steps: the next step's end is of later rows still
                    end = NEVER
                    if (passed[row] >> chain[i]) & 1:
                        end = times[row] if i == steps - 1 else ends[i + 1]
                    end_of[row - first, i] = end
                    ends[i] = min(ends[i], end)
            starts[:] = -NEVER
            until = -NEVER  # no run is open after it
            for row in range(first, last):
                bits = passed[row] & others if times[row] <= until else np.int64(0)
                for i in range(steps - 1, -1, -1):
                    end = end_of[row - first, i]
                    if end == NEVER:
                        continue
                    start = times[row] if i == 0 else starts[i - 1]
                    if start == -NEVER or (within >= 0 and end - start > within):
                        continue
                    bits |= np.int64(1) << chain[i]
                    starts[i] = max(starts[i], start)
                    if i == 0:
                        until = times[row] + span if span >= 0 else NEVER
                kept[row] = bits
        return kept, ranks

    return pruned


try:
    _pruned = _made(cache=True)
except RuntimeError:  # there is no folder to keep it in
    _pruned = _made(cache=False)
