"""Rules with windows of 1,000 ticks over a long stream: what is kept stays within the events of the windows.

Five rules: an alarm is confirmed; an alarm is not answered (the firing waits); three events in a chain of which only
neighbours are bound; an equipment changes its state and has an alarm; a high reading comes before an alarm. Facts are
updated all the time.

    python benchmarks/rules_memory.py [--events 5000000]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from cepheid.pattern.expr import Binary, Expr, Field, Literal
from cepheid.pattern.rule_model import (
    THIS,
    Assignment,
    ChangeCondition,
    Condition,
    Emit,
    EventCondition,
    FactCondition,
    NoEvent,
    Rule,
    RuleSet,
    Shape,
    object_field,
)
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.rules.happenings import Fired
from cepheid.rules.objects import Event
from cepheid.rules.session import RuleSession

FOLDER = Path("build/bench")
EQUIPMENTS = 1_000
PER_TICK = 10
WINDOW = 1_000  # ticks
REPORTS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=5_000_000)
    count = parser.parse_args().events
    session = RuleSession(RuleSet(_rules()), tick=1)
    for equipment in range(EQUIPMENTS):
        session.assert_fact("Equipment", {"state": "ACTIVE"}, identity=equipment, time=0)
    in_window = (WINDOW + 1) * PER_TICK
    print(f"{count:,} events, {in_window:,} of them in a window of {WINDOW:,} ticks")
    print(
        f"{'events':>11} {'kept':>8} {'tuples':>8} {'waiting':>8} {'firings':>10} {'MB':>6} {'events/s':>10}"
    )
    lines: list[dict[str, Any]] = []
    stream, start = _events(count), time.process_time()
    for part in range(REPORTS):
        _feed(session, stream, count // REPORTS)
        seconds = time.process_time() - start
        lines.append(_line(session, (part + 1) * (count // REPORTS), seconds))
        if lines[-1]["kept"] > in_window:
            sys.exit(f"more is kept than the {in_window:,} events of the window")
    most = max(line["kept"] for line in lines)
    print(f"at most {most:,} events kept, of {in_window:,} in the window; {lines[-1]['mb']} MB at the end")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "rules_memory.json").write_text(json.dumps(lines, indent=1) + "\n")


def _feed(session: RuleSession, stream: Iterator[Any], count: int) -> None:
    """Events in lots, and now and then a fact that changes."""
    rng = random.Random(count)
    lot = []
    for _ in range(count):
        lot.append(next(stream))
        if len(lot) == 1_000:
            told = session.assert_events(lot)
            assert all(h.time <= lot[-1][2] for h in told if isinstance(h, Fired))
            lot = []
            for state in ("ONLINE", "ACTIVE"):
                session.update_fact("Equipment", rng.randrange(EQUIPMENTS), {"state": state})
    session.assert_events(lot)


def _line(session: RuleSession, done: int, seconds: float) -> dict[str, Any]:
    kept = sum(e.fact is None for e in session.events())
    stored = sum(isinstance(s.objects[0], Event) for n in session.network() for s in n.stored)
    waiting = len(session.waiting())
    mb = psutil.Process().memory_info().rss / 2**20
    line = {
        "events": done,
        "kept": kept,
        "tuples": stored,
        "waiting": waiting,
        "firings": session.firings,
        "mb": round(mb),
        "events_a_second": round(done / seconds),
    }
    print(
        f"{done:>11,} {kept:>8,} {stored:>8,} {waiting:>8,} {session.firings:>10,} {mb:>6,.0f} "
        f"{done / seconds:>10,.0f}",
        flush=True,
    )
    return line


def _events(count: int) -> Iterator[tuple[str, dict[str, Any], int, int]]:
    rng = random.Random(7)
    recent = deque([0], maxlen=200)
    for key in range(count):
        moment, luck = key // PER_TICK, rng.random()
        if luck < 0.5:
            yield "Reading", {"eqpt": rng.randrange(EQUIPMENTS), "value": rng.randrange(1_000)}, moment, key
        elif luck < 0.65:
            recent.append(key)
            yield "Alarm", {"eqpt": rng.randrange(EQUIPMENTS), "level": rng.randrange(10)}, moment, key
        elif luck < 0.9:
            yield "Confirmation", {"alarm": rng.choice(recent)}, moment, key
        else:
            yield "Repair", {"eqpt": rng.randrange(EQUIPMENTS)}, moment, key


# --- rules --------------------------------------------------------------------------------------------------------


def _rules() -> tuple[Rule, ...]:
    equipment = FactCondition(Shape("Equipment", (_equal("state", Literal("ACTIVE")),)), "e")
    alarm = EventCondition(Shape("Alarm", (_equal("eqpt", object_field("e")),)), "a")
    confirmed = (_equal("alarm", object_field("a")), _within("a", 1))
    again = (_equal("eqpt", object_field("a", "eqpt")), _within("a", 1))
    repaired = (_equal("eqpt", object_field("b", "eqpt")), _within("b", 1))
    high = (_test(">=", "value", Literal(950)),)
    read = (_equal("eqpt", object_field("a", "eqpt")), _within("a", 1))
    change = ChangeCondition(
        Shape("Equipment", (_equal("state", Literal("ONLINE")),)),
        Shape("Equipment", (_equal("state", Literal("ACTIVE")),)),
        "act",
        "e",
    )
    after_change = EventCondition(Shape("Alarm", (_equal("eqpt", object_field("e")), _within("act", 0))), "a")
    return (
        _rule("Confirmed", equipment, alarm, EventCondition(Shape("Confirmation", confirmed), "c")),
        _rule("Unanswered", equipment, alarm, NoEvent(Shape("Confirmation", confirmed))),
        _rule(
            "AgainAndRepaired",
            EventCondition(Shape("Alarm", (_test(">=", "level", Literal(9)),)), "a"),
            EventCondition(Shape("Alarm", (*again, _test(">=", "level", Literal(9)))), "b"),
            EventCondition(Shape("Repair", repaired), "r"),
        ),
        _rule("AfterChange", change, after_change),
        _rule(
            "AfterReading", EventCondition(Shape("Reading", high), "a"), EventCondition(Shape("Alarm", read))
        ),
    )


def _rule(name: str, *conditions: Condition) -> Rule:
    return Rule(name, conditions, (Emit(name, (Assignment("a", object_field("a")),)),))


def _within(other: str, low: int) -> Expr:
    return TimeTest(THIS, other, Span(low, ticks=True), Span(WINDOW, ticks=True))


def _equal(name: str, value: Expr) -> Expr:
    return _test("==", name, value)


def _test(op: str, name: str, value: Expr) -> Expr:
    return Binary(op, Field(None, (name,)), value)


if __name__ == "__main__":
    main()
