"""An input that fails changes nothing: afterwards the session is as if it had not come."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cepheid import Rules
from cepheid.errors import CepheidError, EvaluationError, InputMistake, LimitReached
from cepheid.pattern.rule_model import RuleSet
from cepheid.rules import memory, working
from cepheid.rules.happenings import Released
from cepheid.rules.session import RuleSession

sys.path.insert(0, str(Path(__file__).parent))

from random_rules import FIELDS, Step, random_history, random_rules
from rule_runs import plainly

GOOD = """
rule Pair {
  when { ?e: Equipment(level >= 0); ?a: event Alarm(eqpt == ?e; grade > 3);
         ?c: event Confirmation(alarm == ?a; ?this after[1,5] ?a; weight < ?a.grade) }
  then { assert new Confirmed(alarm = ?a); emit Pair(?a, ?c); }
}
rule Unanswered {
  when { ?a: event Alarm(); not event Confirmation(alarm == ?a; ?this after[0,8] ?a) }
  then { assert new Open(alarm = ?a); emit Ratio(value = ?a.grade / ?a.parts); }
}
"""


def started() -> Rules:
    rules = Rules(GOOD)
    rules.assert_fact("Equipment", {"level": 1}, id="pump", time=0)
    rules.event("Alarm", {"eqpt": "pump", "grade": 5, "parts": 1}, id="a1", time=10)
    return rules


# What fails, in what, and the words for it.
FAILING: dict[str, tuple[Callable[[Rules], Any], str]] = {
    "a test of the event alone": (
        lambda r: r.event("Alarm", {"eqpt": "pump", "grade": "high"}, time=11),
        "grade > 3",
    ),
    "a test of a join, after a tuple was found": (
        lambda r: r.event("Confirmation", {"alarm": "a1", "weight": "much"}, time=12),
        "weight",
    ),
    "a test of a fact that is asserted": (
        lambda r: r.assert_fact("Equipment", {"level": "one"}, id="fan", time=12),
        "level >= 0",
    ),
    "a test of a fact that is updated": (
        lambda r: r.update("Equipment", "pump", {"level": "none"}, time=13),
        "level >= 0",
    ),
    "an action after another one, at a date that has passed": (lambda r: r.advance(30), "parts"),
    "the same, before an event": (lambda r: r.event("Alarm", {"grade": 1, "parts": 2}, time=40), "parts"),
    "the same, at the end": (lambda r: r.finish(), "parts"),
}


@pytest.mark.parametrize("name", FAILING)
def test_nothing_is_left(name: str) -> None:
    fail, words = FAILING[name]
    rules, other = started(), started()
    if "parts" in words:  # an alarm whose date makes an action fail
        for one in (rules, other):
            one.event("Alarm", {"eqpt": "pump", "grade": 4, "parts": "two"}, id="a2", time=11)
    before = rules.snapshot(), rules.explain()
    for _ in range(2):
        with pytest.raises(EvaluationError, match=words):
            fail(rules)
        assert (rules.snapshot(), rules.explain()) == before
    for one in (rules, other):
        one.retract_event("Alarm", "a2")
    assert list(rules.event("Confirmation", {"alarm": "a1", "weight": 1}, id="c", time=13)) == list(
        other.event("Confirmation", {"alarm": "a1", "weight": 1}, id="c", time=13)
    )
    assert list(rules.finish()) == list(other.finish())
    assert rules.facts() == other.facts()


STEPS = """
rule Begin { when { ?k: Keep(); ?s: event Start() }
             then { modify ?k { n = n + 1; } assert new Stage(n = 1, of = ?s.of); } }
