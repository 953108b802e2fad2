"""Which matches the kernel counts without listing them: of runs of which nothing is looked at but how far they are."""

from __future__ import annotations

from cepheid.matching.compiled.failing_tests import tests_across
from cepheid.pattern.expr import aliases_in
from cepheid.plan.plan import Plan


def why_not_counted(plan: Plan) -> str | None:
    """Of a plan that only counts its matches."""
    if plan.pattern.timeouts:
        return "timeouts tell how far each got"
    if any(aliases_in(expr) for expr in plan.output_exprs):
        return "its answer tells them apart"
    if any(aliases_in(test) for test in tests_across(plan)):
        return "a test looks at other events"
    if any(guard.guard.start or guard.guard.end for guard in plan.guards):
        return "a guard begins or ends with a step"
    return None
