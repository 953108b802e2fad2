"""Patterns whose runs are not kept one by one: the same answers, and states that the reference can go on from."""

from __future__ import annotations

from math import comb
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from test_compiled import agree, compared, facts, fields_of, made_up

from cepheid.engines.program import compile
from cepheid.matching.compiled.chains import is_chain
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.matcher import CompiledMatcher
from cepheid.matching.found import Findings
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan
from cepheid.testing.schema import schema_of
from cepheid.testing.strategies import events as some_events

GAPS = (0, 0, 1, 1, 2)  # many events at one time, so that windows end at ties


@st.composite
def chains(draw: Any) -> str:
    """Steps that may fit the same events; both selections, windows, limits."""
    conditions = st.sampled_from(("", "", "", "[v > 0]", "[v <= 1]", "[v is null]"))
    kinds = draw(st.lists(st.sampled_from("AABBC"), min_size=1, max_size=4))
    steps = [f"{kind}{draw(conditions)} as {alias}" for kind, alias in zip(kinds, "abcd", strict=False)]
    selection = draw(st.sampled_from(("", ".stnm()")))
    limits = [".limit(max_runs: 4)"]
    if selection:
        limits.append(".limit(max_runs: 2, on_limit: evict_oldest)")
    options = [
        selection,
        draw(st.sampled_from(("", f".within({draw(st.integers(0, 4))}s)"))),
        # Not both: in which order several keys tell of timeouts at one moment is not fixed.
        draw(st.sampled_from(("", "", ".timeouts()", ".timeouts()", ".partition_by(k)"))),
        draw(st.sampled_from(("", ".longest()"))),
        draw(st.sampled_from(["", "", "", *limits])),
    ]
    if not selection and ".longest()" not in options and ".timeouts()" not in options:
        options.append(draw(st.sampled_from(("", "", ".emit(n: count_matches())"))))
    return " ".join(filter(None, [" -> ".join(steps), *options]))


def check_chains(count: int, size: int) -> None:
    @made_up(count)
    @given(chains(), some_events(size, ("A", "A", "B", "B", "C", "Z"), GAPS), st.integers(0, 2**32))
    def run(query: str, events: list[Event], seed: int) -> None:
        assert is_chain(compile(query, schema_of(events)).last.plan)
        compared(query, events, seed)

    run()


def check_handing_over(count: int) -> None:
    @made_up(count)
    @given(chains(), some_events(12, ("A", "A", "B", "B", "C", "Z"), GAPS), st.integers(0, 12))
    def run(query: str, events: list[Event], cut: int) -> None:
        note(query)
        if "max_runs: 4" not in query:
            plan = compile(query, schema_of(events)).last.plan
            assert handed_over(plan, events, min(cut, len(events))) == by_reference(plan, events)

    run()


def by_reference(plan: Plan, events: list[Event]) -> dict[str, Any]:
    matcher = ReferenceMatcher(plan)
    return facts(matcher.on_batch(events) + matcher.on_end(events[-1].time), [0] * 7)


def handed_over(plan: Plan, events: list[Event], cut: int) -> dict[str, Any]:
    """The kernel up to the cut, the reference from its state on."""
    matcher = CompiledMatcher(CompiledPlan.of(plan, fields_of(events)))
    found = Findings()
    for event in events[:cut]:  # one by one: a state is loaded and saved for each
        found += matcher.on_batch([event])
    for key in list(matcher.keys):
        matcher._to_reference(matcher.keys.pop(key))
    found += matcher.fallback.on_batch(events[cut:]) + matcher.fallback.on_end(events[-1].time)
    return facts(found, [0] * 7)


def test_chains() -> None:
    check_chains(400, 10)


def test_longer_streams() -> None:
    check_chains(60, 24)


def test_the_reference_goes_on() -> None:
    check_handing_over(150)


@pytest.mark.soak
def test_many_chains() -> None:
    check_chains(12_000, 12)


@pytest.mark.soak
def test_many_longer_streams() -> None:
    check_chains(2_000, 24)


@pytest.mark.soak
def test_the_reference_often_goes_on() -> None:
    check_handing_over(4_000)


@pytest.mark.parametrize(
    "query",
    [
        "A -> B .within(40s)",
        "A -> B .within(40s) .stnm() .timeouts()",
        "A -> B -> C .within(4s) .timeouts()",
        "A -> B -> C -> B .within(60s) .stnm() .timeouts()",
        "A -> B .stnm()",
    ],
)
def test_many_open_runs(query: str) -> None:
    """More than the kernel has room for at first, and so many that windows end all the time."""
    random = Random(7)
    time, events = 0, []
    for i in range(260):
        time += random.choice((0, 0, 100_000, 200_000))
        kind = random.choice("AAAABBC")
        events.append(Event(kind, time, {"type": kind, "id": f"{kind}{i}"}, seq=i))
    plan = compile(query, schema_of(events)).last.plan
    agree(plan, events, time + 1_000_000, random)


def test_counts_beyond_a_word_are_the_references() -> None:
    """Sixteen steps of one kind over many events: the kernel hands over where 64 bits end."""
    events = [Event("A", i, {"type": "A", "id": f"A{i}"}, seq=i) for i in range(135)]
    query = " -> ".join(["A"] * 16) + " .emit(n: count_matches())"
    plan = compile(query, schema_of(events)).last.plan
    assert is_chain(plan)
    whole = by_reference(plan, events)
    assert handed_over(plan, events, len(events)) == whole
    counts = [match[5] for match in whole["matches"]]
    assert counts == [comb(i, 15) for i in range(15, 135)]
    assert counts[-1] > 2**63


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("A as a -> B as b .partition_by(k)", True),
        ("A as a -> B[v > a.v] as b", False),
        ("A -> B within 2s -> C", False),
        ("A -> all B -> C", False),
        ("A -> NOT X -> B", False),
        ("A -> B .strict()", False),
        ("A -> first B", False),
        ("every (A -> B)", False),
        ("A -> B .skip(past_last)", False),
        ("A -> B unless X", False),
        ("A -> B .limit(max_runs: 5, on_limit: evict_oldest)", False),
        ("A -> B .emit(n: count_matches())", True),
        ("A as a -> B .emit(a: a.v, n: count_matches())", False),
        ("A -> B .stnm() .limit(max_runs: 5, on_limit: evict_oldest)", True),
    ],
)
def test_what_is_a_chain(query: str, expected: bool) -> None:
    assert is_chain(compile(query).last.plan) is expected
