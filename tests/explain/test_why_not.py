"""Every scenario of why-not: the structured answer names the cause, and every near miss is run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cepheid
from cepheid.explain.causes import KINDS
from cepheid.explain.why_not import NearMiss, WhyNot
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import Scenario, load_scenarios

SCENARIOS = list(load_scenarios(Path(__file__).parent / "why_not"))
SECONDS = ("bound", "over")


def rows_of(scenario: Scenario) -> list[dict[str, Any]]:
    return [dict(e.fields) for e in scenario.events]


def answer(scenario: Scenario) -> WhyNot:
    return cepheid.why_not(
        scenario.query,
        rows_of(scenario),
        expected=str(scenario.option("expected", "")).split(),
        exactly=scenario.option("exactly", False),
        key=scenario.option("key"),
        stream=scenario.option("stream"),
        now=scenario.option("now"),
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_scenario(scenario: Scenario) -> None:
    found = answer(scenario)
    wanted = scenario.options["cause"]
    got = {name: told(found, name) for name in wanted}
    assert got == wanted, f"{found}\n{found.cause}"
    if "also" in scenario.options:
        assert [c.kind for c in found.causes[1:]] == scenario.options["also"]
    texts = [miss.text for miss in found.near_misses]
    near = scenario.option("near")
    assert near is None or set(near) <= set(texts), texts
    assert near != [] or texts == []
    if "furthest" in scenario.options:
        assert [label(e) for _, e in found.furthest[0].held] == scenario.options["furthest"]
    for miss in found.near_misses:
        assert holds_again(scenario, miss), miss.text
    assert found.cause.text in str(found)
    assert "<li>" in found._repr_html_()


def told(found: WhyNot, name: str) -> Any:
    cause = found.cause
    if name in ("event", "by"):
        return label(getattr(cause, name))
    if name in ("left", "op", "right", "test", "nulls", "hint"):
        value = getattr(cause.tested, name)
        return list(value) if isinstance(value, tuple) else value
    if name in SECONDS:
        value = getattr(cause, name)
        return None if value is None else value / 10**6
    value = cause.bound if name == "bound_events" else getattr(cause, name)
    return list(value) if isinstance(value, tuple) else value


def label(event: Event | None) -> str | None:
    return None if event is None else str(event.fields["id"])


def holds_again(scenario: Scenario, miss: NearMiss) -> bool:
    """By the ordinary entrance, with the events that the near miss promises."""
    if scenario.option("stream"):
        return True  # what it reads is made by another stream: see test_near_miss_of_a_stream_of_streams
    now = miss.now / 10**6 if miss.now is not None else scenario.option("now")
    matches: list[Any] = []
    cepheid.run(miss.pattern, rows_of(scenario), now=now, listener=matches.append, engine="reference")
    given = [sorted(label(e) or "" for e in m.taken) for m in matches if type(m).__name__ == "Completed"]
    return sorted(label(e) or "" for e in miss.events) in given


def test_near_miss_of_a_stream_of_streams() -> None:
    (scenario,) = [s for s in SCENARIOS if s.name == "stream_of_streams"]
    wider = scenario.query.replace("within(10s)", "within(28s)")
    assert cepheid.match(scenario.query, rows_of(scenario)) == []
    assert len(cepheid.match(wider, rows_of(scenario))) == 1


def test_there_are_enough_of_them() -> None:
    names = [s.name for s in SCENARIOS]
    assert len(names) == len(set(names)) >= 60
    tested = {s.options["cause"]["kind"] for s in SCENARIOS}
    assert tested == set(KINDS), set(KINDS) ^ tested
