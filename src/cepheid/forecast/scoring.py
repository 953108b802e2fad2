"""Forecasts held against what happened: are they calibrated, are they better than the base rate, is the time right?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from statistics import fmean, median
from typing import Any

from cepheid.errors import InputMistake
from cepheid.pattern.duration import duration
from cepheid.pattern.times import EPOCH

Row = Mapping[str, Any]
_SPARKS = re.compile(r"INTERVAL '(\d+) (\d+):(\d+):([\d.]+)'")  # as Spark writes a duration into JSON
_TINY = 1e-6  # no forecast is quite sure, for the log loss
SHARES = (0.125, 0.25, 0.5, 1.0)  # of the horizon
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Scored:
    """One forecast and its end. Times are in seconds since the forecast."""

    run_id: str
    probability: float
    hit: bool
    completed: float | None  # after so long; None: not within the horizon
    horizon: float | None
    at: float
    expected: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Decile:
    low: float
    high: float
    count: int
    foretold: float
    happened: float

    @property
    def gap(self) -> float:
        return self.happened - self.foretold


@dataclass(frozen=True)
class AtHorizon:
    """Alarms (forecasts of at least the threshold), by how soon completion comes."""

    within: float  # seconds
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class AtThreshold:
    """Runs by their first alarm."""

    threshold: float
    alarms: int
    precision: float | None
    recall: float | None
    lead: float | None  # seconds from the first alarm to completion, in the middle


@dataclass(frozen=True)
class TimeError:
    count: int
    bias: float  # mean of what happened − what was foretold
    error: float  # mean distance
    plain: float  # the same for the best single number
    covered: float | None  # how often it lay in the interval


@dataclass(frozen=True)
class Score:
    forecasts: int
    undecided: int  # the input ended before their horizon did
    base_rate: float
    brier: float
    brier_of_base_rate: float
    log_loss: float
    log_loss_of_base_rate: float
    deciles: tuple[Decile, ...]
    threshold: float
    horizons: tuple[AtHorizon, ...]
    thresholds: tuple[AtThreshold, ...]
    time: TimeError | None

    @property
    def skill(self) -> float:
        """The share of the base rate's Brier score that is saved; 1 is perfect, 0 no better."""
        return 1.0 - self.brier / self.brier_of_base_rate if self.brier_of_base_rate else 0.0

    @property
    def widest_gap(self) -> float:
        return max((abs(d.gap) for d in self.deciles), default=0.0)


def score(forecasts: Iterable[Row], outcomes: Iterable[Row], threshold: float = 0.5) -> Score:
    """Rows of `Results.forecasts[...]` and `Results.outcomes[...]`, as dicts."""
    given = list(forecasts)
    scored = list(decided(given, outcomes))
    if not scored:
        raise InputMistake(
            "there is no forecast whose outcome is known",
            code="nothing_to_score",
            hint="confidence: 0 gives a forecast for every open run; the input must go on beyond the horizon",
        )
    rate = fmean(s.hit for s in scored)
    return Score(
        len(scored),
        len(given) - len(scored),
        rate,
        fmean((s.probability - s.hit) ** 2 for s in scored),
        rate * (1.0 - rate),
        _log_loss((s.probability, s.hit) for s in scored),
        _log_loss((rate, s.hit) for s in scored),
        _deciles(scored),
        threshold,
        _by_horizon(scored, threshold),
        tuple(_at_threshold(scored, t) for t in THRESHOLDS),
        _time_error(scored),
    )


# Which forecast came true.


def decided(forecasts: Iterable[Row], outcomes: Iterable[Row]) -> Iterable[Scored]:
    """Those whose end is known, and whose time is over.

    Of a forecast that looks beyond the last of the outcomes only a completion could be known by now, no failure: to
    count those that came true already would flatter it.
    """
    ends: dict[str, list[tuple[int, float, str]]] = {}
    for row in outcomes:
        ends.setdefault(row["run_id"], []).append((row["event"], _seconds(row["time"]), row["outcome"]))
    for own in ends.values():
        own.sort()
    reached = max((time for own in ends.values() for _, time, _ in own), default=0.0)
    for row in forecasts:
        at, until = _seconds(row["time"]), row.get("forecast_until")
        if until is not None and _seconds(until) > reached:
            continue
        end = next((e for e in ends.get(row["run_id"], ()) if _ends(e, row["event"], at)), None)
        found = None if end is None else _decided(row, at, *end)
        if found is not None:
            yield found