rule Next { when { ?a: Stage(n < 3) } then { assert new Stage(n = ?a.n + 1, of = ?a.of); retract ?a; } }
rule Last { when { ?a: Stage(n == 3) } then { assert event Done(share = 12 / ?a.of); } }
rule Seen { when { ?d: event Done() } then { emit Done(share = ?d.share); } }
"""


def test_a_cascade_that_fails_in_its_last_step() -> None:
    rules = Rules(STEPS)
    rules.assert_fact("Keep", {"n": 0}, id="k", time=0)
    before = rules.snapshot()
    with pytest.raises(EvaluationError, match="12 / of"):
        rules.event("Start", {"of": "nobody"}, time=5)
    assert rules.snapshot() == before
    assert [(f.type, f.fields) for f in rules.facts()] == [("Keep", {"n": 0})]
    told = rules.event("Start", {"of": 4}, time=3)  # time has not come as far as 5
    assert told.rows("Done") == [{"share": 3}]
    assert [f.fields["n"] for f in rules.facts("Keep")] == [1]


def test_of_a_table_all_rows_or_none() -> None:
    rules = started()
    before = rules.snapshot()
    rows = [{"time": t, "eqpt": "pump", "grade": g, "parts": 1} for t, g in ((11, 4), (12, "high"))]
    with pytest.raises(EvaluationError):
        rules.read(events={"Alarm": rows})
    assert rules.snapshot() == before
    rules.read(events={"Alarm": rows[:1]})
    assert [(e.id, e.time) for e in rules.events("Alarm")] == [("a1", 10), (1, 11)]


def test_a_loop_that_reaches_the_limit() -> None:
    text = "rule Up { when { ?c: Counter(on == true) } then { modify ?c { n = n + 1; } } }"
    rules = Rules(text, max_firings=20)
    rules.assert_fact("Counter", {"n": 0, "on": False}, id="c", time=0)
    before = rules.snapshot()
    with pytest.raises(LimitReached):
        rules.update("Counter", "c", {"on": True}, time=1)
    assert rules.snapshot() == before
    assert rules.facts()[0].fields == {"n": 0, "on": False}


def test_an_event_that_was_retracted_before_its_date_passed() -> None:
    """At 13 q is retracted, after 15 nobody would need it, at 19 a division fails: then q is there as before."""
    rules = Rules("""
        rule Gone { when { ?q: event Q(); not event A(?this after[0,3] ?q) } then { retract ?q; } }
        rule Pair { when { ?q: event Q(); ?b: event B(?this after[0,5] ?q) } then { emit Pair(?q, ?b); } }
        rule Late { when { ?p: event P(); not event A(?this after[0,9] ?p) } then { emit Late(n = 1 / ?p.n); } }""")
    rules.event("Q", id="q", time=10)
    rules.event("P", {"n": "two"}, id="p", time=10)
    before = rules.snapshot(), rules.explain()
    for _ in range(2):
        with pytest.raises(EvaluationError):
            rules.advance(30)
        assert (rules.snapshot(), rules.explain()) == before
    assert rules.event("B", id="b", time=12).rows("Pair") == [{"q": "q", "b": "b"}]
    rules.event("A", time=12)  # so that neither is retracted, nor late
    rules.advance(16)
    assert rules.events("Q") == []


def test_events_are_let_go_in_the_order_in_which_they_came() -> None:
    """Both at 7, though an input that failed was the first to ask for that date."""
    text = """
        rule Ab { when { ?a: event A(); event B(?this after[0,5] ?a) } then { } }
        rule Cd { when { ?c: event C(); event D(?this after[0,5] ?c) } then { } }
        rule Half { when { ?c: event C() } then { emit Half(n = 1 / ?c.n); } }"""
    session = RuleSession(Rules(text).rules, tick=1, tell_released=True)
    with pytest.raises(EvaluationError):
        session.assert_event("C", {"n": "two"}, 1)
    session.assert_event("A", {}, 1)
    session.assert_event("C", {"n": 2}, 1)
    assert [(h.event.type, h.time) for h in session.advance(7) if isinstance(h, Released)] == [
        ("A", 7),
        ("C", 7),
    ]


def test_facts_stay_in_their_order() -> None:
    rules = Rules("rule R { when { ?f: F(n < 9) } then { retract ?f; emit Half(n = 8 / ?f.n); } }")
    for name, n in (("a", 20), ("b", 30), ("c", 40)):
        rules.assert_fact("F", {"n": n}, id=name)
    before = rules.facts()
    with pytest.raises(EvaluationError):
        rules.update("F", "b", {"n": True})
    assert rules.facts() == before


def test_of_many_events_those_before_have_happened() -> None:
    text = "rule R { when { ?a: event A(n > 0) } then { emit N(n = ?a.n); } }"
    session = RuleSession(Rules(text).rules)
    told: list[Any] = []
    rows = [("A", {"n": n}, at, None) for at, n in enumerate((1, 2, "x", 4))]
    with pytest.raises(EvaluationError):
        session.assert_events(rows, told)
    assert [h.fields for h in told[1::2]] == [{"n": 1}, {"n": 2}]
    assert (session.number, session.firings, session.clock) == (2, 2, 1)


def test_a_source_of_events_that_fails_takes_nothing_back() -> None:
    session = RuleSession(Rules("rule R { when { ?a: event A() } then { emit N(?a); } }").rules)

    def events() -> Any:
        yield ("A", {}, 1, None)
        raise OSError

    told: list[Any] = []
    with pytest.raises(OSError):
        session.assert_events(events(), told)
    assert (len(told), session.number, session.firings) == (2, 1, 1)


# --- random rules and histories -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def limits_of_a_small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "FORGET_AFTER", 0)
    monkeypatch.setattr(memory, "TIDY", 2)
    monkeypatch.setattr(memory, "NARROW", 1)


def spoiled(step: Step, rng: Random) -> Step:
    """Now and then with a value that cannot be compared with others."""
    given = tuple(
        {**one, rng.choice(FIELDS): rng.choice(("text", True))} if isinstance(one, dict) else one
        for one in step.given
    )
    return replace(step, given=given) if rng.random() < 0.4 else step


def called(session: RuleSession, step: Step) -> Any:
    return getattr(session, step.method)(*step.given)


def check_failures(rng: Random, counts: Counter[str], telling: bool = False) -> None:
    """A session that has met failures, and one to which only what succeeded has come."""
    rules, steps = random_rules(rng), random_history(rng, 25)
    steps = [spoiled(step, rng) for step in steps] + [Step("finish", ())]
    met, spared = (session_of(rules, telling) for _ in range(2))
    for step in steps:
        before = met.snapshot(), met.network(), met.facts(), met.next_date()
        try:
            told = called(met, step)
        except CepheidError as problem:
            counts[type(problem).__name__] += 1
            assert (met.snapshot(), met.network(), met.facts(), met.next_date()) == before
            continue
        counts["succeeded"] += 1
        assert plainly([told]) == plainly([called(spared, step)])
    assert met.snapshot() == spared.snapshot()


def session_of(rules: RuleSet, telling: bool) -> RuleSession:
    return RuleSession(rules, tick=1, max_firings=4, tell_released=telling)


def test_random_failures() -> None:
    counts: Counter[str] = Counter()
    for seed in range(80):
        check_failures(Random(seed), counts, telling=seed % 4 == 0)
    assert counts["EvaluationError"] > 60
    assert counts["LimitReached"] > 5
    assert counts["succeeded"] > 500


@pytest.mark.soak
def test_many_random_failures() -> None:
    counts: Counter[str] = Counter()
    for seed in range(1_000, 6_000):
        check_failures(Random(seed), counts, telling=seed % 4 == 0)
    assert counts["EvaluationError"] > 4_000


def test_an_input_that_is_refused_is_none() -> None:
    rules = started()
    before = rules.snapshot()
    with pytest.raises(InputMistake):
        rules.event("Alarm", {"grade": 1}, time=9)
    assert rules.snapshot() == before


# --- patterns beside rules ----------------------------------------------------------------------------------------

BURST = "stream Burst = Alarm as x -> Alarm[eqpt == x.eqpt] as y within 9s .emit(eqpt: y.eqpt, n: y.n)"
WITH_PATTERNS = """
rule Big { when { ?e: Equipment(); ?b: event Burst(eqpt == ?e) }
           then { modify ?e { bursts = bursts + 1; } emit Share(n = 12 / ?b.n); } }
rule Late { when { ?b: event Burst(); not event Answer(?this after[0,4] ?b) } then { emit Late(n = ?b.n); } }
"""


def test_rules_and_patterns_are_taken_back_together() -> None:
    """The second alarm makes a match, and the match an action that fails: then the alarm was none for either."""
    rules, other = (Rules(WITH_PATTERNS, patterns=BURST) for _ in range(2))
    for one in (rules, other):
        one.assert_fact("Equipment", {"bursts": 0}, id="p", time=0)
        one.event("Alarm", {"eqpt": "p", "n": 1}, id=1, time=1)
    before = rules.snapshot()
    with pytest.raises(EvaluationError, match="12 / n"):
        rules.event("Alarm", {"eqpt": "p", "n": "x"}, id=2, time=3)
    assert rules.snapshot() == before
    for time, n in ((2, 3), (4, 5), (30, 1)):
        found = [list(one.event("Alarm", {"eqpt": "p", "n": n}, time=time)) for one in (rules, other)]
        assert found[0] == found[1]
        assert found[0]
    assert rules.facts() == other.facts() != []
