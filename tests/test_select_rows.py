"""Rows that a plan does not need change nothing when they are left out; those that are left out are many."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, reject
from hypothesis import strategies as st
from test_columnar import compared, made_up, table_of

import cepheid
from cepheid.engines.columnar import matching
from cepheid.engines.program import compile
from cepheid.errors import LimitReached, PatternMistake
from cepheid.matching.compiled.keyed_rows import KeyedRows, places_of
from cepheid.matching.compiled.needed_rows import (
    ALL_THAT_PASS,
    IN_A_CHOICE,
    IN_A_ROW,
    IN_A_WINDOW,
    needed_by,
)
from cepheid.matching.compiled.select_rows import Selected, select_rows
from cepheid.pattern.event import Event
from cepheid.testing.scenarios import read_events
from cepheid.testing.strategies import Draw
from cepheid.testing.strategies import events as some_events

HOW: Counter[int] = Counter()
KINDS = ("A", "A", "A", "B", "B", "B", "C", "C", "Z")
COUNTED = ("+", "{2,}", "{3,}", "{2}", "{1,2}", "{2,3}", "?", "*")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_LEAST", 8)
    monkeypatch.setattr(matching, "_MOST", 6)


@st.composite
def queries(draw: Draw, selection: str) -> str:
    """Steps with tests of their own, closures among them, in a window or not, now and then with a low limit."""

    def pick(*values: str) -> str:
        return str(draw(st.sampled_from(values)))

    steps = []
    for i in range(draw(st.integers(1, 4))):
        name = "abcd"[i]
        tests = ["", "", "[v > 1]", "[v == 0]", "[v >= 2]", "[v is not null]"]
        closed = draw(st.integers(0, 3)) == 0
        if i:
            before = "abcd"[i - 1]
            tests += ["[v > a.v]", f"[v != {before}.v]", f"[v < {before}.v]", f"[{before}.v >= v and v > 0]"]
        if closed:
            tests += [f"[v > {name}.v]", f"[v <= {name}.v]", f"[{name}.v > k]", f"[v != {name}.k]"] * 2
        step = pick("A", "A", "B", "C") + pick(*tests)
        steps.append(f"{step}{pick(*COUNTED) if closed else ''} as {name}")
    if draw(st.integers(0, 7)) == 0:
        group = pick(
            "(A -> B[v > 0])+",
            "(A as x -> A[v >= x.v] as y){2,}",
            "(A+ as x -> B as y){2}",
            "OR(A as x, B as y)",
        )
        steps.insert(draw(st.integers(0, len(steps))), group if selection == ".strict()" else "C as z")
    arrows = (" -> ", " -> first ") if selection == ".stam()" else (" -> ",)
    text = steps[0] + "".join(pick(*arrows) + step for step in steps[1:])
    if selection != ".strict()":
        text += pick("", "", " -> NOT C within 1s", " unless C[v == 1]")
    text += pick("", f" .within({pick('1s', '2s', '3s', '5s')})", f" .within({pick('1s', '2s', '3s')})")
    text += pick(" .partition_by(k)", " .partition_by(k)", " .partition_by(k, type)", "")
    emission = pick("", "", " .each()", " .longest()", " .subsets()")
    skip = pick("", "", " .skip(past_last)", " .skip(to_next)", " .skip(to_last(b))")
    limits = pick("", "", "", " .limit(max_runs: 3)", " .limit(max_runs: 4, on_limit: evict_oldest)")
    limits = limits or pick("", "", " .limit(max_matches: 2)")
    return f"{text} {selection}{emission}{skip}{limits}"


def agree(query: str, events: list[Event]) -> None:
    """As the reference matcher has it, ids and the order of matches too."""
    note(query)
    try:
        program = compile(query)
    except PatternMistake:
        reject()
    table = table_of(events)
    compared(query, table, {"one thread": lambda: table, "two threads": lambda: table})
    HOW[needed_by(program.last.plan).how] += 1


def check(selection: str, count: int) -> None:
    @made_up(count)
    @given(queries(selection), some_events(30, KINDS, (0, 0, 1, 1, 2)))
    def run(query: str, events: list[Event]) -> None:
        agree(query, events)

    run()


@pytest.mark.parametrize("first", ["A+", "A{2,}", "(A -> B)+", "A -> any B"])
def test_a_start_has_several_runs_where_a_closure_may_be_cut(first: str) -> None:
    """No C: nothing can be in a match. Yet so many runs are open that the limit is reached."""
    events = read_events("A1@0 B2@0 A3@0 B4@0 A5@0 B6@0")
    query = f"{first} -> C .within(1s) .stnm() .limit(max_runs: 3)"
    with pytest.raises(LimitReached):
        cepheid.match(query, table_of(events), engine="reference")
    with pytest.raises(LimitReached):
        cepheid.match(query, table_of(events), engine="compiled")


def test_as_many_copies_as_there_is_no_number_for() -> None:
    steps = " -> ".join(f"A+ as a{i}" for i in range(40))
    plan = compile(f"{steps} .within(1s) .stnm() .limit(max_runs: 1000000000000000)").last.plan
    assert needed_by(plan).safe == 1
    assert needed_by(compile("A as a -> B .within(1s) .stnm()").last.plan).safe == 1_000_000


@pytest.mark.parametrize("selection", [".strict()", ".stnm()", ".stam()"])
def test_made_up_patterns(selection: str) -> None:
    check(selection, 60)


@pytest.mark.soak
@pytest.mark.parametrize("selection", [".strict()", ".stnm()", ".stam()"])
def test_many_made_up_patterns(selection: str) -> None:
    check(selection, 4_000)
    assert HOW[{".strict()": IN_A_ROW, ".stnm()": IN_A_WINDOW, ".stam()": IN_A_CHOICE}[selection]] > 400


UNTIL = (
    'A{2,} as a until type == "B" -> B as b .stnm() .within(4s)',
    'A+ as a until type == "Z" -> C as c .partition_by(k)',
    'A+ as a until type == "Z" .longest() .partition_by(k)',
    'A{2,} as a until type == "Z" -> B+ as b until v > 1 -> C as c .within(9s)',
    'A+ as a until type == "Q" -> next C as c .partition_by(k)',
    'A as a -> all B until type == "C" as b -> C as c .strict() .longest() .partition_by(k, type)',
    "A as a -> A{2,}.increasing(v) as b -> A[v <= b.v] as c .strict() .longest() .partition_by(k, type)",
    "A as a -> A{1,}.decreasing(v) as b -> A{1,}.increasing(v) as c -> A[v <= c.v] as d .strict() .longest()",
)


def check_until(count: int) -> None:
    @made_up(count)
    @given(st.sampled_from(UNTIL), some_events(30, KINDS, (0, 0, 1, 1, 2)))
    def run(query: str, events: list[Event]) -> None:
        agree(query, events)

    run()


def test_what_ends_a_closure_is_seen() -> None:
    check_until(60)


@pytest.mark.soak
def test_many_that_end_a_closure() -> None:
    check_until(2_000)


@pytest.mark.parametrize(
    ("query", "how", "chain"),
    [
        ("A as a -> B+ as b -> C as c .strict()", IN_A_ROW, [0, 1]),
        ("A{2} as a -> B{3,} as b -> C as c .strict()", IN_A_ROW, [0, 0, 1, 1, 1]),
        ("A as a -> B? as b -> C as c .strict()", IN_A_ROW, [0]),
        ("A as a -> B as b -> NOT X -> C as c .strict()", ALL_THAT_PASS, []),
        ("A as a -> first B as b .strict()", ALL_THAT_PASS, []),
        ("A? as a -> B as b .strict()", ALL_THAT_PASS, []),
        ("A as a -> B as b .strict() .timeouts() .within(1s)", ALL_THAT_PASS, []),
        ("A as a -> B[v / a.v > 1] as b .strict()", ALL_THAT_PASS, []),
        ("A as a -> B as b .strict() .limit(max_runs: 1)", ALL_THAT_PASS, []),
        ("A{3,} as a -> B as b .stnm() .within(1s)", IN_A_WINDOW, [0, 0, 0, 1]),
        ("A as a -> B as b .stam()", IN_A_CHOICE, [0, 1]),
        ("A as a -> first B as b -> C as c .stam()", IN_A_CHOICE, [0, 1, 2]),
        ("A as a -> next B as b .stam()", ALL_THAT_PASS, []),
    ],
)
def test_what_a_plan_needs(query: str, how: int, chain: list[int]) -> None:
    needed = needed_by(compile(query).last.plan)
    assert (needed.how, needed.chain.tolist()) == (how, chain)


def selected(
    query: str, kinds: str, times: list[int] | None = None, keys: list[int] | None = None
) -> Selected:
    """Of events whose types are letters; each test is of a type alone."""
    needed = needed_by(compile(query).last.plan)
    plan = compile(query).last.plan
    types = [p.step.type for p in plan.automaton.positions]
    tests = list(dict.fromkeys(types))
    bits = np.array([1 << tests.index(kind) if kind in tests else 0 for kind in kinds], np.int64)
    own = np.array(times or range(len(kinds)), np.int64) * 1_000_000
    offsets = np.array(keys or [0, len(kinds)], np.int64)
    also = np.ones(len(kinds), np.bool_) if plan.sees_all_events else None
    places = places_of([tests.index(kind) for kind in types])
    return select_rows(needed, places, KeyedRows.of([bits], own, offsets), also=also)


STRICT = "A as a -> B+ as b .strict()"


@pytest.mark.parametrize(
    ("query", "kinds", "rows"),
    [
        (STRICT, "ZZABBZZ", [2, 3, 4, 5]),  # with the row that ends the run
        (STRICT, "ABZABZ", [0, 1, 2, 3, 4, 5]),
        (STRICT, "ABZZZAB", [0, 1, 2, 5, 6]),
        (STRICT, "AZBZA", []),
        (STRICT, "BBBAABZ", [3, 4, 5, 6]),  # the run of the first A is open when the second begins
        (STRICT, "", []),
        ("A as a -> B as b -> C as c .strict() .within(1s)", "ABC", []),
        ("A{3,} as a -> B as b .stnm() .within(3s)", "AAZZAAABZZA", [4, 5, 6, 7]),
        ("A as a -> B as b .within(1s)", "AZBZABZB", [4, 5]),
        ("A as a -> B as b", "BABZAB", [1, 2, 4, 5]),
    ],
)
def test_selected_rows(query: str, kinds: str, rows: list[int]) -> None:
    assert selected(query, kinds).rows.tolist() == rows


def test_rows_of_other_keys_are_no_neighbours() -> None:
    found = selected(STRICT, "ZABAB", keys=[0, 2, 4, 5])
    assert len(found.rows) == 0
    found = selected(STRICT, "ZAABZB", keys=[0, 2, 5, 6])
    assert found.rows.tolist() == [2, 3, 4]
    assert found.keys.tolist() == [1]
    assert found.offsets.tolist() == [0, 3]


def test_ranks_count_rows_that_are_left_out() -> None:
    found = selected(STRICT, "BZBAB", times=[5, 5, 5, 5, 5])
    assert found.rows.tolist() == [2, 3, 4]
    assert found.ranks.tolist() == [1, 2, 3]


def test_where_a_limit_may_be_reached_all_rows_stay() -> None:
    query = "A as a -> B as b -> C as c .within(1s) .limit(max_runs: {})"
    assert selected(query.format(2), "AAZZB").rows.tolist() == [0, 1, 4]
    assert selected(query.format(9), "AAZZB").rows.tolist() == []


def test_a_key_of_safe_length_reaches_no_limit() -> None:
    for runs, matches in ((1, 1), (2, 5), (12, 3), (1_000_000, 10_000), (1_000_000, 10)):
        text = f"A as a -> B as b -> C as c .limit(max_runs: {runs}, max_matches: {matches})"
        safe = needed_by(compile(text).last.plan).safe
        assert safe + safe**2 <= runs
        assert safe <= matches
        assert (safe + 1) + (safe + 1) ** 2 > runs or safe + 1 > matches


def test_streams_of_one_program_share_rows() -> None:
    events = [
        {"type": kind, "time": i, "k": i % 3, "v": i % 7} for i, kind in enumerate("ABCABZCABBACBABCZABC" * 3)
    ]
    query = "\n".join(
        f"stream S{i} = A[v > {i % 5}] as a -> B as b {end} .partition_by(k) .emit(id: match_id(), k: k)"
        for i, end in enumerate(
            [".within(9s)", ".strict()", ".stnm() .within(4s)", "-> C as c .within(20s)"] * 5
        )
    )
    table = pa.Table.from_pylist(events)
    assert compared(query, table, {"one thread": lambda: table, "two threads": lambda: table})
    assert sum(map(len, cepheid.run(query, table).values())) > 50