def _ends(end: tuple[int, float, str], event: int, at: float) -> bool:
    """A run that completes with an event is foretold anew after it."""
    return end[0] > event or (end[0] == event and end[2] != "completed" and end[1] >= at)


def _decided(row: Row, at: float, event: int, time: float, outcome: str) -> Scored | None:
    until, last = row.get("forecast_until"), row.get("forecast_until_event")
    in_time = (until is None or time <= _seconds(until)) and (last is None or event <= last)
    if outcome == "open" and in_time:
        return None
    hit = outcome == "completed" and in_time
    return Scored(
        row["run_id"],
        float(row["forecast_probability"]),
        hit,
        time - at if hit else None,
        None if until is None else _seconds(until) - at,
        at,
        *(_length(row.get(name)) for name in ("forecast_time", "forecast_low", "forecast_high")),
    )


def _seconds(value: Any) -> float:
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=EPOCH.tzinfo)
        return (aware - EPOCH).total_seconds()
    return float(value)


def _length(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) and (interval := _SPARKS.match(value)):
        days, hours, minutes, seconds = (float(part) for part in interval.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return duration(value) / 1e6 if isinstance(value, (str, timedelta)) else float(value)


# What they are worth.


def _log_loss(pairs: Iterable[tuple[float, bool]]) -> float:
    return fmean(-log(min(max(p if hit else 1.0 - p, _TINY), 1.0)) for p, hit in pairs)


def _deciles(scored: Sequence[Scored]) -> tuple[Decile, ...]:
    found = []
    for number in range(10):
        own = [s for s in scored if min(int(s.probability * 10), 9) == number]
        if own:
            foretold, happened = fmean(s.probability for s in own), fmean(s.hit for s in own)
            found.append(Decile(number / 10, (number + 1) / 10, len(own), foretold, happened))
    return tuple(found)


def _by_horizon(scored: Sequence[Scored], threshold: float) -> tuple[AtHorizon, ...]:
    lengths = [s.horizon for s in scored if s.horizon is not None]
    lengths = lengths or [s.completed for s in scored if s.completed is not None]
    if not lengths:
        return ()
    alarms = [s for s in scored if s.probability >= threshold]
    found = []
    for share in SHARES:
        within = share * max(lengths)
        true = sum(s.completed is not None and s.completed <= within for s in alarms)
        every = sum(s.completed is not None and s.completed <= within for s in scored)
        found.append(AtHorizon(within, _ratio(true, len(alarms)), _ratio(true, every)))
    return tuple(found)


def _at_threshold(scored: Sequence[Scored], threshold: float) -> AtThreshold:
    """A run is alarmed once: by its first forecast of at least the threshold."""
    first: dict[str, Scored] = {}
    completed: set[str] = set()
    for s in sorted(scored, key=lambda s: s.at):
        if s.hit:
            completed.add(s.run_id)
        if s.probability >= threshold:
            first.setdefault(s.run_id, s)
    hits = [s for s in first.values() if s.completed is not None]
    leads = [s.completed for s in hits if s.completed is not None]
    return AtThreshold(
        threshold,
        len(first),
        _ratio(len(hits), len(first)),
        _ratio(len(hits), len(completed)),
        median(leads) if leads else None,
    )


def _time_error(scored: Sequence[Scored]) -> TimeError | None:
    pairs = [
        (s.completed, s.expected, s) for s in scored if s.completed is not None and s.expected is not None
    ]
    if not pairs:
        return None
    middle = median(happened for happened, _, _ in pairs)
    inside = [
        s.low <= happened <= s.high for happened, _, s in pairs if s.low is not None and s.high is not None
    ]
    return TimeError(
        len(pairs),
        fmean(happened - foretold for happened, foretold, _ in pairs),
        fmean(abs(happened - foretold) for happened, foretold, _ in pairs),
        fmean(abs(happened - middle) for happened, _, _ in pairs),
        fmean(inside) if inside else None,
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
