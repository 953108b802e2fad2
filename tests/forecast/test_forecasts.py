"""What forecasts say, when, and what becomes of it; what is kept and goes on after a restart."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from known_laws import draw, random_law

import cepheid
from cepheid.errors import CepheidError
from cepheid.forecast.merging import merged
from cepheid.forecast.model import Learned
from cepheid.forecast.scoring import score

PATTERN = "A as a -> first B as b -> first C as c .within(12s)"


def _events(count: int = 1200, seed: int = 1, keys: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    rows = draw(rng, random_law(random.Random(99), 2, 4), "ABCX", count)
    return [{**row, "key": rng.randrange(keys)} for row in rows]


def _run(arguments: str, events: list[Any], pattern: str = PATTERN, **options: Any) -> Any:
    return cepheid.run(f"stream S = {pattern} .forecast({arguments})", events, engine="reference", **options)


def test_matches_are_what_they_are_without() -> None:
    events = _events(600, keys=3)
    pattern = "A as a -> all B as b -> C as c .within(12s) .partition_by(key)"
    alone = cepheid.run(f"stream S = {pattern}", events, engine="reference")
    assert alone["S"]
    assert _run("horizon: 3", events, pattern)["S"] == alone["S"]


def test_confidence_warmup_and_horizon_do_what_they_say() -> None:
    events = _events()
    base = _run("horizon: 4, confidence: 0.3, warmup: 400, change: 0", events).forecasts["S"]
    assert min(f["forecast_probability"] for f in base) >= 0.3
    assert min(f["event"] for f in base) >= 400
    surer = _run("horizon: 4, confidence: 0.6, warmup: 400, change: 0", events).forecasts["S"]
    assert surer == [f for f in base if f["forecast_probability"] >= 0.6]
    assert 0 < len(surer) < len(base)
    later = _run("horizon: 4, confidence: 0.3, warmup: 800, change: 0", events).forecasts["S"]
    assert min(f["event"] for f in later) >= 800
    far = _run("horizon: 8, confidence: 0.3, warmup: 400, change: 0", events).forecasts["S"]
    near = {(f["run_id"], f["event"]): f["forecast_probability"] for f in base}
    both = [
        (near[f["run_id"], f["event"]], f["forecast_probability"])
        for f in far
        if (f["run_id"], f["event"]) in near
    ]
    assert all(one <= other + 1e-9 for one, other in both)
    assert sum(other - one for one, other in both) / len(both) > 0.05


def test_a_run_is_told_of_again_only_when_it_has_changed() -> None:
    found = _run("horizon: 4, confidence: 0, warmup: 400, change: 0.2", _events())
    every = _run("horizon: 4, confidence: 0, warmup: 400, change: 0", _events())
    assert 0 < len(found.forecasts["S"]) < 0.6 * len(every.forecasts["S"])
    by_run: dict[str, list[float]] = {}
    ends = {(o["run_id"], o["event"]) for o in found.outcomes["S"] if o["outcome"] == "completed"}
    for row in found.forecasts["S"]:
        if (row["run_id"], row["event"]) in ends:
            by_run.pop(row["run_id"], None)
        by_run.setdefault(row["run_id"], []).append(row["forecast_probability"])
    assert all(abs(b - a) >= 0.2 for told in by_run.values() for a, b in pairwise(told))


def test_every_run_that_was_told_of_has_an_end_and_the_right_one() -> None:
    """By hand: A1 and A2 wait, B and C complete both; A3 is ended by its window; A4 is open when the input ends."""
    warm = [{"type": kind, "time": i} for i, kind in enumerate("ABC" * 40)]
    case = [(200, "A"), (201, "A"), (202, "B"), (203, "C"), (210, "A"), (230, "X"), (231, "A"), (232, "X")]
    events = warm + [{"type": kind, "time": time} for time, kind in case]
    found = _run("horizon: 6, confidence: 0, warmup: 100, change: 0", events)
    late = [f for f in found.forecasts["S"] if f["time"].timestamp() >= 200]
    ends = [
        (int(o["start"].timestamp()), o["outcome"], int(o["time"].timestamp())) for o in found.outcomes["S"]
    ]
    # Each start is told of as (A), and those that took the B as (A, B).
    assert sorted(end for end in ends if end[0] >= 200) == [
        (200, "completed", 203),
        (200, "completed", 203),
        (201, "completed", 203),
        (201, "completed", 203),
        (210, "ended", 222),
        (231, "open", 232),
    ]
    assert {int(f["start"].timestamp()) for f in late} == {200, 201, 210, 231}


def test_the_best_model_is_better_than_the_base_rate_and_than_order_zero() -> None:
    events = _events(3000, seed=4)
    scores = {}
    for depth in (0, 4):
        found = _run(f"horizon: 3, confidence: 0, warmup: 800, change: 0, max_depth: {depth}", events)
        scores[depth] = score(found.forecasts["S"], found.outcomes["S"])
    assert scores[4].forecasts > 2000
    assert scores[4].brier < 0.95 * scores[0].brier
    assert scores[4].brier < 0.85 * scores[4].brier_of_base_rate
    assert scores[4].log_loss < scores[0].log_loss
    big = [d for d in scores[4].deciles if d.count > 200]
    assert len(big) > 3
    assert max(abs(d.gap) for d in big) < 0.12


@pytest.mark.parametrize(
    "pattern",
    ["A -> B -> C .within(9s) .stnm()", "every (A -> B -> C) .within(9s)", "A -> B within 3s -> C within 3s"],
)
def test_what_is_a_rate_is_right_on_average(pattern: str) -> None:
    """Runs that use up each other's events, newer starts, bounds of steps."""
    events = _events(2500, seed=6)
    found = _run("horizon: 4, confidence: 0, warmup: 600, change: 0", events, pattern)
    result = score(found.forecasts["S"], found.outcomes["S"])
    foretold = sum(d.count * d.foretold for d in result.deciles) / result.forecasts
    assert result.forecasts > 500
    assert foretold == pytest.approx(result.base_rate, abs=0.06)
    assert result.brier < result.brier_of_base_rate


