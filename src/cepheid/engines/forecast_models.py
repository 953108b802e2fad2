"""Models of forecasts: saved to a file, given to a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cepheid.engines.program import PlannedStream, Program
from cepheid.errors import InputMistake
from cepheid.pattern.text import pattern_text

VERSION = 1


class ForecastModels(dict[str, Any]):
    """What the forecasts of each stream learned, as plain data.

    >>> from cepheid import train_forecast
    >>> history = [{"type": t, "time": i} for i, t in enumerate("ABAB")]
    >>> models = train_forecast("stream S = A -> B .forecast(horizon: 5)", history)
    >>> models.events
    {'S': 4}
    """

    @property
    def events(self) -> dict[str, int]:
        """How many events each has seen."""
        return {name: model["learned"]["events"] for name, model in self.items()}

    def save(self, path: str | Path) -> None:
        """To a file of JSON with a version."""
        body = {"cepheid_forecast": VERSION, "streams": dict(self)}
        Path(path).write_text(json.dumps(body, separators=(",", ":")), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> ForecastModels:
        try:
            body = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputMistake(f"there is no file {path}", code="no_such_file") from None
        except (OSError, ValueError) as problem:
            raise InputMistake(f"{path} is no model of forecasts: {problem}", code="bad_model") from None
        version = body.get("cepheid_forecast") if isinstance(body, dict) else None
        if version != VERSION:
            raise InputMistake(
                f"{path} is no model of forecasts that this version reads",
                code="bad_model",
                hint=f"it has version {version}, and {VERSION} is read: train it anew",
            )
        return cls(body["streams"])


def models_of(given: object) -> ForecastModels | None:
    """Models, however they are given: themselves, or the path of a file."""
    if given is None or isinstance(given, ForecastModels):
        return given
    return ForecastModels.load(str(given)) if isinstance(given, (str, Path)) else ForecastModels(_dict(given))


def _dict(given: object) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    raise InputMistake(
        f"{given!r} is no model of forecasts",
        code="bad_model",
        hint="give what train_forecast gave, or the path of a file it was saved to",
    )


def with_models(program: Program, models: ForecastModels | None) -> Program:
    """The program with what its forecasts learned before."""
    if models is None:
        return program
    return replace(program, streams=tuple(_with_model(planned, models) for planned in program))


def _with_model(planned: PlannedStream, models: ForecastModels) -> PlannedStream:
    if planned.plan.forecast is None or planned.name not in models:
        return planned
    model = models[planned.name]
    if model["pattern"] != pattern_text(planned.stream.pattern):
        raise InputMistake(
            f"the model of `{planned.name}` was trained for another pattern: {model['pattern']}",
            code="other_pattern",
            hint="train it anew: its symbols are the outcomes of that pattern's tests",
        )
    return replace(planned, trained=model["learned"])


def model_entry(planned: PlannedStream, learned: dict[str, Any]) -> dict[str, Any]:
    """As it is read from a file: lists, no tuples."""
    return {"pattern": pattern_text(planned.stream.pattern), "learned": json.loads(json.dumps(learned))}
