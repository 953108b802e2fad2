"""Forecasts asked for in Python: `.forecast(...)` of a pattern, `with_forecast` of a stream too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cepheid.pattern.builder_arguments import Duration, bad_argument, computed, duration_of
from cepheid.pattern.conditions import Condition, check_name, condition
from cepheid.pattern.forecast_arguments import MODELS, check_number, checked
from cepheid.pattern.model import Forecast, Output, Stream
from cepheid.pattern.resolve import resolve_stream

if TYPE_CHECKING:
    from cepheid.pattern.builder import Part


def with_forecast(
    source: Part | Stream,
    *,
    confidence: float | None = None,
    horizon: Duration | int | None = None,
    events: int | None = None,
    warmup: int | None = None,
    max_depth: int | None = None,
    model: str = "shared",
    learn: bool = True,
    change: float | None = None,
    interval: float | None = None,
    where: Condition | None = None,
    emit: Mapping[str, object] | None = None,
) -> Stream:
    """Forecasts of the open runs of a pattern or stream.

    Args:
        source: The pattern or stream.
        confidence: Only forecasts of at least this probability are told; 0 for every open run.
        horizon: How far the forecast looks ahead: a duration, or a number of events.
        events: The same as a number of events.
        warmup: Events that are learned from before anything is told.
        max_depth: The longest context, in events; 0 for each event as if alone.
        model: "shared" by all keys, or one for each "key".
        learn: Whether the law is learned on from the events at hand.
        change: A run is told of again when its probability has changed by so much.
        interval: How much of the chance lies between `forecast_low` and `forecast_high`.
        where: Which forecasts are told, a condition over their columns.
        emit: The columns of a forecast, by name.

    >>> from cepheid import event, field
    >>> a, b = event("A").as_("a"), event("B").as_("b")
    >>> print(with_forecast(a >> b, horizon="2m", confidence=0.7, emit={"p": field("forecast_probability")}))
    stream matches = A as a -> B as b .forecast(horizon: 2m, confidence: 0.7) .emit(p: forecast_probability)
    """
    from cepheid.pattern.builder import as_stream  # whose parts have `.forecast`

    stream = as_stream(source)
    if model not in MODELS:
        raise bad_argument(f"`model` is shared or key, not {model!r}", 'write model="key"')
    given = {"confidence": confidence, "events": events, "warmup": warmup, "max_depth": max_depth}
    given |= {"change": change, "interval": interval}
    changes: dict[str, Any] = {n: check_number(n, v) for n, v in given.items() if v is not None}
    if isinstance(horizon, int) and not isinstance(horizon, bool):
        changes["events"] = check_number("events", horizon)
    elif horizon is not None:
        changes["horizon"] = duration_of(horizon)
    if where is not None:
        changes["where"] = condition(where)
    if emit is not None:
        changes["outputs"] = tuple(Output(check_name(n), computed(v)) for n, v in emit.items())
    asked = checked(Forecast(per_key=model == "key", learn=learn, **changes))
    return resolve_stream(replace(stream, forecast=asked))
