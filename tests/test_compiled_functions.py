"""Functions of several events: the kernel's instructions give what the reference's functions give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_compiled import compared, facts, fields_of, made_up, typed

from cepheid.engines.program import compile
from cepheid.errors import CepheidError
from cepheid.matching.compiled.bytecode import Columns
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.matcher import CompiledMatcher
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Call, Literal
from cepheid.pattern.times import from_microseconds
from cepheid.pattern.types import struct_of
from cepheid.testing.schema import schema_of
from cepheid.testing.strategies import events as some_events

FLOATS = (0.5, -0.5, 1.5, 2.5, -2.5, 0.0, 3.0, 1e15 + 0.5, 0.49999999999999994, -1e15, float("inf"), None)
LARGE = (2**53 + 1, 2**60 + 1, 2**60 + 3, -(2**63), 2**63 - 1)
INTS = (
    "v",
    "a.v + v",
    "abs(a.v - v)",
    "sign(a.v - v)",
    "sign(a.f - f)",
    "floor(a.f - f)",
    "ceil(a.f + f)",
    "int(a.f + v)",
    "int(a.v > v)",
    "round(a.v - v)",
    "coalesce(a.v, v)",
    "coalesce(a.v, v, 7)",
    "ifnull(a.v, 0)",
    "nullif(a.v, v)",
    "least(a.v, v, 2)",
    "greatest(a.v, v)",
    "if(a.v > v, a.v, v)",
    "floor(b[0].f)",
    "length(last(b).name)",
    "1",
)
FLOATS_OF_TWO = (
    "f",
    "a.f - f",
    "float(a.v + v)",
    "float(a.v > v)",
    "abs(a.f - f)",
    "round(a.f + f)",
    "sqrt(a.f + v)",
    "sqrt(a.v + v)",
    "epoch(greatest(a.time, time))",
    "coalesce(a.f, f)",
    "nullif(a.f, f)",
    "least(a.f, f)",
    "greatest(a.f, f, 0.25)",
    "sqrt(b[0].f)",
    "0.5",
)
MIXED = (  # a whole number or a double, and each value remembers which
    "greatest(a.f - f, 0)",
    "least(a.v, f)",
    "coalesce(a.f, v)",
    "if(a.v > v, f, 1)",
    "if(a.f > f, a.v, if(v > 1, 0.5, v))",
    "abs(coalesce(a.f, v))",
    "-coalesce(a.v, f)",
    "coalesce(f, 0)",
    "greatest(f, v, 1)",
)
SUMS_OF_MIXED = (  # the kernel gives up on those that a double may not hold
    "coalesce(a.f, v) + v",
    "v * greatest(a.f, v) - a.v",
    "least(a.f, v) % 2",
    "round(coalesce(f, v) * 1, 1)",
    "ifnull(b[0].f, 2) - coalesce(f, 0)",
)
CONDITIONS = (
    "bool(a.v - v)",
    "bool(a.f - f)",
    "coalesce(a.v > v, f > a.f)",
    "starts_with(name, a.name)",
    "ends_with(a.name, name)",
    "contains(name, a.name)",
    'coalesce(a.name, name) == "ab"',
    "least(a.name, name) == name",
    "nullif(name, a.name) is null",
    "timestamp(least(a.time, time)) < time",
    "greatest(a.time, time) - least(a.time, time) <= 1s",
    "coalesce(nullif(a.time, time), time) == a.time",
)
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")


def with_floats(events: list[Event], floats: list[float | None], names: list[str | None]) -> list[Event]:
    for i, e in enumerate(typed(events)):
        e.fields["f"] = floats[i % len(floats)]
        e.fields["name"] = names[i % len(names)]
    return events


@st.composite
def conditions(draw: Any) -> str:
    """A condition over the event at hand, a step `a` and a closure `b`."""

    def one(values: tuple[str, ...]) -> str:
        return str(draw(st.sampled_from(values)))

    shape = draw(st.integers(0, 5))
    if shape == 0:
        return one(CONDITIONS)
    left, right = one((*INTS, *FLOATS_OF_TWO)), one((*INTS, *FLOATS_OF_TWO))
    if shape == 1:
        left = one(MIXED)
    if shape == 2:
        left, right = f"{one(MIXED)} {one(('+', '-', '*'))} f", one(MIXED)
    if shape == 5:
        left = one(SUMS_OF_MIXED)
    if shape == 3:
        return f"{left} in ({right}, 1, {one(INTS)})"
    return f"{left} {one(OPERATORS)} {right}"


def check_functions(count: int) -> None:
    floats = st.lists(st.sampled_from(FLOATS), min_size=1, max_size=5)
    names = st.lists(st.sampled_from(("a", "b", "ab", "bab", "", "aé", "é", None)), min_size=1, max_size=5)
    kinds = ("A", "A", "B", "B", "C", "C")

    @made_up(count)
    @given(conditions(), some_events(8, kinds), floats, names, st.integers(0, 2**32))
    def run(test: str, events: list[Event], floats: Any, names: Any, seed: int) -> None:
        if any(mixed in test for mixed in SUMS_OF_MIXED):
            floats = [f for f in floats if f is None or abs(f) < 100]
        with_floats(events, [1.25, *floats], ["ba", *names])  # a column of nulls has no type
        compared(f"A as a -> B* as b -> C[{test}] as c", events, seed)

    run()


def test_functions() -> None:
    check_functions(500)


@pytest.mark.soak
def test_many_functions() -> None:
    check_functions(10_000)


def check_large(count: int) -> None:
    """Numbers that a double does not hold, and results beyond 64 bits: the reference does the key."""
    floats = st.lists(st.sampled_from((*FLOATS, 1e17, -1e300, 2.0**53)), min_size=1, max_size=4)
    ints = st.lists(st.sampled_from((*LARGE, 1, 2, None)), min_size=1, max_size=4)

    answered = 0

    @made_up(count)
    @given(conditions(), some_events(6, ("A", "A", "B", "C", "C")), floats, ints)
    def run(test: str, events: list[Event], floats: Any, ints: Any) -> None:
        nonlocal answered
        with_floats(events, [*floats, 1.25], ["a", "ab"])
        for i, e in enumerate(events):
            e.fields["v"] = [*ints, 3][i % (len(ints) + 1)]
        plan = compile(f"A as a -> B* as b -> C[{test}] as c", schema_of(events)).last.plan
        try:
            wanted = found(ReferenceMatcher(plan), events)
        except CepheidError:
            return
        try:
            answer = found(CompiledMatcher(CompiledPlan.of(plan, fields_of(events))), events)
        except Unsupported:  # a column that a double does not hold
            return
        assert answer == wanted
        answered += 1

    run()
    assert answered > count / 4, answered


def test_numbers_that_are_equal_are_not_one_column() -> None:
    """1, 1.0 and true are equal, their texts are not."""
    columns = Columns(struct_of({}))
    texts = [Call("string", (Literal(value),)) for value in (1, 1.0, True)]
    assert len({columns.column(text).number for text in texts}) == 3
    assert columns.column(Call("string", (Literal(1),))) is columns.column(texts[0])


def found(matcher: Any, events: list[Event]) -> dict[str, Any]:
    return {**facts(matcher.on_batch(events) + matcher.on_end(events[-1].time), [0] * 7), "life": None}


def test_large_numbers() -> None:
    check_large(300)


@pytest.mark.soak
def test_many_large_numbers() -> None:
    check_large(6_000)


@pytest.mark.parametrize(
    "test",
    ["floor(a.f) < floor(a.f + f)", "ceil(-a.f) < int(f)", "least(v, 0.5) < v", "coalesce(a.v, f) * v > 1"],
)
def test_numbers_without_room_are_left(test: str) -> None:
    """The reference does the key: whole numbers beyond 64 bits, and those that a double does not hold."""
    fields = {"type": "A", "id": "1", "v": 2**60 + 1, "f": 1e300}
    events = [Event("A", 0, fields), Event("B", 1, {**fields, "type": "B", "id": "2", "v": 2**60 + 3})]
    plan = compile(f"A as a -> B[{test}] as b", schema_of(events)).last.plan
    reference, matcher = ReferenceMatcher(plan), CompiledMatcher(CompiledPlan.of(plan, fields_of(events)))
    wanted = facts(reference.on_batch(events) + reference.on_end(9), [0] * 7)
    assert facts(matcher.on_batch(events) + matcher.on_end(9), [0] * 7) == wanted


@pytest.mark.parametrize(
    "test",
    [
        "round(a.f + f, 2) > 1",
        "ln(a.f + f) > 1",
        "greatest(a.f, v) ** 2 > 1",  # a whole number where it was one: exact beyond what a double holds
        "nullif(a.v, f) == 1",
        'concat(a.name, name) == "ab"',
        "hour(greatest(a.time, time)) == 1",
        "int(concat(a.name, name)) == 1",
    ],
)
def test_what_would_not_be_exact_is_left(test: str) -> None:
    fields = {"type": "A", "v": 1, "f": 0.5, "name": "x", "time": from_microseconds(0)}
    events = [Event("A", 0, fields), Event("B", 1, {**fields, "type": "B"})]
    plan = compile(f"A as a -> B[{test}] as b", schema_of(events)).last.plan
    with pytest.raises(Unsupported):
        CompiledPlan.of(plan, fields_of(events))
