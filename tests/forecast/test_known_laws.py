"""On a source whose law is known, forecasts come to the true chance of completion, which is worked out beside them."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

import pytest
from known_laws import by_events, by_gaps, by_time, draw, random_law

import cepheid


def _forecasts(query: str, events: list[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cepheid.run(query, events, engine="reference").forecasts["matches"]
    return found


@pytest.mark.parametrize(
    ("order", "names", "events"), [(1, "ABCX", 4000), (2, "ABC", 5000), (3, "ABC", 7000), (4, "AB", 6000)]
)
def test_orders_one_to_four_with_a_horizon_in_events(order: int, names: str, events: int) -> None:
    """Symbols between the steps are skipped; five events ahead."""
    rng = random.Random(10 + order)
    law = random_law(rng, order, len(names))
    rows = draw(rng, law, names, events)
    steps = [0, 1] if order > 2 else [0, 1, 2]
    arrows = " -> first ".join("ABC"[s] for s in steps)
    query = f"{arrows} .within(20s) .forecast(confidence: 0, horizon: 5, warmup: 300, change: 0)"
    types = [row["type"] for row in rows]
    errors: dict[bool, list[float]] = {True: [], False: []}
    depths = []
    for found in _forecasts(query, rows):
        at, left = found["event"], 20 - (found["time"] - found["start"]).seconds
        context = tuple(names.index(str(name)) for name in types[at - order : at])
        done = "ABC".index(found["forecast_state"]) + 1
        true = by_events(law, steps, context, done, 5)[min(5, left)]
        if at < 900 or at > events * 2 // 3:
            errors[at < 900].append(abs(found["forecast_probability"] - true))
            depths.append((at, found["forecast_context_depth"]))
    assert len(errors[False]) > 1000
    assert mean(errors[False]) < 0.02
    assert mean(errors[False]) < mean(errors[True])
    late = [depth for at, depth in depths if at > events * 2 // 3]
    assert order - 0.6 < mean(late) < order + 0.6  # as deep as the source, and no deeper


def test_a_horizon_in_time_inside_a_window_with_gaps_by_chance() -> None:
    """Exponential gaps: the time of n events has Erlang's law. The window ends before the horizon for old runs."""
    rng = random.Random(5)
    law = random_law(rng, 1, 3)
    rows = draw(rng, law, "ABX", 6000, lambda: rng.expovariate(2.0))
    query = "A -> first B .within(6s) .forecast(confidence: 0, horizon: 3s, warmup: 2000, change: 0)"
    types = [row["type"] for row in rows]
    errors = []
    for found in _forecasts(query, rows)[-1500:]:
        context = ("ABX".index(str(types[found["event"] - 1])),)
        left = min(3.0, 6.0 - (found["time"] - found["start"]).total_seconds())
        true = by_time(by_events(law, [0, 1], context, 1, 60), left, 2.0) if left > 0 else 0.0
        errors.append(abs(found["forecast_probability"] - true))
    assert mean(errors) < 0.015
    assert max(errors) < 0.06


def test_gaps_that_depend_on_the_symbol_and_a_symbol_that_kills() -> None:
    """A B takes 3 seconds to come, an X 1; a K ends the run."""
    rng = random.Random(6)
    law, gaps = random_law(rng, 2, 4), [2, 3, 1, 1]  # A B X K
    rows, time, context = [], 0, (0, 0)
    for _ in range(8000):
        (symbol,) = rng.choices(range(4), law[context])
        context, time = (context[1], symbol), time + gaps[symbol]
        rows.append({"type": "ABXK"[symbol], "time": time})
    query = "A -> NOT K -> first B .forecast(confidence: 0, horizon: 8s, warmup: 3000, change: 0)"
    types = [row["type"] for row in rows]
    errors = []
    for found in _forecasts(query, rows)[-2500:]:
        at = found["event"]
        context = tuple("ABXK".index(str(name)) for name in types[at - 2 : at])
        true = by_gaps(law, gaps, (1,), frozenset({3}), context, 8)
        errors.append(abs(found["forecast_probability"] - true))
    assert mean(errors) < 0.02
    assert max(errors) < 0.08


def test_a_comparison_of_events_is_a_rate() -> None:
    """Every fourth B goes with the A: the chain learns the rate, four events ahead."""
    rng = random.Random(7)
    rows = [{"type": rng.choice("ABX"), "time": i, "colour": rng.randrange(4)} for i in range(5000)]
    query = (
        "A as a -> first B[(colour + a.colour) % 4 == 0] as b .within(30s) "
        ".forecast(confidence: 0, horizon: 4, warmup: 2500, change: 0)"
    )
    found = [f for f in _forecasts(query, rows) if (f["time"] - f["start"]).seconds <= 26]
    true = 1 - (1 - 1 / 12) ** 4
    assert mean(f["forecast_probability"] for f in found) == pytest.approx(true, abs=0.015)


def test_neighbours_only() -> None:
    """`next`: whatever else comes ends the run, so only the very next event counts."""
    rng = random.Random(8)
    law = random_law(rng, 1, 3)
    rows = draw(rng, law, "ABX", 4000)
    found = _forecasts("A -> next B .forecast(confidence: 0, horizon: 5, warmup: 2000, change: 0)", rows)
    assert {f["forecast_state"] for f in found} == {"A"}
    assert mean(f["forecast_probability"] for f in found) == pytest.approx(law[0,][1], abs=0.03)


def test_forks_complete_when_one_of_them_does() -> None:
    """Every B opens a copy; the run of the A alone is where its copies are, too."""
    rng = random.Random(9)
    law = random_law(rng, 1, 4)
    rows = draw(rng, law, "ABCX", 3000)
    types = [row["type"] for row in rows]
    query = "A -> B -> C .within(9s) .forecast(confidence: 0, horizon: 4, warmup: 1500, change: 0)"
    errors = []
    for found in _forecasts(query, rows):
        at, start = found["event"], int(found["start"].timestamp())
        context = ("ABCX".index(str(types[at - 1])),)
        done = 2 if "B" in types[start:at] else 1
        left = min(4, 9 - (at - start))
        errors.append(abs(found["forecast_probability"] - by_events(law, [0, 1, 2], context, done, 4)[left]))
    assert mean(errors) < 0.02


def test_a_closure_counts_its_rounds() -> None:
    rng = random.Random(11)
    law = random_law(rng, 1, 3)
    rows = draw(rng, law, "ABX", 3000)
    types = [row["type"] for row in rows]
    query = "A -> first B{3} .within(40s) .forecast(confidence: 0, horizon: 6, warmup: 1500, change: 0)"
    errors = []
    for found in _forecasts(query, rows):
        at, start = found["event"], int(found["start"].timestamp())
        seen = types[start:at].count("B")
        if at - start > 34 or seen > 2:
            continue
        context = ("ABX".index(str(types[at - 1])),)
        errors.append(
            abs(found["forecast_probability"] - by_events(law, [0, 1, 1, 1], context, 1 + seen, 6)[6])
        )
    assert len(errors) > 200
    assert mean(errors) < 0.03