def test_columns_and_conditions_of_its_own() -> None:
    query = (
        f"stream S = {PATTERN} .emit(t: c.time) .forecast(horizon: 4, confidence: 0, warmup: 400, change: 0) "
        ".where(forecast_probability > 0.4 and forecast_state == 'b') "
        ".emit(since: a.time, soon: forecast_time < 3s)"
    )
    found = cepheid.run(query, _events(), engine="reference")
    row = found.forecasts["S"][0]
    fixed = ["run_id", "time", "event", "forecast_probability", "forecast_until", "forecast_until_event"]
    assert list(row) == [*fixed, "since", "soon"]
    assert all(f["forecast_probability"] > 0.4 for f in found.forecasts["S"])
    assert row["since"] is not None
    assert list(found["S"][0]) == ["t"]


@pytest.mark.parametrize("arguments", ["horizon: 4", "horizon: 4, model: key", "horizon: 6s"])
def test_a_session_goes_on_from_a_snapshot_as_if_nothing_had_been(arguments: str) -> None:
    query = f"stream S = {PATTERN} .partition_by(key) .forecast({arguments}, confidence: 0.2, warmup: 60)"
    events = _events(300, keys=2)
    whole = cepheid.Session(query)
    expected = [f for row in events for f in whole.feed(row)] + whole.end()
    assert any(f.kind == "forecast" for f in expected)
    for cut in (61, 150, 222):
        first = cepheid.Session(query)
        found = [f for row in events[:cut] for f in first.feed(row)]
        second = cepheid.Session(query)
        second.restore(first.snapshot())
        assert found + [f for row in events[cut:] for f in second.feed(row)] + second.end() == expected


def test_the_size_of_batches_does_not_matter() -> None:
    query = f"stream S = {PATTERN} .partition_by(key) .forecast(horizon: 4, confidence: 0.2, warmup: 60)"
    events = _events(400, keys=3)
    one_by_one, at_once = cepheid.Session(query), cepheid.Session(query)
    expected = [f for row in events for f in one_by_one.feed(row)] + one_by_one.end()
    assert sorted(map(repr, at_once.feed(events) + at_once.end())) == sorted(map(repr, expected))


def test_keys_that_fall_silent_are_counted() -> None:
    """Of every key two events come, an A and, for every third, a B: the rest is silence."""
    rng = random.Random(3)
    events = []
    for key in range(900):
        events.append({"type": "A", "time": 30 * key, "key": key})
        if rng.random() < 1 / 3:
            events.append({"type": "B", "time": 30 * key + 5, "key": key})
    found = _run("horizon: 10s, confidence: 0, warmup: 500", events, "A -> first B .partition_by(key)")
    last = [f["forecast_probability"] for f in found.forecasts["S"]][-50:]
    assert sum(last) / len(last) == pytest.approx(1 / 3, abs=0.05)


# Models.


