"""The network against the oracle, over random rules and histories: the same happenings in the same order."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, currently_in_test_context, given, note, settings
from hypothesis import strategies as st

from cepheid.pattern.rule_model import RuleSet
from cepheid.rules import dispatch, memory, working
from cepheid.rules.happenings import Fired, Happening, Released
from cepheid.rules.session import RuleSession

sys.path.insert(0, str(Path(__file__).parent))

from naive_rules import NaiveRules
from random_rules import random_history, random_rules
from rule_parts import plain
from rule_runs import MOST_FIRINGS, firings_of, outcomes, plainly, rule_named, shown

MANY = 1_000  # more than a rule set has
ANY_SOURCE = st.randoms(use_true_random=False)
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def tell(*what: Any) -> None:
    if currently_in_test_context():
        note("\n".join(map(repr, what)))


@pytest.fixture(autouse=True)
def limits_of_a_small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done only with much to do is done at once: states forgotten, lists tidied, times searched for."""
    monkeypatch.setattr(working, "FORGET_AFTER", 0)
    monkeypatch.setattr(memory, "TIDY", 2)
    monkeypatch.setattr(memory, "NARROW", 1)


def session_of(rules: RuleSet) -> RuleSession:
    return RuleSession(rules, tick=1, max_firings=MOST_FIRINGS)


def check_agreement(rng: Any) -> tuple[RuleSet, list[Any]]:
    rules, steps = random_rules(rng), random_history(rng)
    tell(rules, steps)
    expected = list(outcomes(NaiveRules(rules, tick=1, max_firings=MOST_FIRINGS), steps))
    check_by_value(rules, steps, expected)
    telling = RuleSession(rules, tick=1, max_firings=MOST_FIRINGS, tell_released=True)
    told = list(outcomes(telling, steps))  # it takes the long way through the network
    assert plainly(map(without_releases, told)) == plainly(expected)
    return rules, expected


def check_by_value(rules: RuleSet, steps: list[Any], expected: list[Any]) -> None:
    """A value of a field chooses the way of an event, or all are asked: it meets and counts the same."""
    ways = []
    for few in (0, MANY):
        with patch.object(dispatch, "FEW_VALUES", few):
            session = session_of(rules)
        assert plainly(outcomes(session, steps)) == plainly(expected)
        ways.append([(node.id, node.received, node.tried, node.most_stored) for node in session.network()])
    assert ways[0] == ways[1]


def without_releases(told: list[Happening] | str) -> list[Happening] | str:
    return told if isinstance(told, str) else [h for h in told if not isinstance(h, Released)]


def check_independence(rng: Any) -> int:
    """Other rules that only emit change nothing; how many firings there were."""
    rules, steps = random_rules(rng, 3, emit_only=True), random_history(rng)
    tell(rules, steps)
    together = list(outcomes(RuleSession(rules, tick=1), steps))
    count = 0
    for rule in rules.rules:
        alone = list(outcomes(RuleSession(RuleSet((rule,), rules.types), tick=1), steps))
        assert firings_of(together, rule.name) == firings_of(alone, rule.name)
        count += len(firings_of(alone, rule.name))
    return count


def check_snapshot(rng: Any) -> None:
    """A session that is restored at some moment goes on like the one that was saved."""
    rules, steps = random_rules(rng), random_history(rng)
    tell(rules, steps)
    cut = rng.randint(0, len(steps))
    session = session_of(rules)
    if any(isinstance(one, str) for one in outcomes(session, steps[:cut], finish=False)):
        return
    state = session.snapshot()
    other = session_of(rules)
    other.restore(state)
    assert other.snapshot() == state
    assert plainly(outcomes(other, steps[cut:])) == plainly(outcomes(session, steps[cut:]))
    assert [plain(f) for f in other.facts()] == [plain(f) for f in session.facts()]
    assert [plain(e) for e in other.events()] == [plain(e) for e in session.events()]


def check_keeping(rng: Any) -> int:
    """Nothing is stored beyond its date, and when time has passed all dates, only what has none is left."""
    rules, steps = random_rules(rng, emit_only=True), random_history(rng)
    tell(rules, steps)
    session = RuleSession(rules, tick=1)
    for step in steps:
        getattr(session, step.method)(*step.given)
        for node in session.network():
            assert all(s.until is None or s.until >= session.now for s in node.stored)
    session.finish()
    session.advance(session.now + 1_000)
    left = [s for node in session.network() for s in node.stored]
    assert all(s.until is None for s in left)
    assert not session.waiting()
    return sum(node.most_stored for node in session.network())


@settings(max_examples=150, **QUIET)
@given(ANY_SOURCE)
def test_network_and_oracle_tell_the_same(rng: Random) -> None:
    check_agreement(rng)


def test_the_same_for_many_seeds() -> None:
    firings = 0
    for seed in range(300, 450):
        firings += check_independence(Random(seed))
        check_snapshot(Random(seed))
        check_keeping(Random(seed))
    assert firings > 150


@settings(max_examples=50, **QUIET)
@given(ANY_SOURCE)
def test_firings_do_not_depend_on_other_rules(rng: Random) -> None:
    check_independence(rng)


@settings(max_examples=50, **QUIET)
@given(ANY_SOURCE)
def test_a_restored_session_goes_on(rng: Random) -> None:
    check_snapshot(rng)


@settings(max_examples=30, **QUIET)
@given(ANY_SOURCE)
def test_nothing_is_kept_beyond_its_date(rng: Random) -> None:
    check_keeping(rng)


# What a share of the random histories must show, at least, lest the tests above test nothing.
SHARES = {
    "firing": 0.38,
    "FactCondition": 0.2,
    "EventCondition": 0.2,
    "facts and events": 0.08,
    "facts alone": 0.06,
    "several facts": 0.04,
    "several events": 0.1,
    "three events": 0.002,
    "events in another order than written": 0.04,
    "test of time": 0.1,
    "negative bound": 0.08,
    "infinite bound": 0.025,
    "and around time": 0.02,
    "or around time": 0.012,
    "not around time": 0.02,
    "NoFact": 0.03,
    "NoEvent": 0.04,
    "waited": 0.02,
    "ChangeCondition": 0.025,
    "other join": 0.1,
    "time as a value": 0.015,
    "AssertFact": 0.05,
    "AssertEvent": 0.03,
    "Modify": 0.05,
    "Retract": 0.05,
    "LimitReached": 0.02,
}


def test_random_histories_show_every_construct() -> None:
    cases, counts = 400, Counter[str]()
    for seed in range(cases):
        rules, expected = check_agreement(Random(seed))
        fired = [h for one in expected if not isinstance(one, str) for h in one if isinstance(h, Fired)]
        counts.update({name for h in fired for name in shown(rule_named(rules, h.rule), h)})
        counts.update(one for one in expected if isinstance(one, str))
    missing = {name: counts[name] / cases for name, share in SHARES.items() if counts[name] < share * cases}
    assert not missing


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_many_random_histories(part: int) -> None:
    firings = 0
    for seed in range(part * 2_000 + 1_000, (part + 1) * 2_000 + 1_000):
        check_agreement(Random(seed))
        firings += check_independence(Random(seed))
        check_snapshot(Random(seed))
        check_keeping(Random(seed))
    assert firings > 2_000
