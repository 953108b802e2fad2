"""Which patterns `count_matches()` can count exactly without listing."""

from __future__ import annotations

from cepheid.errors import PatternMistake
from cepheid.pattern.expr import Call, walk
from cepheid.pattern.model import Emission, Output, Selection, SkipTo
from cepheid.plan.plan import Plan


def counts_matches(outputs: tuple[Output, ...] | None) -> bool:
    """Does the answer ask for `count_matches()`?"""
    return any(isinstance(n, Call) and n.name == "count_matches" for o in outputs or () for n in walk(o.expr))


def check_countable(plan: Plan) -> None:
    """Where matches depend on each other, counting needs the list: refused, with the reason."""
    reason = _reason(plan)
    if reason is not None:
        raise PatternMistake(
            f"count_matches() cannot count here: {reason}",
            code="not_countable",
            place=plan.pattern.place,
            hint="use .each() or .subsets() with .stam() or .strict(), or leave count_matches() out",
        )


def _reason(plan: Plan) -> str | None:
    pattern = plan.pattern
    if pattern.every is not None:
        return "`every` keeps one run, so there is one match at a time"
    if pattern.selection is Selection.STNM:
        return "under stnm a match uses its events up"
    if plan.emission is Emission.LONGEST:
        return "longest gives out only the maximal matches"
    if pattern.skip.to is not SkipTo.NONE or pattern.eager:
        return "skip and eager rows depend on which matches there are"
    ways = [(e.source, e.position, e.target) for e in plan.automaton.edges]
    if len(ways) != len(set(ways)):
        return "nested closures take the same events in several ways"
    return None
