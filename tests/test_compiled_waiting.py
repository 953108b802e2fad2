"""Runs found by what they wait for, by a value they share with an event or one that it has passed, by deadlines."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_compiled import agree, compared, fields_of, made_up

from cepheid.engines.program import compile
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.kernel.words import (
    AT_BEYOND,
    AT_EQUAL,
    BEYOND_ABOVE,
    BEYOND_BELOW,
    BEYOND_WIDTH,
    BY_STATE,
    EQUAL_WIDTH,
    HEAPS,
    STATES,
)
from cepheid.pattern.event import Event
from cepheid.testing.schema import schema_of
from cepheid.testing.strategies import events as some_events

EVICT = "on_limit: evict_oldest"
GAPS = (0, 0, 1, 1, 2)
# Tests that runs can be found by, and others that look like them.
CONDITIONS = (
    "[v == a.v]",
    "[a.v == v and k >= a.k]",
    "[name == a.name]",
    "[v >= 0 and a.name == name]",
    "[v == a.v or k == a.k]",
    "[v == a.k]",
    "[if(v == a.v, true, k == 1)]",
    "[not (v == a.v)]",
    "[v + 0 == a.v]",
    "[f == a.f]",
    "[v == a.f]",
    "[v is null or v == a.v]",
    "[v > a.v]",
    "[v >= a.v]",
    "[v < a.v and k >= a.k]",
    "[a.v >= v]",
    "[f > a.f]",
    "[a.f >= f and v != a.v]",
    "[k != a.k and f >= a.f]",
    "[v > a.v or k == a.k]",
    "[v > a.f]",
    "",
)


@st.composite
def patterns(draw: Any) -> str:
    condition = st.sampled_from(CONDITIONS)
    steps = ["A as a"]
    for kind, alias in zip(draw(st.sampled_from(("B", "BC", "BB", "BCB", "AB"))), "bcd", strict=False):
        if draw(st.integers(0, 5)) == 0:
            steps.append(f"NOT X{draw(condition)}")
        many = draw(st.sampled_from(("", "", "", "+", "*", "{1,2}"))) if alias != "d" else ""
        arrow = draw(st.sampled_from(("", "", "", "first "))) if not many else ""
        steps.append(f"{arrow}{kind}{draw(condition)}{many} as {alias}")
    if draw(st.integers(0, 4)) == 0:
        steps.append(f"NOT X{draw(condition)} within 2s")
    options = [
        draw(st.sampled_from(("", " unless X[v == a.v]"))),
        draw(st.sampled_from(("", f" .within({draw(st.integers(0, 4))}s)"))),
        draw(st.sampled_from(("", "", " .longest()", " .subsets()"))),
        draw(st.sampled_from(("", "", "", " .limit(max_runs: 6)", f" .limit(max_runs: 3, {EVICT})"))),
        draw(st.sampled_from(("", "", "", " .timeouts()", " .timeouts()", " .skip(past_last)"))),
        draw(st.sampled_from(("", "", "", " .stnm()"))),
    ]
    return " -> ".join(steps) + "".join(options)


def named(events: list[Event]) -> list[Event]:
    for i, e in enumerate(events):
        v = e.fields["v"]
        e.fields["name"] = None if i % 7 == 6 else "xyz"[: (v or 0)]
        e.fields["f"] = None if i % 5 == 4 else float(v or 0) * (-1.0 if i % 3 else 0.5)
    return events


def check_waiting(count: int, size: int) -> None:
    kinds = ("A", "A", "B", "B", "B", "C", "C", "X")

    @made_up(count)
    @given(patterns(), some_events(size, kinds, GAPS), st.integers(0, 2**32))
    def run(query: str, events: list[Event], seed: int) -> None:
        compared(query, named(events), seed)

    run()


def test_waiting_runs() -> None:
    check_waiting(400, 10)


@pytest.mark.soak
def test_many_waiting_runs() -> None:
    check_waiting(12_000, 11)


@pytest.mark.parametrize(
    "query",
    [
        "A as a -> B[v == a.v] as b .within(9s)",
        "A as a -> B[name == a.name] as b -> C[name == b.name] as c .within(4s)",
        "A as a -> B[v > a.v] as b .within(9s)",
        "A as a -> first B[a.v >= v] as b -> C[v < b.v] as c .within(9s)",
        "A as a -> first B[f < a.f] as b .within(4s)",
        "A as a -> NOT C[v == a.v] within 5s",
        "A as a -> NOT C[v == a.v] -> B[v == a.v] as b .within(9s) .longest()",
    ],
)
def test_many_open_runs(query: str) -> None:
    """More than the kernel has room for at first; many deadlines are equal."""
    random = Random(11)
    time, events = 0, []
    for i in range(260):
        time += random.choice((0, 0, 100_000, 200_000))
        kind = random.choice("AAAAAABBC")
        fields = {"type": kind, "id": f"{kind}{i}", "v": random.randrange(6), "name": random.choice("pqrstu")}
        fields["f"] = random.choice((None, -0.0, 0.0, 1e300, -1e300, random.uniform(-5, 5)))
        events.append(Event(kind, time, fields, seq=i))
    plan = compile(query, schema_of(events)).last.plan
    assert CompiledPlan.of(plan, fields_of(events)).tables[BY_STATE]
    agree(plan, events, time + 1_000_000, random)


@pytest.mark.parametrize(
    ("query", "families"),
    [
        ("A as a -> B[v == a.v] as b", [0, 1, 0]),
        ("A as a -> B[v > 1 and a.name == name] as b", [0, 2, 0]),
        ("A as a -> all B[v == a.v] as b -> C[v == a.v] as c", [0, 1, 1, 0]),
        ("A as a -> all B[v == a.v] as b -> C as c", [0, 1, 0, 0]),
        ("A as a -> B[v == a.v or v == 1] as b", [0, 0, 0]),
        ("A as a -> B[f == a.f] as b", [0, 0, 0]),
        ("A as a -> B[v == a.f] as b", [0, 0, 0]),
        ("A as a -> B[v != a.v] as b", [0, 0, 0]),
    ],
)
def test_what_runs_are_found_by(query: str, families: list[int]) -> None:
    assert by_state(planned(query), AT_EQUAL, EQUAL_WIDTH) == families


def planned(query: str) -> Any:
    event = Event("A", 0, {"type": "A", "v": 1, "f": 0.5, "name": "x"})
    return CompiledPlan.of(compile(query, schema_of([event])).last.plan, fields_of([event])).tables


def by_state(tables: Any, at: int, width: int) -> list[int]:
    """The first word that a table has for each state."""
    return [tables[tables[at] + state * width] for state in range(tables[STATES])]


ABOVE, BELOW = BEYOND_ABOVE, BEYOND_BELOW


@pytest.mark.parametrize(
    ("query", "ways"),
    [
        ("A as a -> B[v > a.v] as b", [0, ABOVE, 0]),
        ("A as a -> B[a.v > v] as b", [0, BELOW, 0]),
        ("A as a -> B[a.f <= f] as b -> C[v <= b.v] as c", [0, ABOVE, BELOW, 0]),
        ("A as a -> B[v != a.v and v < a.v] as b", [0, BELOW, 0]),
        ("A as a -> all B[v > a.v] as b -> C[v > a.v] as c", [0, ABOVE, ABOVE, 0]),
        ("A as a -> all B[v > a.v] as b -> C[v >= a.v] as c", [0, ABOVE, 0, 0]),
        ("A as a -> all B[v > a.v] as b .longest()", [0, ABOVE, 0]),
        ("A as a -> B[v > a.v and name == a.name] as b", [0, 0, 0]),  # found by the name
        ("A as a -> B[v + 1 > a.v] as b", [0, 0, 0]),
        ("A as a -> B[v > a.f] as b", [0, 0, 0]),
        ("A as a -> B[v > a.v or v == 1] as b", [0, 0, 0]),
        ("A as a -> B[not (v > a.v)] as b", [0, 0, 0]),
        ("A as a -> B[name > a.name] as b", [0, 0, 0]),
    ],
)
def test_what_runs_are_passed_by(query: str, ways: list[int]) -> None:
    tables = planned(query)
    assert by_state(tables, AT_BEYOND, BEYOND_WIDTH) == ways
    assert tables[HEAPS] == sum(way != 0 for way in ways)
