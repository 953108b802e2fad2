"""How far forecasts look, and how long keys are remembered."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class Reach:
    """How far a forecast looks. `span` is the longest time that matters, None if no time is a bound."""

    span: int | None
    events: int | None


def reach_of(plan: Plan) -> Reach:
    assert plan.forecast is not None
    spans = [s for s in (plan.forecast.horizon, plan.pattern.within) if s is not None]
    return Reach(min(spans, default=None), plan.forecast.events)


def longest_memory(plan: Plan) -> int | None:
    """So long after its last event a key is remembered; None: always, as what it has learned by itself is."""
    assert plan.forecast is not None
    if plan.forecast.per_key:
        return None
    spans = [s for s in (plan.forecast.horizon, plan.pattern.within) if s is not None]
    return max(spans, default=None)
