"""`.forecast(confidence: 0.7, horizon: 2m, ...)`: what its arguments mean, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol

from cepheid.errors import PatternMistake, Place
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import Expr, Field, Literal
from cepheid.pattern.forecast_arguments import MODELS, check_number, checked
from cepheid.pattern.model import Forecast, Stream


class _Operator(Protocol):
    place: Place | None

    def named(self, allowed: tuple[str, ...]) -> dict[str, Expr]: ...

    def mistake(self, message: str, hint: str, place: Place | None = None) -> PatternMistake: ...


def read_forecast(stream: Stream, operator: Any) -> Stream:
    """The stream with forecasts of its open runs."""
    if stream.forecast is not None:
        raise operator.mistake("the stream has two `.forecast`", "keep one of them")
    changes: dict[str, Any] = {}
    for name, value in operator.named(tuple(_READERS)).items():
        changes.update(_READERS[name](name, value, operator))
    forecast = replace(Forecast(place=operator.place), **changes)
    return replace(stream, forecast=checked(forecast))


def _horizon(name: str, value: Expr, operator: _Operator) -> dict[str, Any]:
    """A duration, or a number of events."""
    if isinstance(value, Literal) and isinstance(value.value, (str, timedelta)):
        return {"horizon": duration(value.value, value.place)}
    if isinstance(value, Literal) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return {"events": check_number("events", value.value, value.place)}
    raise operator.mistake(
        "`horizon` is a duration or a number of events", "write horizon: 2m, or horizon: 20", value.place
    )


def _number(name: str, value: Expr, operator: _Operator) -> dict[str, Any]:
    found = value.value if isinstance(value, Literal) else None
    return {name: check_number(name, found, value.place)}


def _model(name: str, value: Expr, operator: _Operator) -> dict[str, Any]:
    word = value.path[0] if isinstance(value, Field) else getattr(value, "value", None)
    if word not in MODELS:
        raise operator.mistake("`model` is `shared` or `key`", "write model: key", value.place)
    return {"per_key": word == "key"}


def _learn(name: str, value: Expr, operator: _Operator) -> dict[str, Any]:
    if not isinstance(value, Literal) or not isinstance(value.value, bool):
        raise operator.mistake("`learn` is true or false", "write learn: false", value.place)
    return {"learn": value.value}


_READERS: dict[str, Callable[[str, Expr, _Operator], dict[str, Any]]] = {
    "confidence": _number,
    "horizon": _horizon,
    "events": _number,
    "warmup": _number,
    "max_depth": _number,
    "model": _model,
    "learn": _learn,
    "change": _number,
    "interval": _number,
}
