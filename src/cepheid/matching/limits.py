"""What is said where a pattern has more runs, or gives more matches, than it may."""

from __future__ import annotations

from cepheid.errors import LimitReached
from cepheid.plan.plan import Plan


def too_many_runs(plan: Plan) -> LimitReached:
    return LimitReached(
        f"`{plan.name}` has more than max_runs = {plan.pattern.limits.max_runs} open runs in one partition",
        code="max_runs",
        hint="use a shorter within, .stnm(), partition by, .limit(max_runs: ...) or on_limit: evict_oldest",
    )


def too_many_matches(plan: Plan) -> LimitReached:
    most = plan.pattern.limits.max_matches
    return LimitReached(
        f"one run of `{plan.name}` gives more than max_matches = {most} matches at once",
        code="max_matches",
        hint="use .longest(), count_matches(), a shorter window, or .limit(max_matches: ...)",
    )
