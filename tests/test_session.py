"""A session gives the same answer however its input is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.engines.program import compile
from cepheid.engines.session import Found, Session
from cepheid.pattern.duration import duration
from cepheid.testing.scenarios import Scenario, load_scenarios
from cepheid.testing.schema import schema_of
from cepheid.time.lateness import Lateness, TooLatePolicy

STREAMS = [
    s
    for s in load_scenarios(Path(__file__).parent / "scenarios")
    if s.streaming and not s.option("error") and not s.option("advance")
]


def session(scenario: Scenario) -> Session:
    lateness = Lateness(
        duration(scenario.option("disorder", "0s")),
        duration(scenario.option("lateness") or "0s"),
        TooLatePolicy(scenario.option("too_late", "drop")),
    )
    return Session(compile(scenario.query, schema_of(scenario.events)), lateness)


@pytest.mark.parametrize("scenario", STREAMS, ids=lambda s: s.name)
def test_all_at_once_is_one_by_one(scenario: Scenario) -> None:
    one_by_one, at_once = session(scenario), session(scenario)
    found: list[Found] = []
    for event in scenario.arriving():
        found += one_by_one.feed([event])
    found += one_by_one.end()
    together = at_once.feed(scenario.arriving()) + at_once.end()
    for letters in (True, False):  # a dead letter does not wait for what is found before it
        assert of(together, letters) == of(found, letters)


def of(found: list[Found], letters: bool) -> list[Found]:
    return [f for f in found if (f.kind == "dead_letter") is letters]
