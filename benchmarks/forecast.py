"""What forecasts cost, and whether they are right: the same streams with and without `.forecast`.

Answers first: of fewer events the compiled forecasts are those of the reference matcher, and over all events
every decile of the forecasts comes true as often as it says, to three points. Then times: of the compiled matcher
(the events lie in a Parquet file and its time includes reading them) and of the reference matcher, alone and with
forecasts, taken in turn.

    python benchmarks/forecast.py [--events 1000000] [--keys 1000] [--rounds 11]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cepheid
from cepheid.forecast.scoring import score

FOLDER = Path("build/bench")
NAMES = "ABCXYZ"
PATTERNS = {
    "skip": "A as a -> first B as b -> first C as c .within(3h) .partition_by(key)",
    "fork": "A as a -> B as b -> C as c .within(1h) .partition_by(key)",
    "closure": "A as a -> first B{2} as b -> first C as c .within(3h) .partition_by(key)",
}
ALARM = ".forecast(horizon: 5m, confidence: 0.5, warmup: 10000)"
EARLY = ALARM.replace("10000", "1000")  # of fewer events
ALL = ".forecast(horizon: 5m, confidence: 0, warmup: 10000, change: 0.2)"
SMALL, CHECKED, FEW_KEYS = 20_000, 6000, 20  # events of the reference matcher: of times, of answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    table = events(given.events, given.keys)
    path, part = FOLDER / "forecast.parquet", events(SMALL, FEW_KEYS)
    pq.write_table(table, path)
    names = ("pattern", "matcher", "events", "alone", "forecast", "times", "told", "gap")
    print(" ".join(f"{name:>{width}}" for name, width in zip(names, (8, 10, 10, 8, 9, 6, 8, 5), strict=True)))
    rows = []
    for name, pattern in PATTERNS.items():
        alone, told, early = (f"stream S = {pattern} {asked}" for asked in ("", ALARM, EARLY))
        check(early, alone, part.slice(0, CHECKED))
        gap = worst_gap(f"stream S = {pattern} {ALL}", str(path))
        count = len(cepheid.run(told, str(path), engine="compiled").forecasts["S"])
        pair = typical([timed(alone, told, str(path), "compiled") for _ in range(given.rounds)])
        rows.append(said(name, "compiled", given.events, pair, count, gap))
        pair = typical([timed(alone, early, part, "reference") for _ in range(min(given.rounds, 3))])
        rows.append(said(name, "reference", SMALL, pair, None, None))
    (FOLDER / "forecast.json").write_text(json.dumps(rows, indent=1) + "\n")


def said(
    name: str, matcher: str, events: int, pair: tuple[float, float], told: int | None, gap: float | None
) -> Any:
    alone, both = pair
    shown = f"{told:>8,} {100 * gap:>5.1f}" if told is not None and gap is not None else ""
    print(
        f"{name:>8} {matcher:>10} {events:>10,} {alone:>7.2f}s {both:>8.2f}s {both / alone:>6.2f} {shown}",
        flush=True,
    )
    return {
        "pattern": name,
        "matcher": matcher,
        "events": events,
        "alone": alone,
        "forecast": both,
        "gap": gap,
    }


def events(count: int, keys: int) -> pa.Table:
    """Each key is a source of the second order; gaps are by chance, about a minute for a key."""
    rng, chance = np.random.default_rng(5), random.Random(5)
    law = np.array([[[chance.random() ** 3 + 0.02 for _ in NAMES] for _ in NAMES] for _ in NAMES])
    law[:, :, 0] *= 0.3  # few begin
    bounds = np.cumsum(law / law.sum(axis=2, keepdims=True), axis=2)
    key = rng.integers(0, keys, count)
    draws, state = rng.random(count), np.zeros((keys, 2), np.int64)
    symbols = np.empty(count, np.int64)
    for i in range(count):
        one, two = state[key[i]]
        symbol = min(int(np.searchsorted(bounds[one, two], draws[i])), len(NAMES) - 1)
        state[key[i]] = two, symbol
        symbols[i] = symbol
    times = np.cumsum(rng.exponential(60e6 / keys, count)).astype(np.int64)
    types = np.array(list(NAMES))[symbols]
    return pa.table({"time": pa.array(times, pa.timestamp("us", "UTC")), "type": types, "key": key})


def check(told: str, alone: str, part: pa.Table) -> None:
    """The compiled forecasts are the reference matcher's, and matches are what they are without."""
    small = told.replace("0.5", "0.2")
    slow, fast = (cepheid.run(small, part, engine=engine) for engine in ("reference", "compiled"))
    for one, other in ((slow.forecasts["S"], fast.forecasts["S"]), (slow.outcomes["S"], fast.outcomes["S"])):
        if comparable(one) != comparable(other) or not one.num_rows:
            raise SystemExit(f"{small}: the matchers do not agree, {one.num_rows} and {other.num_rows} rows")
    if fast["S"] != cepheid.run(alone, part, engine="compiled")["S"]:
        raise SystemExit(f"{alone}: other matches with forecasts")


def comparable(table: pa.Table) -> list[Any]:
    rows = table.to_pylist()
    for row in rows:
        if "forecast_probability" in row:
            row["forecast_probability"] = round(row["forecast_probability"], 8)
    return sorted(str(sorted((k, v) for k, v in row.items() if k not in ROUNDED)) for row in rows)


ROUNDED = ("forecast_time", "forecast_low", "forecast_high")


def worst_gap(query: str, path: str) -> float:
    found = cepheid.run(query, path, engine="compiled")
    result = score(found.forecasts["S"].to_pylist(), found.outcomes["S"].to_pylist())
    gap = max(abs(d.gap) for d in result.deciles if d.count >= 1000)
    if gap > 0.03:
        raise SystemExit(f"{query}: a decile is off by {100 * gap:.1f} points\n{result.deciles}")
    if result.brier >= result.brier_of_base_rate:
        raise SystemExit(f"{query}: no better than the base rate")
    return gap


def timed(alone: str, told: str, events: Any, engine: str) -> tuple[float, float]:
    return _seconds(alone, events, engine), _seconds(told, events, engine)


def _seconds(query: str, events: Any, engine: str) -> float:
    start = time.perf_counter()
    cepheid.run(query, events, engine=engine)
    return time.perf_counter() - start


def typical(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """The one with the middle ratio."""
    return sorted(pairs, key=lambda pair: pair[1] / pair[0])[len(pairs) // 2]


if __name__ == "__main__":
    main()
