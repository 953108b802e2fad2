"""Every scenario on a session, as a batch over tables, as one key of a bundle, and by the oracle."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import naive_rules
from rule_scenarios import (
    TICK,
    Bundle,
    Scenario,
    as_tables,
    line,
    scenarios,
    tables,
    undeclared,
)

from cepheid import Rules, run_rules
from cepheid.engines.rules.operations import Operation
from cepheid.engines.rules.told import Told, told_of
from cepheid.lang.rules import parse_rules

ALL = scenarios()
OF_TABLES = [s for s in ALL if as_tables(s)]
BUNDLE = Bundle([s for s in OF_TABLES if undeclared(s)][::4])


def test_there_are_enough() -> None:
    assert len(ALL) >= 110
    assert len(OF_TABLES) >= 100
    assert len({s.name for s in ALL}) == len(ALL)


def done(rules: Rules, o: Operation) -> list[Told]:
    match o.kind:
        case "assert":
            return list(rules.assert_fact(o.type, o.fields, id=o.identity, time=o.time))
        case "update":
            return list(rules.update(o.type, o.identity, o.fields, time=o.time))
        case "retract":
            return list(rules.retract(o.type, o.identity, time=o.time))
        case "event":
            return list(rules.event(o.type, o.fields, id=o.identity, time=o.time))
        case "retract event":
            return list(rules.retract_event(o.type, o.identity, time=o.time))
    return list(rules.advance(o.time))


@pytest.mark.parametrize("scenario", ALL, ids=lambda s: s.name)
def test_session(scenario: Scenario) -> None:
    rules = Rules(scenario.rules)
    told = [one for o in scenario.do for one in done(rules, o)]
    told += [] if scenario.open else rules.finish()
    assert [line(one) for one in told] == list(scenario.expect)


@pytest.mark.parametrize("scenario", ALL[::2], ids=lambda s: s.name)
def test_session_from_snapshots(scenario: Scenario) -> None:
    """Written down and read again before each operation."""
    rules, told = Rules(scenario.rules), list[Told]()
    for o in scenario.do:
        rules = Rules.restore(rules.snapshot())
        told += done(rules, o)
    told += [] if scenario.open else Rules.restore(rules.snapshot()).finish()
    assert [line(one) for one in told] == list(scenario.expect)


@pytest.mark.parametrize("scenario", ALL, ids=lambda s: s.name)
def test_oracle(scenario: Scenario) -> None:
    """The expectations are the oracle's, too."""
    session: Any = naive_rules.NaiveRules(parse_rules(scenario.rules), tick=TICK)
    told: list[Any] = []
    for o in (replace(o, time=o.time * TICK) for o in scenario.do):
        match o.kind:
            case "assert":
                told += session.assert_fact(o.type, o.fields, o.identity, o.time)
            case "update":
                told += session.update_fact(o.type, o.identity, o.fields, o.time)
            case "retract":
                told += session.retract_fact(o.type, o.identity, o.time)
            case "event":
                told += session.assert_event(o.type, o.fields, o.time, o.identity)
            case "retract event":
                told += session.retract_event(o.type, o.identity, o.time)
            case _:
                told += session.advance(o.time)
    told += [] if scenario.open else session.finish()
    assert [line(replace(one, time=one.time // TICK)) for one in told_of(told)] == list(scenario.expect)


@pytest.mark.parametrize("scenario", OF_TABLES, ids=lambda s: s.name)
def test_batch(scenario: Scenario) -> None:
    facts, events = tables(scenario.do)
    told = run_rules(scenario.rules, facts=facts, events=events).told
    assert [line(one) for one in told] == list(scenario.expect)


def test_bundle() -> None:
    """All scenarios at once, split by a key: each is told as if it were alone."""
    facts, events = tables(sorted(BUNDLE.operations(), key=lambda o: o.time))
    BUNDLE.check(run_rules(BUNDLE.rules, facts=facts, events=events, key="scenario").told)
