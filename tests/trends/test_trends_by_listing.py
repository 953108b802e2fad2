"""Aggregates over trends against the list of all matches: for every family of patterns, function and window."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st

from cepheid.engines.network import Network
from cepheid.engines.program import Program, compile
from cepheid.errors import PatternMistake
from cepheid.matching.found import Findings
from cepheid.pattern.event import Event
from cepheid.testing.brute_force import Undecided, brute_force
from cepheid.testing.strategies import FAMILIES, Shape, cases, events

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from test_brute_force import QUIET, told
from trend_oracle import aggregates

SUBSETS = {
    name: replace(FAMILIES[name], emissions=(".subsets()",), skips=False)
    for name in ("sequences", "closures", "absence", "guards", "strict")
}
SUBSETS["logical"] = replace(FAMILIES["logical"], emissions=(".subsets()",), selections=("", ".strict()"))
# Closures of closures and of groups, parts in any order, counts, loops: what the families do not write.
NESTED = (
    "(A+ as a)+",
    "((A as a)+ -> B as b)+ -> C as c",
    "(A as a -> B+ as b){1,2} -> C as c",
    "(A{1,2} as a){2,3}",
    "(A* as a -> B? as b){2}",
    "(A+ as a){2} -> B as b",
    "AND(A+ as a, B as b) -> C as c",
    "AND(A as a -> B as b, C as c)",
    "(AND(A as a, B+ as b)){1,2}",
    "OR(A+ as a, B as b -> A as c) -> B as d",
    "(OR(A as a, B as b))+ -> C as c",
    "A as a -> all next B as b -> C as c",
    "A as a -> all greedy B as b -> B* as c -> C as d",
    "A as a -> B+ until v > 2 as b -> C as c",
    "A as a -> B+ as b within 2s -> C as c",
    "(A as a -> B as b) within 3s -> C as c",
    "A as a -> B{2,} as b -> C as c",
    "A as a -> B+ as b -> C as c .where(count(b) >= 2)",
    "A as a -> B+ as b -> C as c .where(first(b).v > a.v)",
    "A as a -> B+ as b -> C as c .where(last(b).v > a.v)",
    "A as a -> B+.increasing(v) as b -> C as c",
    "A as a -> B+.decreasing(v) as b",
    "A as a -> B[v >= b.v]+ as b -> C[v > a.v] as c",
    "A as a -> (B as b -> NOT X -> C as c)+ -> A as d",
    "A as a -> B+ as b -> NOT X -> C as c",
    "A as a -> B+ as b -> NOT X within 3s",
    "A as a -> B+ as b -> C as c unless X[v > 1] between a and c",
    "NOT X within 2s -> A as a -> B+ as b",
)
FUNCTIONS = (
    "count_events({})",
    "sum_trends({}.v)",
    "avg_trends({}.v)",
    "min_trends({}.v)",
    "max_trends({}.v)",
)


def with_aggregates(query: str, draw: Any, rows: str) -> str:
    names = sorted(compile(query).last.plan.aliases)
    asked = [draw(st.sampled_from(FUNCTIONS)).format(draw(st.sampled_from(names))) for _ in range(3)]
    columns = ", ".join(f"f{i}: {text}" for i, text in enumerate(["count_trends()", *asked]))
    return f"{query} .trend_aggregate({columns}, rows: {rows})"


def planned(query: str) -> Program:
    try:
        return compile(query)
    except PatternMistake as mistake:
        note(str(mistake))
        reject()


def step_by_step(program: Program, given_events: list[Event]) -> list[Findings]:
    """What each event makes certain, and the end."""
    network, name = Network(program), program.last.name
    found = [network.on_events([event])[name] for event in given_events]
    return [*found, network.on_end(given_events[-1].time)[name]]


def rows_agree(query: str, text: str, given_events: list[Event]) -> None:
    """After each event: the last row is the aggregate of all matches so far; `moment` has those of the event."""
    listed = step_by_step(planned(query), given_events)
    program = planned(text)
    columns = program.last.plan.trends.columns  # type: ignore[union-attr]
    note(told(text, given_events))
    so_far: list[Any] = []
    for matches, rows in zip(listed, step_by_step(program, given_events), strict=True):
        now = [m.binds for m in matches.matches]
        so_far += now
        values = [m.key for m in rows.matches]
        if text.endswith("rows: change)"):
            assert bool(values) == bool(now)
            assert values[-1:] == ([aggregates(columns, so_far)] if now else [])
        elif text.endswith("rows: moment)") and len(values) == 1:
            assert values == [aggregates(columns, now)]
        elif text.endswith("rows: moment)"):
            assert sum(v[0] for v in values) == len(now)
    if text.endswith("rows: final)"):
        assert values == ([aggregates(columns, so_far)] if so_far else [])


def final_agrees(query: str, text: str, given_events: list[Event]) -> None:
    """The whole, against the brute force, which shares nothing with any matcher."""
    program = planned(text)
    try:
        wanted = brute_force(planned(query).last.stream.pattern, given_events)
    except Undecided as why:
        note(str(why))
        reject()
    note(told(text, given_events))
    rows = [m.key for found in step_by_step(program, given_events) for m in found.matches]
    columns = program.last.plan.trends.columns  # type: ignore[union-attr]
    assert rows == ([aggregates(columns, wanted)] if wanted else [])


def check_family(family: Shape, count: int) -> None:
    @settings(max_examples=count, suppress_health_check=QUIET)
    @given(cases(family), st.data())
    def run(case: tuple[str, list[Event]], data: st.DataObject) -> None:
        query, given_events = case
        planned(query)
        rows = data.draw(st.sampled_from(["change", "moment", "final"]))
        rows_agree(query, with_aggregates(query, data.draw, rows), given_events)
        final_agrees(query, with_aggregates(query, data.draw, "final"), given_events)

    run()


def check_nested(query: str, count: int) -> None:
    compile(f"{query} .subsets() .trend_aggregate(n: count_trends())")

    # Without a window, with a wide and with a narrow one.
    @settings(max_examples=count, suppress_health_check=QUIET)
    @given(
        events(8, ("A", "A", "B", "B", "B", "C", "X", "Z")),
        st.sampled_from(["", " .within(4s)", " .within(2s)", " .strict()"]),
        st.sampled_from(["change", "moment", "final"]),
        st.data(),
    )
    def run(given_events: list[Event], more: str, rows: str, data: st.DataObject) -> None:
        whole = f"{query}{more} .subsets()"
        planned(whole)
        rows_agree(whole, with_aggregates(whole, data.draw, rows), given_events)

    run()


@pytest.mark.parametrize("family", SUBSETS)
def test_trends_are_the_matches_under_subsets(family: str) -> None:
    check_family(SUBSETS[family], 40)


@pytest.mark.parametrize("query", NESTED)
def test_nested_parts(query: str) -> None:
    check_nested(query, 8)


@pytest.mark.soak
@pytest.mark.parametrize("family", SUBSETS)
def test_trends_are_the_matches_under_subsets_at_length(family: str) -> None:
    check_family(SUBSETS[family], 4000)


@pytest.mark.soak
@pytest.mark.parametrize("query", NESTED)
def test_nested_parts_at_length(query: str) -> None:
    check_nested(query, 1500)