def test_a_model_is_trained_saved_and_used(tmp_path: Any) -> None:
    query = f"stream S = {PATTERN} .forecast(horizon: 4, confidence: 0, warmup: 200, change: 0)"
    models = cepheid.train_forecast(query, _events(1000))
    assert models.events == {"S": 1000}
    models.save(tmp_path / "model.json")
    read = cepheid.ForecastModels.load(tmp_path / "model.json")
    assert read == models
    fixed = query.replace("horizon", "learn: false, horizon")
    told = cepheid.run(fixed, _events(50, seed=2), models=str(tmp_path / "model.json")).forecasts["S"]
    assert told[0]["event"] < 20  # no warming up
    assert told == cepheid.run(fixed, _events(50, seed=2), models=models).forecasts["S"]
    # Without `learn: false` it goes on: with the model of the first half it says what one run over both says.
    whole = cepheid.run(query, _events(1000), engine="reference").forecasts["S"]
    first = cepheid.train_forecast(query, _events(1000)[:600])
    second = cepheid.run(query, _events(1000)[600:], engine="reference", models=first).forecasts["S"]
    assert second[-1]["forecast_probability"] == pytest.approx(whole[-1]["forecast_probability"], abs=0.05)


def test_parts_of_a_model_add_up() -> None:
    query = f"stream S = {PATTERN} .partition_by(key) .forecast(horizon: 4)"
    events = _events(800, keys=4)
    whole = Learned.from_data(cepheid.train_forecast(query, events)["S"]["learned"])
    parts = [[e for e in events if e["key"] % 2 == half] for half in (0, 1)]
    joined = merged([Learned.from_data(cepheid.train_forecast(query, p)["S"]["learned"]) for p in parts])

    def contexts(learned: Learned) -> dict[Any, Any]:
        bits = {number: own for own, number in learned.symbols.items()} | {-1: -1}
        return {
            tuple(bits[s] for s in context): {bits[s]: n for s, n in counts.items()}
            for context, counts in learned.contexts.counts.items()
        }

    assert contexts(joined) == contexts(whole)
    assert joined.events == whole.events == 800
    assert sum(n for ways in joined.outcomes.seen.values() for n in ways.values()) == sum(
        n for ways in whole.outcomes.seen.values() for n in ways.values()
    )
    assert joined.gaps.table(4).mean() == pytest.approx(whole.gaps.table(4).mean())


def test_mistakes_with_models(tmp_path: Any) -> None:
    query = f"stream S = {PATTERN} .forecast(horizon: 4)"
    other = query.replace("first B", "first X")
    models = cepheid.train_forecast(query, _events(50))
    (tmp_path / "no.json").write_text("{}")
    cases: list[tuple[str, Any, str]] = [
        (query, tmp_path / "missing.json", "no_such_file"),
        (query, tmp_path / "no.json", "bad_model"),
        (query, 5, "bad_model"),
        (other, models, "other_pattern"),
        (query.replace("horizon", "learn: false, horizon"), None, "no_model"),
    ]
    for text, given, code in cases:
        with pytest.raises(CepheidError) as caught:
            cepheid.run(text, _events(5), models=given)
        assert caught.value.code == code
    with pytest.raises(CepheidError) as caught:
        cepheid.train_forecast("A -> B", _events(5))
    assert caught.value.code == "no_forecast"


def test_what_the_builder_writes_is_what_the_text_says() -> None:
    a, b = cepheid.event("A").as_("a"), cepheid.event("B").as_("b")
    told = cepheid.field("forecast_probability")
    stream = cepheid.with_forecast(
        (a >> b).within("5m").named("S").emit(t=b.time),
        horizon="2m",
        events=9,
        confidence=0.6,
        warmup=50,
        max_depth=3,
        model="key",
        change=0.1,
        interval=0.8,
        where=told > 0.7,
        emit={"p": told, "t": a.time},
    )
    text = (
        "stream S = A as a -> B as b .within(5m) .emit(t: b.time) .forecast(horizon: 2m, events: 9, confidence: 0.6, "
        "warmup: 50, max_depth: 3, change: 0.1, interval: 0.8, model: key) .where(forecast_probability > 0.7) "
        ".emit(p: forecast_probability, t: a.time)"
    )
    assert str(stream) == text
    assert str(cepheid.compile(text)).strip() == text
    for wrong in ({"horizon": "2m", "confidence": 3}, {"horizon": "2m", "model": "all"}, {"horizon": "0s"}):
        with pytest.raises(CepheidError):
            (a >> b).forecast(**wrong)
