"""Forecasts over columns: the kernel says what the reference matcher says, of every pattern that it takes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from known_laws import draw, random_law

import cepheid
from cepheid.errors import CepheidError
from cepheid.forecast import columns
from cepheid.forecast.scoring import score

ROUNDED = ("forecast_time", "forecast_low", "forecast_high")
CASES = [
    ("A as a -> first B as b -> first C as c .within(12s)", "horizon: 4", 1),
    ("A as a -> B as b -> C as c .within(8s) .partition_by(key)", "horizon: 4s", 3),
    ("A as a -> B as b .partition_by(key)", "horizon: 9s, events: 2", 6),  # keys that fall silent
    ("A -> next B .partition_by(key)", "horizon: 3, max_depth: 0", 2),
    ("A -> NOT X -> all B -> C .within(7s) .partition_by(key)", "horizon: 5s, change: 0", 4),
    ("OR(A, B) -> C{2} .within(9s) .partition_by(key) .strict()", "horizon: 4", 2),
    ("AND(A, B) -> C .within(6s) unless X .partition_by(key)", "horizon: 4s", 2),
]


def _events(count: int, keys: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    rows = draw(rng, random_law(random.Random(99), 2, 4), "ABCX", count)
    # Now and then several events of one time: their order counts.
    return [
        {**row, "time": row["time"] // 1 - i % 3 // 2, "key": rng.randrange(keys)}
        for i, row in enumerate(rows)
    ]


def _comparable(rows: list[dict[str, Any]]) -> list[str]:
    kept = [{name: value for name, value in row.items() if name not in ROUNDED} for row in rows]
    for row in kept:
        if "forecast_probability" in row:
            row["forecast_probability"] = round(row["forecast_probability"], 8)
    return sorted(map(str, kept))


@pytest.mark.parametrize(("pattern", "arguments", "keys"), CASES)
def test_as_the_reference_matcher(pattern: str, arguments: str, keys: int) -> None:
    query = f"stream S = {pattern} .forecast({arguments}, confidence: 0.05, warmup: 120)"
    slow, fast = (cepheid.run(query, _events(500, keys), engine=e) for e in ("reference", "compiled"))
    assert len(slow.forecasts["S"]) > 20
    assert _comparable(fast.forecasts["S"]) == _comparable(slow.forecasts["S"])
    assert _comparable(fast.outcomes["S"]) == _comparable(slow.outcomes["S"])
    assert fast["S"] == slow["S"]
    times = [
        [row[name] for row in sorted(found.forecasts["S"], key=str)]
        for found in (slow, fast)
        for name in ROUNDED
    ]
    for one, other in zip(times[:3], times[3:], strict=True):
        assert all(
            abs((a - b).total_seconds()) < 1e-3 for a, b in zip(sorted(one), sorted(other), strict=True)
        )


def test_columns_of_its_own() -> None:
    query = (
        "stream S = A as a -> first B as b .within(9s) .forecast(horizon: 3, confidence: 0.2, warmup: 100) "
        ".emit(since: a.time, state: forecast_state)"
    )
    slow, fast = (cepheid.run(query, _events(300, 1), engine=e) for e in ("reference", "compiled"))
    assert _comparable(fast.forecasts["S"]) == _comparable(slow.forecasts["S"]) != []


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("A as a -> B[v > a.v]", "horizon: 3"),
        ("A -> B .stnm()", "horizon: 3"),
        ("A -> B within 3s -> C", "horizon: 3"),
        ("A -> B{20} -> C", "horizon: 3"),  # more rounds than places tell apart
        ("A -> B .partition_by(key)", "horizon: 3, model: key"),
    ],
)
def test_what_it_does_not_take(pattern: str, arguments: str) -> None:
    rows = [{**row, "v": 1} for row in _events(20, 2)]
    with pytest.raises(CepheidError) as caught:
        cepheid.run(f"stream S = {pattern} .forecast({arguments})", rows, engine="compiled")
    assert caught.value.code == "not_compiled"


def test_parts_and_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in several parts, and tables that are full again and again: nothing else is said."""
    pattern = "A as a -> B as b -> C .within(9s) .partition_by(key)"
    query = f"stream S = {pattern} .forecast(horizon: 4s, confidence: 0, warmup: 99)"
    rows = _events(700, 7)
    whole = cepheid.run(query, rows, engine="compiled")
    monkeypatch.setattr(columns, "_ROOM", 4)
    monkeypatch.setattr(columns, "_UNITS", 2)
    monkeypatch.setattr(columns, "_LEAST_OF_A_PART", 50)
    parts = cepheid.run(query, rows, engine="compiled", threads=3)
    assert len(whole.forecasts["S"]) > 200
    assert parts.forecasts["S"] == whole.forecasts["S"]
    assert parts.outcomes["S"] == whole.outcomes["S"]


def test_tests_far_apart() -> None:
    """Symbols are told apart by a table where the tests of a stream lie close together, and by sorting where not."""
    many = "\n".join(f"stream T{i} = Y[v > {i}] -> Z .partition_by(key)" for i in range(20))
    own = "A as a -> first B as b -> first C as c .within(9s) .partition_by(key)"
    told = f"stream S = {own} .forecast(horizon: 4s, confidence: 0.1, warmup: 99)"
    between = f"stream U = A -> Y[v > 20] -> B -> Y[v > 99] .partition_by(key)\n{many}"
    rows = [{**row, "v": 1} for row in _events(400, 3)]
    slow = cepheid.run(told, rows, engine="reference")
    for text in (f"{told}\n{between}", f"{between}\n{told}"):
        fast = cepheid.run(text, rows, engine="compiled")
        assert _comparable(fast.forecasts["S"]) == _comparable(slow.forecasts["S"]) != []


@pytest.mark.soak
@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_million_events_are_foretold_to_three_points(order: int) -> None:
    rng = random.Random(order)
    names = "ABCXYZ" if order < 3 else "ABX"
    law = random_law(rng, order, len(names))
    for chances in law.values():  # few begin, so that not every event is told of
        chances[0] *= 0.1
        whole = sum(chances)
        chances[:] = [chance / whole for chance in chances]
    rows = draw(rng, law, names, 1_000_000, lambda: rng.expovariate(1.0))
    steps = "A -> first B -> first C" if order < 3 else "A -> first B"
    scores = {}
    for depth in (0, 5):
        # With each event, so that both depths are scored by forecasts of the same runs at the same moments.
        asked = f"horizon: 8s, confidence: 0, warmup: 20000, change: 0, max_depth: {depth}"
        query = f"{steps} .within(30s) .forecast({asked})"
        found = cepheid.run(query, rows, engine="compiled")
        scores[depth] = score(found.forecasts["matches"], found.outcomes["matches"])
    best = scores[5]
    assert best.forecasts == scores[0].forecasts > 100_000
    assert max(abs(d.gap) for d in best.deciles if d.count >= 1000) < 0.03
    assert best.brier < best.brier_of_base_rate
    assert best.brier < scores[0].brier
