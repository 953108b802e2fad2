"""Aggregates of closures that a run keeps up to date: the same as those the reference works out anew."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_compiled import agree, compared, facts, fields_of, made_up, typed

from cepheid.engines.program import compile
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.matcher import CompiledMatcher
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.testing.schema import schema_of
from cepheid.testing.strategies import events as some_events

AGGREGATES = (
    "sum(b.v)",
    "min(b.v)",
    "max(b.v)",
    "avg(b.v)",
    "count(b)",
    "sum(b.f)",
    "min(b.f)",
    "max(b.f)",
    "avg(b.f)",
)


@st.composite
def patterns(draw: Any) -> str:
    one, other = draw(st.sampled_from(AGGREGATES)), draw(st.sampled_from(AGGREGATES))
    operator = draw(st.sampled_from(("<", ">=", "==")))
    loop = draw(st.sampled_from(("all B", "all any B", f"all B[{one} is null or {other} <= 4]", "B{1,3}")))
    test = draw(st.sampled_from((f"[{one} {operator} v]", f"[{one} {operator} {other}]", "")))
    whole = draw(st.sampled_from(("", f" .where({one} {operator} {other} or a.v == 1)", " .within(4s)")))
    options = draw(st.sampled_from(("", "", " .longest()", " .subsets()", " .stnm()")))
    return f"A as a -> {loop} as b -> C{test} as c{whole}{options}"


def check_aggregates(count: int) -> None:
    @made_up(count)
    @given(patterns(), some_events(10, ("A", "B", "B", "B", "B", "C", "C")), st.integers(0, 2**32))
    def run(query: str, events: list[Event], seed: int) -> None:
        compared(query, typed(events), seed)

    run()


def test_aggregates() -> None:
    check_aggregates(300)


@pytest.mark.soak
def test_many_aggregates() -> None:
    check_aggregates(6_000)


HUGE_AND_TINY = (
    1e16,
    1.0,
    1e-16,
    1e-32,
    1e-48,
    1e-64,
    1e32,
    -1e16,
    3e-300,
    -1.0,
    0.1,
    1e300,
    None,
    -1e300,
    0.1,
)


@pytest.mark.parametrize("start", range(0, len(HUGE_AND_TINY), 3))
@pytest.mark.parametrize("condition", ["sum(b.f) > c.f", "avg(b.f) <= c.f or sum(b.f) is null"])
def test_sums_of_doubles_that_need_more_than_a_run_keeps(start: int, condition: str) -> None:
    """Exact, and rounded once: after each number the same as worked out from all of them."""
    values = [*HUGE_AND_TINY[start:], *HUGE_AND_TINY[:start]]
    events = [Event("A", 0, {"type": "A", "id": "A", "f": 0.0})]
    for i, value in enumerate(values, 1):
        bound = math.fsum(v for v in values[:i] if v is not None)
        events.append(Event("B", i, {"type": "B", "id": f"B{i}", "f": value}, seq=2 * i))
        for at, f in enumerate((bound, math.nextafter(bound, -math.inf), bound / i)):
            events.append(Event("C", i, {"type": "C", "id": f"C{i}{at}", "f": f}, seq=2 * i + 1))
    query = f"A as a -> all B as b -> C[{condition.replace('c.f', 'f')}] as c .longest()"
    plan = compile(query, schema_of(events)).last.plan
    agree(plan, events, 1_000_000, Random(start))


@pytest.mark.parametrize("value", [2**62, -(2**62), 2**63 - 1])
def test_sums_that_leave_64_bits(value: int) -> None:
    """The kernel gives up where it cannot be exact, also when the sum comes back later."""
    kinds = [
        ("A", 0),
        ("B", value),
        ("B", value),
        ("B", value),
        ("B", -value),
        ("B", -value),
        ("C", 5),
        ("B", 3),
        ("C", 1),
    ]
    events = [Event(k, i, {"type": k, "id": f"{k}{i}", "v": v}, seq=i) for i, (k, v) in enumerate(kinds)]
    plan = compile("A as a -> all B as b -> C[sum(b.v) != v] as c", schema_of(events)).last.plan
    reference, matcher = ReferenceMatcher(plan), CompiledMatcher(CompiledPlan.of(plan, fields_of(events)))
    wanted = facts(reference.on_batch(events) + reference.on_end(9), [0] * 7)
    assert facts(matcher.on_batch(events) + matcher.on_end(9), [0] * 7) == wanted
    assert wanted["matches"]
