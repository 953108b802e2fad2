"""Which patterns are chains: single steps one after the other, tied by nothing but the key and a window.

Their runs need not be kept one by one: see `kernel/chain.py`.
"""

from __future__ import annotations

from cepheid.pattern.expr import aliases_in
from cepheid.pattern.model import Arrow, OnLimit, Selection, SkipTo
from cepheid.plan.automaton import START, Edge
from cepheid.plan.plan import Plan

MOST_STEPS = 16  # counts of runs are a matrix of so many rows and columns


def is_chain(plan: Plan) -> bool:
    pattern = plan.pattern
    if pattern.every is not None or pattern.skip.to is not SkipTo.NONE or plan.guards:
        return False
    if plan.counting and (pattern.timeouts or any(aliases_in(e) for e in plan.output_exprs)):
        return False  # matches of one moment that the answer tells apart are counted apart
    if pattern.selection is Selection.STNM:
        return _is_line(plan, Arrow.FIRST)
    # A limit that drops the oldest copies of a start would leave the others: they are no longer all there are.
    return _is_line(plan, Arrow.ANY) and pattern.limits.on_limit is OnLimit.ERROR


def _is_line(plan: Plan, arrow: Arrow) -> bool:
    """Step after step, each by one edge: the state tells how many events were taken."""
    automaton = plan.automaton
    steps = len(automaton.positions)
    if steps > MOST_STEPS or automaton.closures or automaton.absences or automaton.scopes:
        return False
    if any(p.beta for p in automaton.positions) or len(automaton.edges) != steps:
        return False
    edges = sorted(automaton.edges, key=lambda e: e.source)
    if not all(_is_step(e, at, arrow) for at, e in enumerate(edges)):
        return False
    return (
        len(automaton.accepts) == 1 and automaton.accepts[0].state == steps and not automaton.accepts[0].tests
    )


def _is_step(edge: Edge, at: int, arrow: Arrow) -> bool:
    plain = edge.gap is None and not edge.tests and not edge.component and edge.loop is None
    in_line = (edge.source, edge.position, edge.target) == (at, at, at + 1)
    return plain and in_line and (edge.source == START or edge.arrow is arrow)
