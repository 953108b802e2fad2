"""The course of the seed's example, step by step: which node stores what until when, and what fires."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cepheid.pattern.rule_model import RuleSet
from cepheid.rules.happenings import Asserted, Fired, Happening, Modified, Released, Retracted
from cepheid.rules.inspection import NodeView
from cepheid.rules.session import RuleSession

sys.path.insert(0, str(Path(__file__).parent))

from seed_rules import CANCELLED, CONFIRMATION, ON_ACTIVATION, SEED


def session_of(*rules: Any) -> RuleSession:
    return RuleSession(RuleSet(rules), tick=1, tell_released=True)


def with_equipment(*rules: Any) -> RuleSession:
    session = session_of(*rules)
    session.assert_fact("Equipment", {"state": "ACTIVE"}, identity="equipment1", time=0)
    return session


def nodes(session: RuleSession, kind: str, type: str) -> list[NodeView]:
    return [n for n in session.network() if (n.kind, n.type) == (kind, type)]


def stored(node: NodeView) -> list[tuple[list[Any], int | None]]:
    return [([o.identity for o in s.objects], s.until) for s in node.stored]


def alarms(session: RuleSession) -> NodeView:
    return nodes(session, "discrimination", "Alarm")[0]


def pairs(session: RuleSession) -> NodeView:
    """Of an alarm and its active equipment."""
    return nodes(session, "facts", "Equipment")[0]


def names(told: list[Happening]) -> list[str]:
    return [h.rule if isinstance(h, Fired) else type(h).__name__ for h in told]


def test_a_pair_is_stored_until_its_confirmation_can_come_no_more() -> None:
    session = with_equipment(CONFIRMATION)
    assert session.assert_event("Alarm", {"eqpt": "equipment1"}, 10, "alarm1") == []
    assert stored(pairs(session)) == [(["alarm1", "equipment1"], 15)]
    # The join with equipments does not ask for alarms to be kept.
    assert stored(alarms(session)) == []


def test_alarm_1_is_released_after_15() -> None:
    session = with_equipment(CONFIRMATION)
    session.assert_event("Alarm", {"eqpt": "equipment1"}, 10, "alarm1")
    assert session.advance(15) == []
    assert [e.identity for e in session.events()] == ["alarm1"]
    (released,) = session.advance(16)
    assert isinstance(released, Released)
    assert released.event.identity == "alarm1"
    assert session.events() == []
    assert stored(pairs(session)) == []


def test_the_second_alarm_is_confirmed_and_no_confirmation_is_stored() -> None:
    session = with_equipment(CONFIRMATION)
    session.assert_event("Alarm", {"eqpt": "equipment1"}, 10, "alarm1")
    session.assert_event("Alarm", {"eqpt": "equipment1"}, 12, "alarm2")
    assert stored(pairs(session)) == [(["alarm1", "equipment1"], 15), (["alarm2", "equipment1"], 17)]
    told = session.assert_event("Confirmation", {"alarm": "alarm2"}, 14, "confirmation2")
    fired, released, asserted = told
    assert isinstance(fired, Fired)
    assert {n: o.identity for n, o in fired.objects.items()} == {
        "e": "equipment1",
        "a": "alarm2",
        "c": "confirmation2",
    }
    assert isinstance(asserted, Asserted)
    assert asserted.object.fields == {"a": "alarm2", "c": "confirmation2"}
    assert isinstance(released, Released)
    assert released.event.identity == "confirmation2"
    (confirmations,) = nodes(session, "discrimination", "Confirmation")
    assert (stored(confirmations), confirmations.most_stored) == ([], 0)


@pytest.mark.parametrize(("time", "fires"), [(10, False), (11, True), (15, True), (16, False)])
def test_both_bounds_are_in_the_window(time: int, fires: bool) -> None:
    session = with_equipment(CONFIRMATION)
    session.assert_event("Alarm", {"eqpt": "equipment1"}, 10, "alarm1")
    told = session.assert_event("Confirmation", {"alarm": "alarm1"}, time)
    assert ("AlarmConfirmation" in names(told)) is fires


def test_two_rules_share_the_alarms_which_are_kept_as_long_as_one_asks() -> None:
    session = session_of(CONFIRMATION, CANCELLED)
    session.assert_fact("Equipment", {"state": "ONLINE"}, identity="equipment3", time=0)
    session.assert_event("Alarm", {"eqpt": "equipment3"}, 30, "alarm3")
    node = alarms(session)
    assert node.rules == ("AlarmConfirmation", "AlarmCancelled")
    assert stored(node) == [(["alarm3"], 34)]
    (cancellations,) = nodes(session, "join", "Cancellation")
    assert [(a.who, a.how_long) for a in node.asked_by] == [(cancellations.id, 4)]
    assert stored(pairs(session)) == []


@pytest.mark.parametrize("rules", [(CONFIRMATION,), (CONFIRMATION, CANCELLED), SEED.rules])
def test_alarm_3_is_not_matched_to_an_equipment_that_becomes_active_later(rules: Any) -> None:
    session = session_of(*rules)
    session.assert_fact("Equipment", {"state": "ONLINE"}, identity="equipment3", time=0)
    session.assert_event("Alarm", {"eqpt": "equipment3"}, 30, "alarm3")
    assert names(session.update_fact("Equipment", "equipment3", {"state": "ACTIVE"}, 32)) == []
    assert stored(pairs(session)) == []
    told = session.assert_event("Confirmation", {"alarm": "alarm3"}, 33)
    assert "AlarmConfirmation" not in names(told)


def test_alarm_3_is_kept_to_34_and_then_let_go() -> None:
    session = session_of(CONFIRMATION, CANCELLED)
    session.assert_event("Alarm", {"eqpt": "equipment3"}, 30, "alarm3")
    assert session.advance(34) == []
    assert names(session.advance(35)) == ["Released"]
    assert stored(alarms(session)) == []


def test_a_cancelled_alarm_is_taken_back() -> None:
    session = with_equipment(CONFIRMATION, CANCELLED)
    session.assert_event("Alarm", {"eqpt": "equipment1"}, 30, "alarm3")
    told = session.assert_event("Cancellation", {"alarm": "alarm3"}, 31)
    assert [type(h) for h in told if not isinstance(h, Released)] == [Fired, Retracted]
    assert session.events() == []
    assert names(session.assert_event("Confirmation", {"alarm": "alarm3"}, 32)) == ["Released"]


def test_the_equipment_must_stay_active_until_the_confirmation() -> None:
    session = with_equipment(CONFIRMATION)
    session.assert_event("Alarm", {"eqpt": "equipment1"}, 10, "alarm1")
    session.update_fact("Equipment", "equipment1", {"state": "ONLINE"}, 12)
    assert stored(pairs(session)) == []
    session.update_fact("Equipment", "equipment1", {"state": "ACTIVE"}, 13)
    assert "AlarmConfirmation" not in names(session.assert_event("Confirmation", {"alarm": "alarm1"}, 14))


def test_an_alarm_within_two_ticks_of_the_activation() -> None:
    session = session_of(ON_ACTIVATION)
    session.assert_fact("Equipment", {"state": "ONLINE"}, identity="equipment1", time=0)
    session.update_fact("Equipment", "equipment1", {"state": "ACTIVE"}, 5)
    (change,) = nodes(session, "discrimination", "Equipment")
    assert stored(change) == [(["equipment1"], 7)]
    told = session.assert_event("Alarm", {"eqpt": "equipment1"}, 7)
    fired, modified = (h for h in told if not isinstance(h, Released))
    assert isinstance(fired, Fired)
    assert fired.objects["act"].fields == {"state": "ACTIVE", "old": {"state": "ONLINE"}}
    assert isinstance(modified, Modified)
    assert modified.object.fields == {"state": "OFFLINE"}
    assert [f.fields for f in session.facts()] == [{"state": "OFFLINE"}]


def test_an_alarm_after_three_ticks_is_too_late() -> None:
    session = session_of(ON_ACTIVATION)
    session.assert_fact("Equipment", {"state": "ONLINE"}, identity="equipment1", time=0)
    session.update_fact("Equipment", "equipment1", {"state": "ACTIVE"}, 5)
    assert "AlarmOnActivation" not in names(session.assert_event("Alarm", {"eqpt": "equipment1"}, 8))
