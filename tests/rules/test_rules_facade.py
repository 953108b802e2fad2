"""Rules for their users: sessions, tables and files, patterns beside rules, keys, the command."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Rules, rule, run_rules
from cepheid.cli import main
from cepheid.engines.rules.keys import inferred_keys, named_keys
from cepheid.errors import (
    CepheidError,
    EvaluationError,
    InputMistake,
    LimitReached,
    PatternMistake,
    SnapshotMistake,
)
from cepheid.lang.rules import parse_rules
from cepheid.pattern.rule_builder import after, this, var

PAID = """
rule Paid { when { ?a: Account(state == OPEN); ?p: event Payment(account == ?a) } then { emit Paid(?a, n = ?p.n); } }
"""


EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "alarms-and-accounts"


def rows(found: Any, stream: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "rule"} for row in found.emitted[stream].to_pylist()]


# Sessions.


def test_a_session_is_explained() -> None:
    rules = Rules(PAID)
    rules.assert_fact("Account", {"state": "OPEN"}, id="a1", time=1)
    happened = rules.event("Payment", {"account": "a1", "n": 5}, time=3)
    assert repr(happened) == "<fired Paid, emitted Paid>"
    assert happened.explain().split("\n") == [
        "firing 1 of Paid at 3",
        "  ?a: Account a1 since 1 (state: 'OPEN')",
        "  ?p: event Payment 1 at 3 (account: 'a1', n: 5)",
        "  -> emitted Paid (a: 'a1', n: 5)",
    ]
    assert happened.tables().firings.column_names == ["firing", "rule", "time", "objects", "explanation"]
    assert [(f.id, f.time) for f in rules.facts("Account")] == [("a1", 1)]
    assert rules.events() == []  # nobody needs the payment any more


def test_dates_stay_dates() -> None:
    rules = Rules(PAID, time_unit="ms")
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    rules.assert_fact("Account", {"state": "OPEN"}, id="a1", time=noon)
    assert rules.event("Payment", {"account": "a1"}, time="2024-05-01T12:00:01Z").firings[0].time == datetime(
        2024, 5, 1, 12, 0, 1, tzinfo=UTC
    )
    with pytest.raises(InputMistake) as caught:
        rules.event("Payment", {"account": "a1"}, time=noon)
    assert caught.value.code == "time_goes_back"


def test_ticks_are_of_the_unit() -> None:
    text = "rule R { when { ?a: event A(); event B(?this after[1,5] ?a) } then { emit X(?a); } }"
    for unit in ("s", "ms", "us"):
        rules = Rules(text, time_unit=unit)
        rules.event("A", time=10, id="a")
        assert len(rules.event("B", time=15).firings) == 1
        assert len(rules.event("B", time=16).firings) == 0


TIMES = """
rule Make { when { ?a: event A() } then { assert event B(n = 1); } }
rule Seen { when { ?b: event B() } then { emit Seen(t = timeof(?b), f = ?b.time); } }
rule Pair {
  when { ?a: event A(); ?b: event A(?this after[0,1h] ?a; timeof(?this) > ?a.time) }
  then { emit Pair(took = timeof(?b) - timeof(?a)); }
}
"""


@pytest.mark.parametrize(
    ("unit", "first", "second", "took"),
    [
        ("s", 3, 5, 2),
        ("ms", 1500, 1501, 1),
        ("s", 0.5, 2, 1.5),
        ("s", datetime(2024, 5, 1, tzinfo=UTC), "2024-05-01T00:00:04Z", timedelta(seconds=4)),
    ],
)
def test_times_are_read_as_they_were_given(unit: str, first: Any, second: Any, took: Any) -> None:
    """Of events that are given, of rows and of what rules assert, also after a snapshot: one kind of value."""
    rules = Rules(TIMES, time_unit=unit)
    told = rules.event("A", time=first)
    assert told.rows("Seen") == [{"t": first, "f": first}]
    rules = Rules.restore(rules.snapshot())
    assert rules.event("A", time=second).rows("Pair") == [{"took": took}]
    table = run_rules(TIMES, events={"A": [{"time": first}, {"time": second}]}, time_unit=unit)
    assert table.emitted["Seen"]["t"].to_pylist() == [table.told[0].time, table.told[-1].time]
    assert table.emitted["Seen"]["f"].equals(table.emitted["Seen"]["t"])
    assert table.emitted["Pair"]["took"].to_pylist() == [took]


def test_a_column_of_another_name_holds_the_time() -> None:
    text = "rule R { when { ?a: event A() } then { emit X(t = ?a.time, s = timeof(?a), at = ?a.at); } }"
    events = [{"at": 3, "time": "noon"}, {"at": 4, "time": None}]
    assert [
        t.fields for t in run_rules(text, events={"A": events}, time="at").told if t.kind == "emitted"
    ] == [
        {"t": "noon", "s": 3, "at": 3},
        {"t": None, "s": 4, "at": 4},
    ]
    without = run_rules(text, events={"A": [{"at": 3}]}, time="at")
    assert rows(without, "X") == [{"time": 3, "t": 3, "s": 3, "at": 3}]


def test_a_time_is_not_compared_with_another_kind() -> None:
    text = (
        "rule R { when { ?a: event A(); event B(?this after[0,9] ?a; timeof(?this) - ?a.time > %s) } "
        "then { emit X(); } }"
    )
    for much, time in (("2", 5), ("2s", "2024-05-01T00:00:05Z")):
        rules = Rules(text % much)
        rules.event("A", time=1 if time == 5 else "2024-05-01T00:00:01Z")
        assert len(rules.event("B", time=time)) == 2
    rules = Rules(text % "2s")
    rules.event("A", time=1)
    with pytest.raises(EvaluationError) as caught:
        rules.event("B", time=5)
    assert caught.value.code == "type_clash"


def test_a_clock_that_goes_on_tick_by_tick() -> None:
    text = "rule R { when { ?q: event Q(); not event A(?this after[0,2] ?q) } then { emit Late(?q); } }"
    for unit in ("s", "ms"):
        rules = Rules(text, time_unit=unit)
        assert rules.now is None
        rules.event("Q", id="q", time=10)
        times = []
        while not rules.advance():
            times.append(rules.now)
        assert (times, rules.now) == ([11, 12], 13)
        assert rules.event("Q", id="r").explain() == ""
        assert rules.events("Q")[-1].time == 13  # without a time it happens now
    rules = Rules(text)
    rules.event("Q", time="2024-05-01T00:00:00Z")
    rules.advance()
    assert rules.now == datetime(2024, 5, 1, 0, 0, 1, tzinfo=UTC)
    assert Rules.restore(rules.snapshot()).now == rules.now


def test_rules_built_in_python() -> None:
    a = var("a")
    built = rule("Late").event(a, "Order").no_event("Paid", after(this, a, 0, 10), order=a).emit("Late", a)
    rules = Rules([built, PAID])
    rules.event("Order", time=1, id="o1")
    assert [t.time for t in rules.advance(12).firings] == [11]


def test_a_loop_of_rules_stops() -> None:
    rules = Rules("rule Up { when { ?c: Counter() } then { modify ?c { n = n + 1; } } }", max_firings=20)
    with pytest.raises(LimitReached) as caught:
        rules.assert_fact("Counter", {"n": 0}, id="c")
    assert "Up" in str(caught.value)
    with pytest.raises(InputMistake):
        Rules(PAID, max_firings=0)


@pytest.mark.parametrize(
    ("given", "code"), [(3, "not_a_rule"), ([PAID, 3], "not_a_rule"), ([PAID, PAID], "duplicate_name")]
)
def test_what_is_no_rule(given: Any, code: str) -> None:
    with pytest.raises(PatternMistake) as caught:
        Rules(given)
    assert caught.value.code == code


# Tables and files.

ACCOUNTS = [
    {"id": "a1", "state": "OPEN", "valid_from": 0, "valid_to": 10},
    {"id": "a1", "state": "SHUT", "valid_from": 10, "valid_to": 20},
    {"id": "a1", "state": "OPEN", "valid_from": 30, "valid_to": None},
]
PAYMENTS = [{"time": t, "account": "a1", "n": t} for t in (5, 10, 15, 25, 30, 40)]
WANTED = [{"time": t, "a": "a1", "n": t} for t in (5, 30, 40)]


@pytest.mark.parametrize("frame", [list, pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_facts_with_intervals(frame: Any) -> None:
    """An interval ends just before `valid_to`; at 10 the account is shut, at 30 it is open."""
    found = run_rules(PAID, facts={"Account": frame(ACCOUNTS)}, events={"Payment": frame(PAYMENTS)})
    assert rows(found, "Paid") == WANTED


def test_intervals_that_follow_each_other_are_changes() -> None:
    text = "rule R { when { ?c: event change Account(state == OPEN) to (state == SHUT) } then { emit X(); } }"
    assert rows(run_rules(text, facts={"Account": ACCOUNTS}), "X") == [{"time": 10}]


def test_a_log_of_facts() -> None:
    log = [
        {"time": 0, "id": "a1", "state": "OPEN", "op": "assert"},
        {"time": 10, "id": "a1", "state": "SHUT", "op": "update"},
        {"time": 20, "id": "a1", "state": None, "op": "retract"},
        {"time": 30, "id": "a1", "state": "OPEN", "op": None},
    ]
    assert rows(run_rules(PAID, facts={"Account": log}, events={"Payment": PAYMENTS}), "Paid") == WANTED


def test_files(tmp_path: Path) -> None:
    facts, events = tmp_path / "accounts.csv", tmp_path / "events.jsonl"
    pd.DataFrame(ACCOUNTS).to_csv(facts, index=False)
    events.write_text("".join(json.dumps({**p, "type": "Payment"}) + "\n" for p in PAYMENTS))
    assert rows(run_rules(PAID, facts={"Account": facts}, events=events), "Paid") == WANTED
    session = Rules(PAID)
    happened = session.read(facts={"Account": facts}, events=events)
    assert [t.time for t in happened.firings] == [5, 30, 40]


def test_facts_that_were_always_so() -> None:
    found = run_rules(
        PAID,
        facts={"Account": [{"id": "a1", "state": "OPEN"}]},
        events={"Payment": [{"time": -5, "account": "a1"}]},
    )
    assert found.firings["time"].to_pylist() == [-5]


def test_until() -> None:
    text = "rule R { when { ?a: event A(); not event B(?this after[0,5] ?a) } then { emit X(?a); } }"
    events = {"A": [{"time": 1, "id": "a"}]}
    assert rows(run_rules(text, events=events), "X") == [{"time": 6, "a": "a"}]
    assert rows(run_rules(text, events=events, until=6), "X") == []
    assert rows(run_rules(text, events=events, until=7), "X") == [{"time": 6, "a": "a"}]


def test_derived_facts_and_events_are_tables() -> None:
    text = """
      rule R { when { ?a: event A() } then { assert new F(n = ?a.n); assert event E(n = ?a.n); } }
      rule S { when { ?f: F(n > 1) } then { modify ?f { n = 0; } retract ?f; emit Never(); } }
    """
    found = run_rules(text, events={"A": [{"time": 1, "n": 1}, {"time": 2, "n": 2}]})
    assert found.facts["F"].drop_columns(["rule"]).to_pylist() == [
        {"op": "asserted", "id": 1, "time": 1, "n": 1},
        {"op": "asserted", "id": 2, "time": 2, "n": 2},
        {"op": "modified", "id": 2, "time": 2, "n": 0},
        {"op": "retracted", "id": 2, "time": 2, "n": 0},
    ]
    assert found.events["E"]["id"].to_pylist() == [1, 2]
    assert found.emitted["Never"].num_rows == 1
    assert run_rules(text).emitted["Never"].column_names == ["time", "rule"]


BAD_TABLES = [
    ("overlapping_facts", {"Account": [{"id": 1, "valid_from": 0, "valid_to": 9}, {"id": 1, "valid_from": 8}]}, None),
    ("overlapping_facts", {"Account": [{"id": 1, "valid_from": 8}, {"id": 1, "valid_from": 0, "valid_to": 9}]}, None),
    ("overlapping_facts", {"Account": [{"id": 1, "valid_from": 3}, {"id": 1, "valid_from": 3}]}, None),
    ("overlapping_facts", {"Account": [{"id": 1, "valid_to": 9}, {"id": 1, "valid_to": 5}]}, None),
    ("bad_identity", {"Account": [{"id": [1], "valid_from": 0, "valid_to": 9}]}, None),
    ("bad_identity", {"Account": [{"id": [1], "time": 0}]}, None),
    ("bad_identity", None, {"Payment": [{"id": [1], "time": 0}]}),
    ("bad_interval", {"Account": [{"id": 1, "valid_from": 5, "valid_to": 5}]}, None),
    ("bad_op", {"Account": [{"id": 1, "time": 5, "op": "insert"}]}, None),
    ("no_identity", {"Account": [{"time": 5, "op": "retract"}]}, None),
    ("no_type", [{"id": 5}], None),
    ("bad_time", None, {"Payment": [{"time": None}]}),
    ("bad_time", None, {"Payment": [{"n": 1}]}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "facts", "events"), BAD_TABLES, ids=[str(b[1:]) for b in BAD_TABLES])
def test_bad_tables(code: str, facts: Any, events: Any) -> None:
    with pytest.raises(InputMistake) as caught:
        run_rules(PAID, facts=facts, events=events)
    assert caught.value.code == code
    assert caught.value.hint


def test_what_a_session_is_not_given() -> None:
    """Each is told in the words of who gave it, and changes nothing, not even how times are written."""
    rules = Rules(PAID)
    rules.advance(5)
    for code, words, do in (
        ("bad_identity", "[1]", lambda: rules.event("Payment", id=[1], time=6)),
        ("bad_input", "a list", lambda: rules.event("Payment", [1], time=6)),
        ("time_goes_back", "3 comes after 5", lambda: rules.event("Payment", time=3)),
        ("mixed_times", "is a date", lambda: rules.event("Payment", time="2024-05-01")),
    ):
        with pytest.raises(InputMistake) as caught:
            do()
        assert (caught.value.code, words in caught.value.message) == (code, True)
        assert caught.value.hint
    fresh = Rules("rule R { when { ?p: event Payment(n > 1) } then { emit Much(t = timeof(?p)); } }")
    with pytest.raises(EvaluationError):
        fresh.event("Payment", {"n": "x"}, time="2024-05-01")
    assert fresh.event("Payment", {"n": 2}, time=3).rows("Much") == [{"t": 3}]
    with pytest.raises(InputMistake) as caught:
        run_rules(PAID, facts={"Account": [{"id": 1, "k": [1]}]}, key={"Account": "k", "Payment": "account"})
    assert caught.value.code == "bad_key"


def test_a_fact_is_not_in_two_keys_at_once() -> None:
    facts = [{"id": 1, "k": 1, "valid_from": 0, "valid_to": 9}, {"id": 1, "k": 2, "valid_from": 8}]
    key = {"Account": "k", "Payment": "account"}
    with pytest.raises(InputMistake) as caught:
        run_rules(PAID, facts={"Account": facts}, key=key)
    assert caught.value.code == "overlapping_facts"
    facts[0]["valid_to"] = 8
    assert run_rules(PAID, facts={"Account": facts}, key=key).told == []


# Patterns beside rules.


def test_a_match_is_an_event() -> None:
    patterns = "stream Burst = Alarm as x -> Alarm[eqpt == x.eqpt] as y within 5s .emit(eqpt: y.eqpt)"
    text = (
        "rule R { when { ?e: Equipment(on == true); ?b: event Burst(eqpt == ?e) } then { emit Stop(?e); } }"
    )
    found = run_rules(
        text,
        patterns=patterns,
        facts={"Equipment": [{"id": "p", "on": True}, {"id": "q", "on": False}]},
        events={"Alarm": [{"time": t, "eqpt": e} for t, e in ((1, "p"), (2, "q"), (4, "q"), (5, "p"))]},
    )
    assert rows(found, "Stop") == [{"time": 5, "e": "p"}]
    assert found.matches["Burst"].to_pylist() == [{"eqpt": "q"}, {"eqpt": "p"}]


def test_the_time_of_a_match() -> None:
    """It is when the match was certain, unless a column of the match has that name."""
    rules = Rules(
        """
        rule R { when { ?s: event Silent() } then { emit Late(t = timeof(?s), f = ?s.time); } }
        rule S { when { ?s: event Named() } then { emit Own(t = timeof(?s), f = ?s.time); } }""",
        patterns="""
        stream Silent = Ping as p -> NOT Pong within 5s .emit(n: p.n)
        stream Named = Ping as p .emit(time: p.n)""",
    )
    assert rules.event("Ping", {"n": 1}, time=3).rows("Own") == [{"t": 3, "f": 1}]
    assert rules.advance(20).rows("Late") == [{"t": 8, "f": 8}]


def test_patterns_see_timestamps() -> None:
    """Of events that are given, of rows and of what rules make: the pattern means what it means alone."""
    text = "rule Make { when { ?a: event A() } then { assert event B(n = 1); } }"
    patterns = """
      stream Rows = A as a -> A as b where b.time - a.time > 2s .emit(took: b.time - a.time, at: b.time)
      stream Made = B as b .emit(at: b.time)"""
    start = datetime(1970, 1, 1, tzinfo=UTC)
    wanted = {
        "Rows": [{"took": timedelta(seconds=4), "at": start + timedelta(seconds=5)}],
        "Made": [{"at": start + timedelta(seconds=1)}, {"at": start + timedelta(seconds=5)}],
    }
    events = {"A": [{"time": 1}, {"time": 5}]}
    found = run_rules(text, patterns=patterns, events=events)
    assert {name: table.to_pylist() for name, table in found.matches.items()} == wanted
    read, given = Rules(text, patterns=patterns), Rules(text, patterns=patterns)
    told = read.read(events=events), [one for t in (1, 5) for one in given.event("A", time=t)]
    for each in told:
        assert {n: [o.fields for o in each if (o.kind, o.name) == ("matched", n)] for n in wanted} == wanted


def test_what_rules_emit_is_an_event_of_patterns() -> None:
    patterns = "stream Twice = Late as x -> Late[who == x.who] as y .emit(who: y.who)"
    text = """
      rule Late { when { ?q: event Q(); not event A(q == ?q; ?this after[0,5] ?q) } then { emit Late(who = ?q.who); } }
      rule Bad { when { ?t: event Twice() } then { emit Bad(who = ?t.who); } }
    """
    events = {"Q": [{"time": t, "id": t, "who": w} for t, w in ((1, "x"), (2, "y"), (3, "x"))]}
    found = run_rules(text, patterns=patterns, events=events)
    assert [(t.kind, t.name, t.time) for t in found.told] == [
        ("fired", "Late", 6),
        ("emitted", "Late", 6),
        ("fired", "Late", 7),
        ("emitted", "Late", 7),
        ("fired", "Late", 8),
        ("emitted", "Late", 8),
        ("matched", "Twice", 8),
        ("fired", "Bad", 8),
        ("emitted", "Bad", 8),
    ]


def test_absences_of_patterns_and_of_rules_come_in_order() -> None:
    """The pattern is sure at 6 that nothing came, and the rule that waits until 9 for its match does not fire."""
    patterns = "stream Silent = Ping as p -> NOT Pong within 5s .emit(n: p.n)"
    absent = "not event Silent(n == ?p.n; ?this after[0,8] ?p)"
    text = f"rule R {{ when {{ ?p: event Ping(); {absent} }} then {{ emit Fine(?p); }} }}"
    events = {
        "Ping": [{"time": 1, "id": "a", "n": 1}, {"time": 20, "id": "b", "n": 2}],
        "Pong": [{"time": 22, "n": 2}],
    }
    found = run_rules(text, patterns=patterns, events=events)
    assert [(t.kind, t.name, t.time) for t in found.told] == [
        ("matched", "Silent", 6),
        ("fired", "R", 28),
        ("emitted", "Fine", 28),
    ]


def test_rules_and_patterns_in_a_circle() -> None:
    patterns = "stream S = X as x -> X as y"
    text = """
      rule A { when { ?s: event S() } then { assert new F(n = 1); } }
      rule B { when { ?f: F() } then { emit X(n = ?f.n); } }
    """
    with pytest.raises(PatternMistake) as caught:
        Rules(text, patterns=patterns)
    assert caught.value.code == "rule_cycle"
    assert "stream S -> rule A -> rule B -> stream S" in caught.value.message


def test_fields_of_matches_are_known() -> None:
    with pytest.raises(PatternMistake) as caught:
        Rules(
            "rule R { when { ?s: event S(whoo == 1) } then { } }",
            patterns="stream S = X as x .emit(who: x.n)",
        )
    assert caught.value.hint == "did you mean `who`?"


def test_snapshots_of_rules_with_patterns() -> None:
    patterns = "stream Silent = Ping as p -> NOT Pong within 5s .emit(n: p.n)"
    text = "rule R { when { ?f: F(); ?s: event Silent() } then { emit Late(?f, n = ?s.n); } }"
    rules = Rules(text, patterns=patterns)
    rules.assert_fact("F", id="f", time=0)
    for time, type in ((1, "Ping"), (2, "Ping"), (6, "Pong")):
        rules.event(type, {"n": time}, time=time)
        rules = Rules.restore(rules.snapshot())
    rules.event("Ping", {"n": 7}, time=7)
    told = Rules.restore(rules.snapshot()).advance(20)
    assert [(t.kind, t.name, t.time) for t in told] == [
        ("matched", "Silent", 12),
        ("fired", "R", 12),
        ("emitted", "Late", 12),
    ]
    assert told.rows("Late") == [{"f": "f", "n": 7}]


@pytest.mark.parametrize("text", [b"", b"{}", b"x" * 9, b'{"$d":[["format","cepheid rules"],["version",9]]}'])
def test_bad_snapshots(text: bytes) -> None:
    with pytest.raises(SnapshotMistake):
        Rules.restore(text)


# The network.

SHARED = """
rule A { when { ?e: E(on == true); ?a: event Alarm(eqpt == ?e); ?c: event Check(?this after[1,5] ?a) } then { } }
rule B { when { ?a: event Alarm(); ?c: event Cancel(?this after[1,4] ?a) } then { } }
"""


def test_the_network_is_drawn() -> None:
    rules = Rules(SHARED)
    rules.assert_fact("E", {"on": True}, id="e", time=0)
    rules.event("Alarm", {"eqpt": "e"}, id="x", time=10)
    text = rules.explain()
    assert "event Alarm  [A, B]\n  1 came\n" in text
    assert "stores [Alarm x] until 14" in text
    assert "stores [Alarm x, E e] until 15" in text
    rules.event("Alarm", {"eqpt": "f"}, id="y", time=11)
    rules.event("Cancel", time=12)
    assert "event Alarm  [A, B]\n  2 came\n" in rules.explain()
    assert "join Cancel <- d0, d3 where ?c after[1,4] ?a\n    2 passed, 2 tried" in rules.explain()
    assert "rule B <- n3\n    2 firings" in rules.explain()
    diagram = rules.explain("mermaid")
    assert diagram.startswith("flowchart TD")
    assert "class event_20_Alarm,d0 shared" in diagram
    with pytest.raises(InputMistake):
        rules.explain("svg")


# Keys.


@pytest.mark.parametrize(
    ("rules", "keys"),
    [
        ("rule R { when { ?e: E(); event A(eqpt == ?e) } then { } }", {"E": "id", "A": "eqpt"}),
        ("fact E(nr int key) rule R { when { ?e: E(); ?f: F(e == ?e) } then { } }", {"E": "nr", "F": "e"}),
        ("rule R { when { ?a: event A(?k: acct); event B(who == ?k; x > 3) } then { } }", {"A": "acct", "B": "who"}),
        ("rule R { when { ?a: event A(); event B(x == ?a.x, y == ?a.y); "
         "not event C(y == ?a.y; ?this after[0,1] ?a) } then { } }", {"A": "y", "B": "y", "C": "y"}),
        ("rule R { when { ?a: event A(); event B(x == ?a.x or y == ?a.y) } then { } }", None),
        ("rule R { when { ?a: event A(); event B(x == ?a.x) } then { } } "
         "rule S { when { ?a: event A(); event B(y == ?a.y) } then { } }", None),
        ("rule R { when { ?a: event A(); event B(x == ?a.x) } then { assert new F(k = ?a.x); } } "
         "rule S { when { ?f: F(); event B(x == ?f.k) } then { } }", {"A": "x", "B": "x", "F": "k"}),
        ("rule R { when { ?a: event A(); event B(x == ?a.x) } then { assert new F(k = ?a.y); } } "
         "rule S { when { ?f: F(); event B(x == ?f.k) } then { } }", None),
    ],
)  # fmt: skip
def test_keys_that_are_found(rules: str, keys: dict[str, str] | None) -> None:
    read = parse_rules(rules)
    if keys is None:
        with pytest.raises(PatternMistake) as caught:
            inferred_keys(read)
        assert caught.value.code == "no_key"
    else:
        assert {name: key for (name, _), key in inferred_keys(read).items()} == keys


def test_keys_that_are_named() -> None:
    read = parse_rules("rule R { when { ?e: E(); event A(eqpt == ?e) } then { } }")
    assert named_keys(read, "k") == {("E", False): "k", ("A", True): "k"}
    with pytest.raises(PatternMistake):
        named_keys(read, {"E": "id"})


def test_split_by_a_key() -> None:
    facts = {"Account": [{"id": f"a{i}", "state": "OPEN"} for i in range(3)]}
    events = {"Payment": [{"time": i, "account": f"a{i % 3}", "n": i} for i in range(9)]}
    whole = run_rules(PAID, facts=facts, events=events)
    for found in (
        run_rules(PAID, facts=facts, events=events, split=True),
        run_rules(PAID, facts=facts, events=events, key={"Account": "id", "Payment": "account"}),
    ):
        assert rows(found, "Paid") == rows(whole, "Paid")
        assert {t.key for t in found.told} == {"a0", "a1", "a2"}
    for key in ("accont", "n"):
        with pytest.raises(InputMistake) as caught:
            run_rules(PAID, facts=facts, events=events, key=key)
        assert caught.value.code == "no_key"
    with pytest.raises(InputMistake) as unknown:
        run_rules(PAID, facts=facts, tim="t")
    assert unknown.value.hint == "did you mean `time`?"


def test_equal_keys_are_one() -> None:
    """A column of whole numbers may be one of fractions elsewhere."""
    facts, events = [{"id": 7, "state": "OPEN"}], [{"time": 1, "account": 7.0, "n": 1}]
    found = run_rules(PAID, facts={"Account": facts}, events={"Payment": events}, split=True)
    assert rows(found, "Paid") == [{"time": 1, "a": 7, "n": 1}]
    renamed = [{"nr": 7, "state": "OPEN"}]
    found = run_rules(PAID, facts={"Account": renamed}, events={"Payment": events}, split=True, id="nr")
    assert rows(found, "Paid") == [{"time": 1, "a": 7, "n": 1}]


def test_split_with_patterns() -> None:
    """Events that only patterns read belong to a key, too."""
    patterns = "stream Twice = Ping as a -> Ping as b .emit(who: b.who)"
    text = "rule R { when { ?t: event Twice(); ?f: F(who == ?t.who) } then { emit X(?f); } }"
    facts = {"F": [{"id": w, "who": w} for w in "xy"]}
    events = {"Ping": [{"time": t, "who": w} for t, w in ((1, "x"), (2, "y"), (3, "y"))]}
    found = run_rules(text, patterns=patterns, facts=facts, events=events, key="who")
    assert rows(found, "X") == [{"time": 3, "f": "y"}]
    with pytest.raises(PatternMistake):
        run_rules(text, patterns=patterns, facts=facts, events=events, split=True)


@given(st.integers(0, 10**6))
@settings(max_examples=8)
def test_split_or_not_is_the_same(seed: int) -> None:
    """Where every rule is joined on a key, each key for itself gives what all of them together give."""
    chance = random.Random(seed)
    facts = [
        {"id": f"ac{i}", "state": "OPEN", "balance": 100.0, "limit": float(chance.choice([0, 50]))}
        for i in range(3)
    ]
    events = [
        {
            "time": 60 * i,
            "type": chance.choice(["Payment", "Payment", "Deposit"]),
            "account": f"ac{chance.randrange(3)}",
            "amount": float(chance.randrange(20, 200)),
            "to": chance.choice("abc"),
        }
        for i in range(40)
    ]
    text = (EXAMPLE / "accounts.rules").read_text(encoding="utf-8")
    whole, parts = (
        run_rules(text, facts={"Account": facts}, events=events, split=split).told for split in (False, True)
    )
    shown = [Counter((t.kind, t.name, t.time, str(t.fields)) for t in told) for told in (whole, parts)]
    assert shown[0] == shown[1]


# The command, and the example.


def command(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["rules", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command() -> None:
    files = ["--facts", f"Account={EXAMPLE / 'accounts.csv'}", "--events", str(EXAMPLE / "payments.csv")]
    told = [
        json.loads(line)
        for line in command(str(EXAMPLE / "accounts.rules"), *files, "--format", "json").split("\n")
        if line
    ]
    assert [t["fields"]["account"] for t in told if t["what"] == "emitted" and t["name"] == "Draining"] == [
        "ac8",
        "ac9",
        "ac8",
        "ac9",
    ]
    shown = command(str(EXAMPLE / "accounts.rules"), *files, "--show", "Draining", "--format", "csv")
    assert shown.split("\n")[0] == "time,rule,account,total"
    assert "firing 1 of Book" in command(str(EXAMPLE / "accounts.rules"), *files, "--show", "explanations")
    assert "Draining" in command(str(EXAMPLE / "accounts.rules"), *files)
    assert command(str(EXAMPLE / "alarms.rules"), "--network", "mermaid").startswith("flowchart TD")


def test_what_the_command_refuses(tmp_path: Path) -> None:
    file = tmp_path / "x.rules"
    file.write_text("rule R { when { ?a: event A() } then { emit X(n = ?b) } }")
    for arguments, words in (
        ([str(file)], "nothing to run on"),
        ([str(file), "--events", "x.csv"], "not bound"),
    ):
        result = CliRunner().invoke(main, ["rules", *arguments])
        assert result.exit_code != 0
        text = result.output + str(result.exception if isinstance(result.exception, CepheidError) else "")
        assert words in text
