"""What in a plan may surprise later: state without end, combinations without end, tests nobody can read."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.explain.state_bounds import edge_bound, state_bounds
from cepheid.explain.words import Names
from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Expr, Opaque, walk
from cepheid.pattern.model import Emission, Loop, Selection
from cepheid.plan.linear_trends import linear_trends
from cepheid.plan.plan import Plan

_MANY = 10  # a closure that may take more than this many is worth a word
_WIDE = 3  # free choices: two are what most patterns have


def warnings(plan: Plan, names: Names) -> Iterator[str]:
    yield from _unbounded_state(plan, names)
    if not plan.key and len(plan.automaton.positions) + len(plan.guards) + len(plan.automaton.absences) > 1:
        yield "not partitioned: events of all users, devices, ... meet in one match; add .partition_by(...)"
    yield from _explosion(plan, names)
    yield from _untied(plan, names)
    yield from _idle_bounds(plan)
    yield from _opaque(plan, names)


def waits_for_ever(plan: Plan) -> bool:
    """Can a run wait for its next event without an end in time?"""
    if plan.pattern.within is not None:
        return False
    return any(edge_bound(plan, edge) is None for edge in plan.automaton.edges)


def _unbounded_state(plan: Plan, names: Names) -> Iterator[str]:
    if not waits_for_ever(plan) or linear_trends(plan) is not None:
        return
    grows = [c for c in plan.automaton.closures if c.max is None]
    if grows and (plan.pattern.selection is Selection.STAM or plan.emission is Emission.SUBSETS):
        listed = ", ".join(names.closures[c.index] for c in grows)
        yield f"no window, and {listed} goes on for ever: state grows without bound: add .within(...)"
    elif plan.pattern.every is not None:
        return  # one run a partition, of a known length
    elif plan.pattern.selection is Selection.STAM:
        yield "no window: every run waits on for ever: state grows without bound: add .within(...)"
    else:
        yield "no window: a run that never completes is kept for ever: add .within(...)"


def _explosion(plan: Plan, names: Names) -> Iterator[str]:
    for spec in plan.automaton.closures if plan.trends is None else ():
        if spec.loop is Loop.ANY and (spec.max is None or spec.max > _MANY):
            name = names.closures[spec.index]
            yield (
                f"every combination of {name}: n events give up to 2^n - 1 matches; "
                f"bound it, as in {{1,5}}, shorten the window or use .longest()"
            )


def _untied(plan: Plan, names: Names) -> Iterator[str]:
    """Steps that nothing ties to each other but the partition: every choice of their events is a run."""
    wide = [b for b in state_bounds(plan, names) if b.growth.degree >= _WIDE and not b.growth.exponential]
    closures = any(spec.max != 1 for spec in plan.automaton.closures)  # these have a word of their own
    if not wide or closures or any(position.beta for position in plan.automaton.positions):
        return
    bound = max(wide, key=lambda b: b.growth.degree)
    yield (
        f"no condition ties the steps up to {bound.step} together: n events give up to {bound.growth} runs; "
        f"compare their fields, or use .stnm() if the first event that fits is enough"
    )


def _idle_bounds(plan: Plan) -> Iterator[str]:
    """Bounds of steps that the window of the whole pattern makes useless."""
    within = plan.pattern.within
    if within is None:
        return
    bounds = [scope.bound for scope in plan.automaton.scopes]
    bounds += [edge.gap for edge in plan.automaton.edges if edge.gap is not None]
    for bound in dict.fromkeys(b for b in bounds if b >= within):
        yield (
            f"the bound of {duration_text(bound)} inside the pattern never counts: "
            f"the whole pattern has {duration_text(within)}"
        )


def _opaque(plan: Plan, names: Names) -> Iterator[str]:
    automaton = plan.automaton
    for position, name in zip(automaton.positions, names.positions, strict=True):
        yield from _unreadable((*position.alpha, *position.beta), name)
    for absence in automaton.absences:
        yield from _unreadable((*absence.alpha, *absence.beta), f"NOT {absence.node.step.type}")
    for guard in plan.guards:
        yield from _unreadable((*guard.alpha, *guard.beta), f"unless {guard.guard.step.type}")
    if plan.pattern.where is not None:
        yield from _unreadable((plan.pattern.where,), "the whole pattern")


def _unreadable(tests: tuple[Expr, ...], where: str) -> Iterator[str]:
    functions = [n.name for test in tests for n in walk(test) if isinstance(n, Opaque)]
    for function in dict.fromkeys(functions):
        yield (
            f"{where} is tested by the Python function {function}, which no planner can read: "
            f"it is never decided early and runs slowly; write it as an expression"
        )
