"""What `.forecast` can be asked for, whoever asks: the text language or Python."""

from __future__ import annotations

from typing import Any

from cepheid.errors import PatternMistake, Place
from cepheid.pattern.model import Forecast

MODELS = ("shared", "key")

# From, to, whole numbers only.
_NUMBERS: dict[str, tuple[float, float, bool]] = {
    "confidence": (0.0, 1.0, False),
    "change": (0.0, 1.0, False),
    "interval": (0.01, 0.999, False),
    "warmup": (1, 10**9, True),
    "max_depth": (0, 10, True),
    "events": (1, 1000, True),
}


def check_number(name: str, value: Any, place: Place | None = None) -> Any:
    """The number, if it is one that the argument may be."""
    low, high, whole = _NUMBERS[name]
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise PatternMistake(
            f"`{name}` of a forecast is {kind} from {low:g} to {high:g}",
            code="bad_argument",
            place=place,
            hint=f"write {name}: {getattr(Forecast(), name) or 20}",
        )
    return value if whole else float(value)


def checked(forecast: Forecast) -> Forecast:
    if forecast.horizon is not None and forecast.horizon <= 0:
        raise PatternMistake(
            "the horizon of a forecast is above 0", code="bad_argument", place=forecast.place, hint="write 2m"
        )
    return forecast
