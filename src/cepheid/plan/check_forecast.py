"""Which patterns can be forecast, and the columns of their forecasts."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import PatternMistake
from cepheid.pattern.expr import Expr
from cepheid.pattern.forecast_values import FORECAST_VALUES, RUN_COLUMNS
from cepheid.pattern.model import Forecast, Stream
from cepheid.pattern.types import Schema, Type
from cepheid.plan.check_types import Scope, check_condition
from cepheid.plan.plan import Plan
from cepheid.plan.validate import alias_types, key_types, output_type

# What a forecast is scored by.
FIXED_COLUMNS = ("run_id", "time", "event", "forecast_probability", "forecast_until", "forecast_until_event")


def read_by(forecast: Forecast | None) -> Iterable[Expr]:
    """The expressions of a forecast."""
    if forecast is None:
        return ()
    where = [] if forecast.where is None else [forecast.where]
    return [*where, *(o.expr for o in forecast.outputs or ())]


def check_forecast(plan: Plan, schema: Schema) -> None:
    """What cannot be foretold is refused, with the reason."""
    forecast = plan.forecast
    assert forecast is not None
    if forecast.horizon is None and forecast.events is None and plan.pattern.within is None:
        raise PatternMistake(
            "how far ahead is to be looked? The forecast has no horizon, and the pattern no bound",
            code="no_horizon",
            place=forecast.place,
            hint="write .forecast(horizon: 2m), .forecast(horizon: 20) for events, or .within(5m)",
        )
    if any(accept.absences for accept in plan.automaton.accepts):
        raise PatternMistake(
            "a pattern that ends with NOT is completed by time, not by an event: it cannot be forecast",
            code="not_forecast",
            place=forecast.place,
            hint="leave out .forecast; a pending absence says when it becomes certain",
        )
    if plan.counting or plan.trends is not None:
        what = ".trend_aggregate" if plan.trends is not None else "count_matches()"
        raise PatternMistake(
            f"{what} keeps no runs apart, so none of them can be forecast",
            code="not_forecast",
            place=forecast.place,
            hint="leave out .forecast, or put it on a stream of its own",
        )
    _check_columns(plan, schema)


def _check_columns(plan: Plan, schema: Schema) -> None:
    forecast = plan.forecast
    assert forecast is not None
    if forecast.where is not None:
        check_condition(forecast.where, _scope(plan, schema))
    for output in forecast.outputs or ():
        if output.name in FIXED_COLUMNS:
            raise PatternMistake(
                f"every forecast has a column `{output.name}` already",
                code="bad_argument",
                place=output.expr.place or forecast.place,
                hint="give it another name; forecasts begin with " + ", ".join(FIXED_COLUMNS),
            )


def _scope(plan: Plan, schema: Schema) -> Scope:
    keys = {**key_types(plan.pattern, schema), **FORECAST_VALUES}
    return Scope(None, None, alias_types(plan.pattern, schema), keys)


def forecast_columns(stream: Stream, plan: Plan, schema: Schema) -> tuple[tuple[str, Type], ...]:
    """The columns of a stream's forecasts and their types."""
    assert stream.forecast is not None
    every = {**run_columns(plan, schema), **FORECAST_VALUES}
    outputs = stream.forecast.outputs
    if outputs is None:
        return tuple(every.items())
    scope, aliases = _scope(plan, schema), alias_types(stream.pattern, schema)
    fixed = {name: every[name] for name in FIXED_COLUMNS}
    return (*fixed.items(), *((o.name, output_type(o.expr, scope, aliases)) for o in outputs))


def run_columns(plan: Plan, schema: Schema) -> dict[str, Type]:
    return {**RUN_COLUMNS, **key_types(plan.pattern, schema)}
