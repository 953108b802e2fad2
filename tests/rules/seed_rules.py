"""The three rules of the seed about equipments and their alarms, as data."""

from __future__ import annotations

from rule_parts import after, assigned, eq, shape, var

from cepheid.pattern.rule_model import (
    AssertFact,
    ChangeCondition,
    EventCondition,
    FactCondition,
    Modify,
    Retract,
    Rule,
    RuleSet,
)

CONFIRMATION = Rule(
    "AlarmConfirmation",
    (
        FactCondition(shape("Equipment", eq("state", "ACTIVE")), "e"),
        EventCondition(shape("Alarm", eq("eqpt", var("e"))), "a"),
        EventCondition(shape("Confirmation", eq("alarm", var("a")), after(1, 5, "a")), "c"),
    ),
    (AssertFact("ConfirmedAlarm", assigned(a=var("a"), c=var("c"))),),
)
CANCELLED = Rule(
    "AlarmCancelled",
    (
        EventCondition(shape("Alarm"), "a"),
        EventCondition(shape("Cancellation", eq("alarm", var("a")), after(1, 4, "a")), "c"),
    ),
    (Retract("a"),),
)
ON_ACTIVATION = Rule(
    "AlarmOnActivation",
    (
        ChangeCondition(
            shape("Equipment", eq("state", "ONLINE")), shape("Equipment", eq("state", "ACTIVE")), "act", "e"
        ),
        EventCondition(shape("Alarm", eq("eqpt", var("e")), after(0, 2, "act"))),
    ),
    (Modify("e", assigned(state="OFFLINE")),),
)
SEED = RuleSet((CONFIRMATION, CANCELLED, ON_ACTIVATION))
