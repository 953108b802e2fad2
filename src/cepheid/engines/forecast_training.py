"""Models of forecasts trained on events that are past."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cepheid.engines.forecast_models import ForecastModels, model_entry
from cepheid.engines.local.run import Job
from cepheid.engines.options import make_options
from cepheid.engines.program import declarations_of
from cepheid.engines.spark.inputs import is_spark
from cepheid.errors import InputMistake
from cepheid.forecast.matcher import ForecastMatcher
from cepheid.pattern.model import Declarations


def train_forecast(query: object, events: Any, **options: Any) -> ForecastModels:
    """What the forecasts of a query can learn from events that are past.

    Args:
        query: A query whose streams have `.forecast`.
        events: The past, as in `run`.
        options: All that `run` takes.

    >>> history = [{"type": t, "time": i} for i, t in enumerate("ABAB")]
    >>> train_forecast("stream S = A -> B .forecast(horizon: 5)", history).events
    {'S': 4}
    """
    declarations = _learning(declarations_of(query, "query"))
    if is_spark(events):
        from cepheid.engines.spark.forecast_training import train_on_spark

        return ForecastModels(train_on_spark(declarations, events, make_options(**options)))
    job = Job(declarations, events, make_options(**options), engine="reference")
    for _ in job.steps():
        pass
    found = ForecastModels()
    for planned in job.program:
        matcher = job.session.network.matchers[planned.name]
        if isinstance(matcher, ForecastMatcher):
            found[planned.name] = model_entry(planned, matcher.model().learned.as_data())
    return found


def _learning(declarations: Declarations) -> Declarations:
    """One model for all keys, that says nothing."""
    if not any(s.forecast is not None for s in declarations.streams):
        raise InputMistake(
            "no stream of the query has `.forecast`", code="no_forecast", hint="add .forecast(horizon: ...)"
        )
    streams = tuple(
        s
        if s.forecast is None
        else replace(s, forecast=replace(s.forecast, per_key=False, learn=True, warmup=10**9, where=None))
        for s in declarations.streams
    )
    return replace(declarations, streams=streams)
