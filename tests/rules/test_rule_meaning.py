"""What rules mean, by examples worked out by hand. Each runs on the network and on the oracle."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cepheid.errors import InputMistake, LimitReached, PatternMistake, SnapshotMistake
from cepheid.pattern.expr import Binary, Expr, Literal, Unary
from cepheid.pattern.rule_model import (
    AssertEvent,
    AssertFact,
    ChangeCondition,
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    Modify,
    NoEvent,
    NoFact,
    ObjectType,
    Retract,
    Rule,
    RuleSet,
)
from cepheid.pattern.types import INT
from cepheid.rules.happenings import Asserted, Emitted, Fired, Happening, Modified, Retracted, Skipped
from cepheid.rules.session import RuleSession

sys.path.insert(0, str(Path(__file__).parent))

from naive_rules import NaiveRules
from rule_parts import after, assigned, compare, eq, own, shape, var
from seed_rules import SEED

Session = Any  # both kinds have the same methods


@pytest.fixture(params=[RuleSession, NaiveRules])
def start(request: pytest.FixtureRequest) -> Any:
    def started(*rules: Rule, types: tuple[ObjectType, ...] = (), **options: Any) -> Session:
        return request.param(RuleSet(rules, types), tick=1, **options)

    return started


def rule(name: str, *conditions: Condition, then: Any = (), priority: int = 0) -> Rule:
    return Rule(name, conditions, tuple(then), priority)


def fact(variable: str, type: str, *tests: Expr, **values: Expr) -> FactCondition:
    return FactCondition(shape(type, *tests, **values), variable)


def event(variable: str, type: str, *tests: Expr, **values: Expr) -> EventCondition:
    return EventCondition(shape(type, *tests, **values), variable)


def fired(told: list[Happening]) -> list[Any]:
    """(rule, time, identities in the order of the lines)."""
    return [(h.rule, h.time, *(o.identity for o in h.objects.values())) for h in told if isinstance(h, Fired)]


# --- facts are as they were before the first event, and hold until the last -----------------------------------------

LIMITED = rule(
    "Limited",
    fact("e", "E", compare(">=", "limit", 0)),
    event("a", "A", compare(">", "x", var("e", "limit"))),
    event("b", "B", after(-5, 5, "a")),
)


def test_tests_of_events_see_facts_as_they_were_before_the_first(start: Any) -> None:
    session = start(LIMITED)
    session.assert_fact("E", {"limit": 1}, 1, time=0)
    session.assert_event("B", {}, 1, 1)
    session.update_fact("E", 1, {"limit": 10}, 2)
    told = session.assert_event("A", {"x": 5}, 3, 1)  # 5 > 1: the limit just before B
    assert fired(told) == [("Limited", 3, 1, 1, 1)]
    assert told[0].objects["e"].fields == {"limit": 1}


def test_the_tests_of_facts_must_hold_in_between(start: Any) -> None:
    session = start(LIMITED)
    session.assert_fact("E", {"limit": 1}, 1, time=0)
    session.assert_event("B", {}, 1, 1)
    session.update_fact("E", 1, {"limit": -1}, 2)
    session.update_fact("E", 1, {"limit": 1}, 2)
    assert fired(session.assert_event("A", {"x": 5}, 3, 1)) == []


def test_a_fact_that_came_and_went_in_between_forbids(start: Any) -> None:
    session = start(rule("R", event("a", "A"), event("b", "B"), NoFact(shape("E", eq("x", var("b", "x"))))))
    session.assert_event("A", {}, 1, 1)
    session.assert_fact("E", {"x": 7}, 1, time=1)
    session.retract_fact("E", 1, 1)
    assert fired(session.assert_event("B", {"x": 7}, 2, 7)) == []
    assert fired(session.assert_event("B", {"x": 8}, 2, 8)) == [("R", 2, 1, 8)]


def test_a_fact_joined_by_the_last_event_must_have_been_there_before_the_first(start: Any) -> None:
    session = start(rule("R", event("a", "A"), event("b", "B"), fact("e", "E", eq("x", var("b", "x")))))
    session.assert_fact("E", {"x": 1}, 1, time=0)
    session.assert_event("A", {}, 1, 1)
    session.assert_fact("E", {"x": 1}, 2, time=1)
    assert fired(session.assert_event("B", {"x": 1}, 2, 1)) == [("R", 2, 1, 1, 1)]


def test_the_same_event_may_serve_two_lines(start: Any) -> None:
    session = start(rule("R", event("a", "A"), event("b", "A", after(0, 5, "a"))))
    assert fired(session.assert_event("A", {}, 1, 1)) == [("R", 1, 1, 1)]
    assert fired(session.assert_event("A", {}, 1, 2)) == [("R", 1, 1, 2), ("R", 1, 2, 1), ("R", 1, 2, 2)]


def test_null_equals_nothing_and_numbers_of_two_kinds_may_be_equal(start: Any) -> None:
    session = start(rule("R", fact("e", "E"), event("a", "A", eq("x", var("e", "x")))))
    session.assert_fact("E", {"x": 1}, 1, time=0)
    session.assert_fact("E", {"x": None}, 2, time=0)
    assert fired(session.assert_event("A", {"x": None}, 1, 1)) == []
    assert fired(session.assert_event("A", {"x": 1.0}, 1, 2)) == [("R", 1, 1, 2)]


# --- rules of facts alone ---------------------------------------------------------------------------------------------


def test_facts_alone_fire_for_each_new_combination_of_states(start: Any) -> None:
    session = start(rule("R", fact("e", "E", eq("x", 1)), fact("g", "G", eq("x", var("e")))))
    assert fired(session.assert_fact("E", {"x": 1}, 1, time=0)) == []
    assert fired(session.assert_fact("G", {"x": 1}, 5)) == [("R", 0, 1, 5)]
    assert fired(session.update_fact("G", 5, {"y": 1})) == [("R", 0, 1, 5)]
    assert fired(session.update_fact("G", 5, {"y": 1})) == []  # which changes nothing


def test_a_combination_that_was_forbidden_for_a_while_does_not_fire_again(start: Any) -> None:
    session = start(rule("R", fact("e", "E"), NoFact(shape("G", eq("x", var("e"))))))
    session.assert_fact("G", {"x": 2}, 1, time=0)
    assert fired(session.assert_fact("E", {}, 1)) == [("R", 0, 1)]
    assert fired(session.assert_fact("E", {}, 2)) == []
    assert fired(session.retract_fact("G", 1)) == [("R", 0, 2)]
    session.assert_fact("G", {"x": 2}, 1)
    assert fired(session.retract_fact("G", 1)) == []


# --- absent events ----------------------------------------------------------------------------------------------------

ALONE = rule("Alone", event("a", "A"), NoEvent(shape("B", eq("x", var("a")), after(1, 5, "a"))))


def test_a_rule_waits_until_time_has_passed_the_window(start: Any) -> None:
    session = start(ALONE)
    assert fired(session.assert_event("A", {}, 10, 1)) == []
    assert fired(session.advance(15)) == []
    assert fired(session.advance(16)) == [("Alone", 15, 1)]


@pytest.mark.parametrize(("time", "count"), [(10, 1), (11, 0), (15, 0), (16, 1)])
def test_an_event_in_the_window_prevents_it(start: Any, time: int, count: int) -> None:
    session = start(ALONE)
    session.assert_event("A", {}, 10, 1)
    told = session.assert_event("B", {"x": 1}, time, 1) + session.finish()
    assert len(fired(told)) == count


def test_what_was_taken_back_prevents_nothing(start: Any) -> None:
    session = start(ALONE)
    session.assert_event("A", {}, 10, 1)
    session.assert_event("B", {"x": 1}, 12, 9)
    session.retract_event("B", 9)
    assert fired(session.finish()) == [("Alone", 15, 1)]


def test_a_firing_that_waits_ends_when_its_event_is_taken_back(start: Any) -> None:
    session = start(ALONE)
    session.assert_event("A", {}, 10, 1)
    session.retract_event("A", 1, 12)
    assert fired(session.finish()) == []


def test_facts_must_hold_while_a_rule_waits(start: Any) -> None:
    absent = NoEvent(shape("B", after(1, 5, "a")))
    session = start(rule("R", fact("e", "E", eq("x", 1)), event("a", "A"), absent))
    session.assert_fact("E", {"x": 1}, 1, time=0)
    session.assert_event("A", {}, 10, 1)
    session.assert_event("A", {}, 13, 2)
    assert fired(session.update_fact("E", 1, {"x": 2}, 16)) == [("R", 15, 1, 1)]
    assert fired(session.finish()) == []


def test_the_date_comes_from_or_and_not_too(start: Any) -> None:
    # Not (more than 3 after) or at 6: the latest time is 6 after.
    window = Binary("or", Unary("not", after(4, None, "a")), after(6, 6, "a"))
    session = start(rule("R", event("a", "A"), NoEvent(shape("B", window, eq("x", 1)))))
    session.assert_event("A", {}, 10, 1)
    session.assert_event("B", {"x": 1}, 15, 1)  # neither
    assert fired(session.finish()) == [("R", 16, 1)]


def test_without_an_upper_bound_it_is_judged_at_once(start: Any) -> None:
    session = start(rule("R", event("a", "A"), NoEvent(shape("B", after(None, 0, "a")))))
    assert fired(session.assert_event("A", {}, 1, 1)) == [("R", 1, 1)]
    session.assert_event("B", {}, 2, 1)
    assert fired(session.assert_event("A", {}, 3, 2)) == []


def test_dates_come_in_order_each_after_the_operations_of_its_time(start: Any) -> None:
    echo = rule(
        "Echo",
        event("a", "A"),
        NoEvent(shape("C", after(0, 2, "a"))),
        then=[AssertEvent("B", assigned(x=var("a")))],
    )
    seen = rule("Seen", event("b", "B"), NoEvent(shape("C", after(0, 1, "b"))))
    session = start(echo, seen)
    session.assert_event("A", {}, 10, 1)
    session.assert_event("A", {}, 11, 2)
    assert fired(session.finish()) == [
        ("Echo", 12, 1),
        ("Echo", 13, 2),
        ("Seen", 13, 1),
        ("Seen", 14, 2),
    ]


# --- changes ----------------------------------------------------------------------------------------------------------


def test_a_change_sees_old_and_new(start: Any) -> None:
    rise = ChangeCondition(
        shape("E", was=own("x")), shape("E", compare(">", own("x"), var("was"))), "act", "e"
    )
    emit = Emit("rose", assigned(old=var("act", "old", "x"), new=var("e", "x"), who=var("e")))
    session = start(rule("Rise", rise, then=[emit]))
    assert session.assert_fact("E", {"x": 1}, 7, time=0) == []  # a first assert is no change
    assert session.update_fact("E", 7, {"x": 0}) == []
    told = session.update_fact("E", 7, {"x": 5}, 3)
    assert [h.fields for h in told if isinstance(h, Emitted)] == [{"old": 0, "new": 5, "who": 7}]


def test_an_assert_of_what_is_there_is_an_update(start: Any) -> None:
    change = ChangeCondition(shape("E", eq("x", 1)), shape("E", eq("x", 2)), "act")
    session = start(rule("R", change))
    session.assert_fact("E", {"x": 1, "y": 1}, 7, time=0)
    assert fired(session.assert_fact("E", {"x": 2}, 7)) == [("R", 0, 7)]
    assert [dict(f.fields) for f in session.facts()] == [{"x": 2}]


# --- order and actions ------------------------------------------------------------------------------------------------


def test_order_is_priority_then_events_then_rules_then_facts(start: Any) -> None:
    facts = fact("e", "E")
    session = start(
        rule("Second", facts, event("a", "A")),
        rule("Third", event("a", "A")),
        rule("First", event("a", "A"), priority=5),
    )
    session.assert_fact("E", {}, "late", time=0)
    session.assert_fact("E", {}, "early", time=0)
    session.update_fact("E", "late", {"x": 1})
    told = session.assert_event("A", {}, 1, 1)
    assert fired(told) == [
        ("First", 1, 1),
        ("Second", 1, "early", 1),
        ("Second", 1, "late", 1),
        ("Third", 1, 1),
    ]


def test_two_rules_that_count_on_one_fact_both_count(start: Any) -> None:
    count = Modify("e", assigned(n=Binary("+", var("e", "n"), Literal(1))))
    conditions = (fact("e", "E"), event("a", "A"))
    session = start(rule("One", *conditions, then=[count]), rule("Two", *conditions, then=[count]))
    session.assert_fact("E", {"n": 0}, 1, time=0)
    told = session.assert_event("A", {}, 1, 1)
    assert fired(told) == [("One", 1, 1, 1), ("Two", 1, 1, 1)]
    assert [h.object.fields["n"] for h in told if isinstance(h, Modified)] == [1, 2]


def test_emitted_and_asserted_values_are_those_that_were_matched(start: Any) -> None:
    conditions = (fact("e", "E"), event("a", "A"))
    change = rule("One", *conditions, then=[Modify("e", assigned(n=9))], priority=1)
    tell = rule("Two", *conditions, then=[AssertFact("G", assigned(n=var("e", "n")))])
    session = start(change, tell)
    session.assert_fact("E", {"n": 0}, 1, time=0)
    told = session.assert_event("A", {}, 1, 1)
    assert [h.object.fields for h in told if isinstance(h, Asserted)] == [{"n": 0}]


def test_what_is_gone_cannot_be_modified_or_retracted_again(start: Any) -> None:
    conditions = (fact("e", "E"), event("a", "A"))
    session = start(
        rule("One", *conditions, then=[Retract("e"), Retract("a")]),
        rule("Two", *conditions, then=[Retract("a"), Modify("e", assigned(n=1))]),
    )
    session.assert_fact("E", {"n": 0}, 1, time=0)
    told = session.assert_event("A", {}, 1, 1)
    assert [type(h) for h in told] == [Fired, Fired, Retracted, Retracted, Skipped, Skipped]
    assert [(h.action, h.reason) for h in told if isinstance(h, Skipped)] == [
        ("retract ?a", "it is gone"),
        ("modify ?e", "it is gone"),
    ]
    assert session.facts() == []


def test_operations_on_what_is_not_there_are_told(start: Any) -> None:
    session = start(ALONE)
    (told,) = session.update_fact("E", 1, {"x": 1}, 0)
    assert (told.action, told.reason, told.firing) == ("update E", "it is gone", None)
    (told,) = session.retract_fact("E", 1)
    assert (told.action, told.reason) == ("retract E", "it is gone")


def test_actions_are_carried_out_breadth_first(start: Any) -> None:
    session = start(
        rule("One", event("a", "A"), then=[AssertEvent("B", ()), AssertEvent("C", ())]),
        rule("OnB", event("b", "B"), then=[AssertEvent("D", ())]),
        rule("OnC", event("c", "C")),
        rule("OnD", event("d", "D")),
    )
    told = session.assert_event("A", {}, 1, 1)
    assert [h.rule for h in told if isinstance(h, Fired)] == ["One", "OnB", "OnC", "OnD"]


# --- identities, time, limits, mistakes -------------------------------------------------------------------------------


def test_identities_come_from_the_key_or_are_numbered(start: Any) -> None:
    keyed = ObjectType("E", (("id", INT), ("x", INT)), key="id")
    session = start(ALONE, types=(keyed,))
    session.assert_fact("E", {"id": 40, "x": 1}, time=0)
    session.assert_fact("G", {"x": 1})
    session.assert_fact("G", {"x": 1})
    assert [(f.type, f.identity) for f in session.facts()] == [("E", 40), ("G", 1), ("G", 2)]


def test_a_value_of_another_kind_is_not_an_identity(start: Any) -> None:
    session = start(rule("R", fact("e", "E"), event("a", "A", eq("x", var("e")))))
    session.assert_fact("E", {}, "e1", time=0)
    session.assert_fact("E", {}, 7, time=0)
    assert fired(session.assert_event("A", {"x": 7}, 1, 1)) == [("R", 1, 7, 1)]


def test_time_does_not_go_back(start: Any) -> None:
    session = start(ALONE)
    session.assert_event("A", {}, 10, 1)
    with pytest.raises(InputMistake, match="time goes back"):
        session.assert_event("A", {}, 9, 2)


def test_rules_that_feed_themselves_are_stopped(start: Any) -> None:
    feed = rule("Feed", event("a", "A"), then=[AssertEvent("B", ())])
    back = rule("Back", event("b", "B"), then=[AssertEvent("A", ())])
    session = start(feed, back, rule("Other", event("c", "C")), max_firings=50)
    with pytest.raises(LimitReached) as told:
        session.assert_event("A", {}, 1, 1)
    if isinstance(session, RuleSession):
        assert "more than 50 firings; the last were of `Feed`, `Back`" in str(told.value)
        assert "`Other`" not in str(told.value)


def test_what_begins_to_wait_does_not_raise_the_limit(start: Any) -> None:
    """Two rules fire and one begins to wait; only what waited before is not counted, as Late itself at 11."""
    late = rule("Late", event("a", "A"), NoEvent(shape("B", after(0, 5, "a"))))
    rules = rule("One", event("a", "A")), rule("Two", event("a", "A")), late
    with pytest.raises(LimitReached):
        start(*rules, max_firings=1).assert_event("A", {}, 1, 1)
    session = start(*rules, max_firings=2)
    session.assert_event("A", {}, 1, 1)
    assert fired(session.assert_event("A", {}, 11, 2)) == [("Late", 6, 1), ("One", 11, 2), ("Two", 11, 2)]


def test_after_a_limit_the_next_input_begins_anew(start: Any) -> None:
    many = rule("Many", event("a", "A"), event("b", "A"), then=[AssertEvent("B", ())])
    session = start(many, max_firings=3)
    session.assert_event("A", {}, 1, 1)
    session.assert_event("A", {}, 2, 2)
    with pytest.raises(LimitReached):
        session.assert_event("A", {}, 3, 3)
    assert session.assert_event("C", {}, 4, 1) == []


def test_a_rule_needs_something_to_wait_for() -> None:
    with pytest.raises(PatternMistake, match="waits for nothing"):
        RuleSession(RuleSet((rule("R", NoFact(shape("E"))),)))


def test_an_absent_event_needs_a_window() -> None:
    with pytest.raises(PatternMistake, match="no `B`, but when"):
        RuleSession(RuleSet((rule("R", event("a", "A"), NoEvent(shape("B", eq("x", var("a"))))),)))


def test_snapshots_of_other_rules_or_versions_are_refused() -> None:
    session = RuleSession(SEED)
    state = session.snapshot()
    with pytest.raises(SnapshotMistake, match="other rules"):
        RuleSession(RuleSet((ALONE,))).restore(state)
    with pytest.raises(SnapshotMistake, match="version 99"):
        session.restore(state.replace(b'"version":2', b'"version":99'))
    with pytest.raises(SnapshotMistake, match="not a snapshot"):
        session.restore(b"nonsense")


def test_many_events_at_once_are_the_same_as_one_by_one() -> None:
    rows: list[Any] = [("A", {}, n, n % 3) for n in range(20)] + [("B", {"x": 1}, 20, None)]
    together, apart = RuleSession(RuleSet((ALONE,)), tick=1), RuleSession(RuleSet((ALONE,)), tick=1)
    told = [h for row in rows for h in apart.assert_event(*row)]
    assert fired(together.assert_events(rows)) == fired(told) != []
