"""Decimals across events: the kernel's words of 64 bits give what the reference's decimals give, or it gives up."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from test_compiled import agree, compared, facts, fields_of, made_up, typed

from cepheid.engines.program import compile
from cepheid.matching.compiled.compiled_plan import CompiledPlan
from cepheid.matching.compiled.decimal_words import word_of, words_of
from cepheid.matching.compiled.kernel import decimals as k
from cepheid.matching.compiled.matcher import CompiledMatcher
from cepheid.matching.compiled.unsupported import Unsupported
from cepheid.matching.reference import ReferenceMatcher
from cepheid.pattern.event import Event
from cepheid.testing.schema import schema_of
from cepheid.testing.strategies import events as some_events

WIDE = Context(prec=400)
SMALL = ("0", "1.0", "1.10", "1.1", "-0.25", "2.5", "3", "0.333333", "-2.50", "100", "1E+2", "0.1", "2")
LARGE = (
    "1E+30",
    "0.0000000000000000000001",
    "12345678901234567.8",
    "288230376151711743",
    "-99999999999999999",
)
VALUES = (
    "d",
    "a.d",
    "a.d + d",
    "a.d - d",
    "a.d * d",
    "a.d % d",
    "-a.d",
    "a.d + v",
    "v * a.d",
    "a.v - d",
    "a.d * 3",
    "abs(a.d - d)",
    "least(a.d, d)",
    "greatest(a.d, d, 1)",
    "coalesce(a.d, v)",
    "round(a.d * d, 1)",
    "if(a.v > 1, d, a.d)",
    "if(a.v > 1, a.d, 2)",
    "nullif(a.d, d)",
    "floor(a.d - d)",
    "ceil(a.d - d)",
    "int(a.d * d)",
    "sign(a.d - d)",
    "2",
    "v",
)
QUOTIENTS = ("a.d / d", "d / a.v", "v / a.d", "a.d / 3", "(a.d + d) / d")
DOUBLES = ("f", "a.d * 1.5", "1.5 * (a.d / d)", "float(a.d)", "a.f - d", "0.5", "sqrt(abs(a.d))", "d % 0.75")
AGGREGATES = ("sum(b.d)", "min(b.d)", "max(b.d)", "b[0].d", "last(b).d", "b.d")
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")


def with_decimals(events: list[Event], numbers: list[str | None]) -> list[Event]:
    for i, e in enumerate(typed(events)):
        text = numbers[i % len(numbers)]
        e.fields["d"] = None if text is None else Decimal(text)
    return events


@st.composite
def patterns(draw: Any) -> str:
    def one_of(*groups: tuple[str, ...]) -> str:
        return str(draw(st.sampled_from([v for group in groups for v in group])))

    operator = one_of(OPERATORS)
    shape = draw(st.integers(0, 6))
    if shape == 0:
        return f"A as a -> B[{one_of(VALUES)} {operator} {one_of(VALUES)}] as b"
    if shape == 1:
        return f"A as a -> B[{one_of(DOUBLES)} {operator} {one_of(VALUES, DOUBLES)}] as b -> C[d == a.d] as c"
    if shape == 6:
        sides = [one_of(QUOTIENTS), one_of(VALUES, DOUBLES)]
        left, right = draw(st.permutations(sides))
        return f"A as a -> B[{left} {operator} {right}] as b"
    if shape == 2:
        return f"A as a -> B[{one_of(VALUES)} in (d, 1, {one_of(VALUES)})] as b"
    if shape == 3:
        left, right = one_of(AGGREGATES), one_of(AGGREGATES, ("d", "v", "f", "a.d + v", "1"))
        return (
            f"A as a -> all B[d >= b.d or {one_of(AGGREGATES)} < 3] as b -> C[{left} {operator} {right}] as c"
        )
    if shape == 4:
        left, right = "avg(b.d)", one_of(("d", "v", "f", "a.d + d", "1.5 * max(b.d)", "1", "a.d"))
        left, right = (left, right) if draw(st.booleans()) else (right, left)
        return f"A as a -> all B as b -> C[{left} {operator} {right}] as c .within(4s)"
    return f"A as a -> all B[d {operator} avg(b.d)] as b -> C[d * 1.1 {operator} avg(b.d)] as c"


def check_decimals(count: int) -> None:
    numbers = st.lists(st.sampled_from((*SMALL, None)), min_size=1, max_size=7)

    @made_up(count)
    @given(patterns(), some_events(8, ("A", "A", "B", "B", "B", "C", "C")), numbers, st.integers(0, 2**32))
    def run(query: str, events: list[Event], numbers: list[str | None], seed: int) -> None:
        with_decimals(events, [*numbers, "1.5"])
        compared(query, events, seed)

    run()


def test_decimals() -> None:
    check_decimals(400)


@pytest.mark.soak
def test_many_decimals() -> None:
    check_decimals(8_000)


def found(matcher: Any, events: list[Event]) -> dict[str, Any]:
    return {**facts(matcher.on_batch(events) + matcher.on_end(events[-1].time), [0] * 7), "life": None}


def check_large(count: int) -> None:
    """Where a number takes more room than there is, the reference does the key."""
    numbers = st.lists(st.sampled_from((*SMALL, *LARGE)), min_size=1, max_size=7)

    @made_up(count)
    @given(patterns(), some_events(8, ("A", "A", "B", "B", "B", "C", "C")), numbers)
    def run(query: str, events: list[Event], numbers: list[str | None]) -> None:
        with_decimals(events, numbers)
        plan = compile(query, schema_of(events)).last.plan
        matcher = CompiledMatcher(CompiledPlan.of(plan, fields_of(events)))
        assert found(matcher, events) == found(ReferenceMatcher(plan), events)

    run()


def test_large_decimals() -> None:
    check_large(200)


@pytest.mark.soak
def test_many_large_decimals() -> None:
    check_large(4_000)


def test_equal_decimals_are_found_by_their_word() -> None:
    """Whatever their number of digits, among many that wait."""
    kinds = [("A", f"{i}.50") for i in range(40)] + [("B", f"{i}.5000") for i in range(0, 40, 3)]
    events = [
        Event(kind, i, {"type": kind, "id": f"{kind}{i}", "d": Decimal(d)}, seq=i)
        for i, (kind, d) in enumerate(kinds)
    ]
    plan = compile("A as a -> B[d == a.d] as b", schema_of(events)).last.plan
    agree(plan, events, 99, Random(1))


@pytest.mark.parametrize(
    "test", ["a.d / d > d / a.d", "(d + a.d) ** 2 > d", "-(a.d / 3) == d", "coalesce(a.d, f) > 1"]
)
def test_what_would_not_be_exact_is_left(test: str) -> None:
    fields = {"type": "A", "d": Decimal("1.5"), "f": 0.5}
    events = [Event("A", 0, fields), Event("B", 1, {**fields, "type": "B"})]
    plan = compile(f"A as a -> B[{test}] as b", schema_of(events)).last.plan
    with pytest.raises(Unsupported):
        CompiledPlan.of(plan, fields_of(events))


# --- the words themselves ------------------------------------------------------------------------------------


def value_of(word: int) -> Decimal:
    return Decimal(int(word) >> k.SCALE_BITS).scaleb(-(int(word) & k.SCALE), WIDE)


def fits(value: Decimal) -> bool:
    return word_of(value) != k.TOO_LARGE


NUMBERS = st.one_of(
    st.decimals(min_value=-(10**6), max_value=10**6, places=3),
    st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**9), max_value=10**9),
    st.builds(
        lambda digits, scale: Decimal(digits).scaleb(-scale, WIDE),
        st.integers(-k.LARGEST, k.LARGEST),
        st.integers(0, 18),
    ),
    st.integers(-100, 100).map(Decimal),
).filter(fits)


@njit  # the kernel's functions can only be called by compiled ones
def worked_out(x: Any, y: Any) -> Any:
    quotient, exact = k.decimal_quotient(x, y if y != 0 else np.int64(32))
    rest = k.decimal_remainder(x, y) if y != 0 else np.int64(0)
    order = k.decimal_order(x, y)
    return order, k.decimal_sum(x, y), k.decimal_product(x, y), rest, quotient, exact


@njit
def rounded(x: Any, digits: int, how: int) -> Any:
    return k.decimal_rounded(x, digits, how)


@made_up(2_000)
@given(NUMBERS, NUMBERS)
def test_arithmetic_of_words(a: Decimal, b: Decimal) -> None:
    x, y = word_of(a), word_of(b)
    order, total, product, rest, quotient, exact = worked_out(x, y)
    assert value_of(x) == a
    assert np.sign(order) == int(WIDE.compare(a, b))
    results = [(total, WIDE.add(a, b)), (product, WIDE.multiply(a, b))]
    if b:
        results.append((rest, WIDE.remainder(a, b)))
        assert not exact or quotient == float(Context(prec=38).divide(a, b))
    for word, wanted in results:
        assert word in (word_of(wanted), k.TOO_LARGE)
    for how, rule in enumerate((ROUND_FLOOR, ROUND_CEILING, ROUND_DOWN, ROUND_HALF_UP)):
        assert rounded(x, 2, how) == word_of(a.quantize(Decimal("0.01"), rule, WIDE))


def test_plain_amounts_have_room() -> None:
    """With two digits after the point: sums up to a million thousand millions, products of a thousand millions."""
    a, b = word_of(Decimal("999999999999999.99")), word_of(Decimal("1234567.89"))
    assert value_of(worked_out(a, b)[1]) == Decimal("1000000001234567.88")
    assert value_of(worked_out(b, b)[2]) == Decimal("1524157875019.0521")
    assert worked_out(b, word_of(Decimal("12.34")))[5]


@made_up(500)
@given(st.lists(st.one_of(st.none(), NUMBERS), max_size=9), st.sampled_from((18, 18, 12, 30)))
def test_columns_of_words(values: list[Decimal | None], scale: int) -> None:
    unit = Decimal(1).scaleb(-scale)
    fitting = [v for v in values if v is None or v == v.quantize(unit, None, WIDE)]
    column = pa.array(fitting, pa.decimal128(38, scale) if scale < 20 else pa.decimal256(76, scale))
    wanted = [None if v is None else word_of(v) for v in fitting]
    assert words_of(column).to_pylist() == wanted
    assert words_of(column.slice(1)).to_pylist() == wanted[1:]
