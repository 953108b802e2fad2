"""Expressions worked out by Arrow for a batch give what the evaluator gives event by event, or are left to it."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import plain
from cepheid.errors import CepheidError
from cepheid.lang.parser import parse_expression
from cepheid.matching.compiled.arrow_terms import Fields, Stays
from cepheid.matching.compiled.arrow_tests import condition, value
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Binary, Call, Case, Expr, Field, In, IsNull, Literal, Unary
from cepheid.pattern.times import EPOCH
from cepheid.pattern.values import as_utc, kind_of

BIG = (2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63))
INTS = (-3, -2, -1, 0, 1, 2, 3, 7, *BIG)
FLOATS = (0.0, -0.0, 1.0, 0.5, -2.5, 3.0, 2.0**53, math.inf, -math.inf, math.nan, 1e308, 5e-324, 0.1)
TEXTS = ("", "a", "ab", "b", " a ", "A", "ß", "İ", "é", "\U0001f600", "\uffff", "a%_")
INSTANTS = (
    EPOCH,
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    datetime(2024, 2, 29, 13, 45, 7, 5, UTC),
    datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
)
DATES = (date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(1960, 5, 4))
SPANS = tuple(timedelta(microseconds=m) for m in (-3_000_000, -1, 0, 1, 5, 3_600_000_000, 2**62, -(2**62)))
NANOSECONDS = (0, -1, -1001, 999, 1_700_000_000_123_456_789, -(2**62))
# Values that are hard to get right, and mostly (the second) ordinary ones, so that Arrow has something to answer.
COLUMNS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], pa.DataType]] = {
    "i": (INTS, INTS[:8], pa.int64()),
    "j": (INTS[:7], INTS[:7], pa.int64()),
    "k": ((-128, 127, 0, 1), (-1, 2, 5), pa.int8()),
    "u": ((0, 1, 2**64 - 1), (0, 1, 2), pa.uint64()),
    "f": (FLOATS, FLOATS[:6], pa.float64()),
    "g": ((0.0, 1.0, -2.5, math.nan), (0.0, 1.0), pa.float32()),
    "s": (TEXTS, TEXTS[:6], pa.string()),
    "t": (("", "a", "Ab", " b"), ("", "a"), pa.dictionary(pa.int32(), pa.string())),
    "b": ((True, False), (True, False), pa.bool_()),
    "at": (INSTANTS, INSTANTS[3:], pa.timestamp("us", "UTC")),
    "ns": (NANOSECONDS, NANOSECONDS[:5], pa.timestamp("ns")),
    "d": (DATES, DATES[2:], pa.date32()),
    "p": (SPANS, SPANS[:6], pa.duration("us")),
    "raw": ((b"", b"a", b"\xff"), (b"", b"a"), pa.binary()),
    "n": ((None,), (None,), pa.null()),
    "o": (
        tuple({"x": x, "y": y} for x in (None, 1, 2) for y in (0.5, math.nan)),
        ({"x": 1, "y": 2.0},),
        pa.struct([("x", pa.int64()), ("y", pa.float64())]),
    ),
    "l": (([], [1], [1, 2]), ([1],), pa.list_(pa.int64())),
}
GROUPS = (
    ("i", "j", "k", "u", "f", "g", "j", "f"),
    ("s", "t"),
    ("at", "ns", "d"),
    ("p",),
    ("b",),
    ("raw", "n", "l"),
)


LITERALS: dict[str, tuple[Any, ...]] = {
    "i": (*INTS, *FLOATS, 2**64, *INTS[:8]),
    "s": TEXTS,
    "at": (*INSTANTS, *DATES),
    "p": SPANS,
}
NUMBERS, WORDS, MOMENTS, LENGTHS = GROUPS[:4]
OF_TEXT = ("lower", "upper", "trim", "ltrim", "rtrim")
OF_NUMBER = ("abs", "floor", "ceil", "sqrt", "ln")
OF_TIME = ("year", "month", "day", "hour", "minute", "second", "epoch", "dayofweek")


class Maker:
    """Makes expressions; `pick` chooses one of several."""

    def __init__(self, pick: Any) -> None:
        self.pick = pick

    def leaf(self, group: tuple[str, ...]) -> Expr:
        if self.pick((0, 1, 2)) == 0:
            return Literal(self.pick(LITERALS.get(group[0], (True, False))))
        paths = [(name,) for name in group]
        if group == NUMBERS:
            paths += [("o", "x"), ("o", "y"), ("o", "z"), ("missing",)]
        return Field(None, self.pick(paths))

    def value(self, group: tuple[str, ...], depth: int) -> Expr:
        if depth == 0:
            return self.leaf(group)
        own = {NUMBERS: self.number, WORDS: self.word, MOMENTS: self.moment, LENGTHS: self.span}.get(group)
        which = self.pick(range(8))
        if own is not None and which < 5:
            return own(depth - 1)
        if which == 5:
            chosen = (self.value(group, depth - 1), self.value(group, depth - 1))
            return Case(((self.condition(depth - 1), chosen[0]),), chosen[1])
        if which == 6:
            return Call("coalesce", (self.value(group, depth - 1), self.value(group, depth - 1)))
        return self.leaf(group)

    def number(self, depth: int) -> Expr:
        which = self.pick(range(9))
        if which < 4:
            op = self.pick(("+", "-", "*", "/", "%", "**"))
            return Binary(op, self.value(NUMBERS, depth), self.value(NUMBERS, depth))
        if which == 4:
            return Unary("-", self.value(NUMBERS, depth))
        if which == 5:
            return Call(self.pick(OF_NUMBER), (self.value(NUMBERS, depth),))
        if which == 6:
            return Call("length", (self.value(WORDS, depth),))
        if which == 7:
            return Call(self.pick(OF_TIME), (self.value(MOMENTS, depth),))
        return Binary("/", self.value(LENGTHS, depth), self.value(LENGTHS, depth))

    def word(self, depth: int) -> Expr:
        if self.pick((True, False)):
            return Call(self.pick(OF_TEXT), (self.value(WORDS, depth),))
        return Call("concat", (self.value(WORDS, depth), self.value(WORDS, depth)))

    def moment(self, depth: int) -> Expr:
        return Binary(self.pick(("+", "-")), self.value(MOMENTS, depth), self.value(LENGTHS, depth))

    def span(self, depth: int) -> Expr:
        which = self.pick((0, 1, 2))
        if which == 0:
            return Binary(self.pick(("+", "-")), self.value(LENGTHS, depth), self.value(LENGTHS, depth))
        if which == 1:
            return Binary("-", self.value(MOMENTS, depth), self.value(MOMENTS, depth))
        return Binary("*", self.value(LENGTHS, depth), self.leaf(("j", "k")))

    def condition(self, depth: int) -> Expr:
        which = self.pick(range(9)) if depth else self.pick(range(6))
        group = self.pick(GROUPS)
        if which < 3:
            op = self.pick(("==", "!=", "<", "<=", ">", ">="))
            return Binary(op, self.value(group, depth), self.value(group, depth))
        if which == 3:
            items = tuple(self.value(group, 0) for _ in range(self.pick(range(6))))
            return In(self.value(group, depth), items, self.pick((True, False)))
        if which == 4:
            return IsNull(self.value(group, depth), self.pick((True, False)))
        if which == 5:
            name = self.pick(("contains", "starts_with", "ends_with"))
            return Call(name, (self.value(WORDS, depth), self.value(WORDS, 0)))
        if which == 6:
            return Unary("not", self.condition(depth - 1))
        return Binary(self.pick(("and", "or")), self.condition(depth - 1), self.condition(depth - 1))


@st.composite
def conditions(draw: Any) -> Expr:
    return Maker(lambda some: draw(st.sampled_from(some))).condition(2)


@st.composite
def values(draw: Any) -> Expr:
    maker = Maker(lambda some: draw(st.sampled_from(some)))
    return maker.value(maker.pick(GROUPS), 2)


def made_batch(seed: int) -> dict[str, pa.Array]:
    random = Random(seed)
    rows = random.randint(1, 6)
    found = {}
    for name, (hard, easy, kind) in COLUMNS.items():
        pool = hard if random.random() < 0.4 else easy
        some = [None if random.random() < 0.15 else random.choice(pool) for _ in range(rows)]
        found[name] = pa.array(some, kind, from_pandas=False)
    return found


BATCHES = st.integers(0, 2**32).map(made_batch)


def events_of(batch: dict[str, pa.Array]) -> list[Event]:
    rows = batch_rows(batch)
    return [Event("A", 0, {name: plain(v) for name, v in row.items()}, seq=i) for i, row in enumerate(rows)]


def by_evaluator(calculate: Any, events: list[Event]) -> list[Any] | None:
    """None: for some event there is an error."""
    try:
        return [calculate(Moment(e, {})) for e in events]
    except CepheidError:
        return None


def as_stored(found: Any) -> Any:
    if isinstance(found, (datetime, date)):
        return duration(as_utc(found) - EPOCH)
    return duration(found) if isinstance(found, timedelta) else found


ANSWERED: Counter[str] = Counter()


def check_value(expr: Expr, batch: dict[str, pa.Array]) -> None:
    wanted = by_evaluator(compile_value(expr), events_of(batch))
    try:
        kind, found = value(expr, Fields(batch, len(batch["i"])))
    except Stays:
        ANSWERED["left"] += 1
        return
    ANSWERED["answered"] += 1
    assert wanted is not None, "an error was not reported"
    assert {kind_of(w) for w in wanted if w is not None} <= {kind}
    got = found.to_pylist()
    assert [repr(as_stored(w)) for w in wanted] == [repr(g) for g in got]


def check_condition(expr: Expr, batch: dict[str, pa.Array]) -> None:
    test = compile_test((expr,))
    assert test is not None
    wanted = by_evaluator(test, events_of(batch))
    try:
        found = condition(expr, Fields(batch, len(batch["i"])))
    except Stays:
        ANSWERED["left"] += 1
        return
    ANSWERED["answered"] += 1
    assert wanted == [f is True for f in found.to_pylist()]


def run(count: int) -> None:
    quiet = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
    how = settings(max_examples=count, suppress_health_check=quiet)

    @how
    @given(conditions(), BATCHES)
    def conditions_agree(expr: Expr, batch: dict[str, pa.Array]) -> None:
        note(str(expr))
        check_condition(expr, batch)

    @how
    @given(values(), BATCHES)
    def values_agree(expr: Expr, batch: dict[str, pa.Array]) -> None:
        note(str(expr))
        check_value(expr, batch)

    conditions_agree()
    values_agree()


def test_arrow_and_the_evaluator_agree() -> None:
    ANSWERED.clear()
    run(400)
    assert ANSWERED["answered"] > ANSWERED["left"] / 2, ANSWERED


@pytest.mark.soak
def test_arrow_and_the_evaluator_agree_on_much_more() -> None:
    run(20_000)


@pytest.mark.parametrize(
    "text",
    [
        "i > 10 and f <= 2.5",
        "j + k * 2 == 7 or s in ('a', 'b', 'c')",
        "lower(t) == 'ab' and not b",
        "at - ns < 5s or d >= at",
        "if(j > 0, f, 0.5) / 2 > 0.1",
        "o.x is not null and o.y > j",
        "contains(s, 'a') and length(t) % 2 == 1",
    ],
)
def test_ordinary_conditions_are_answered(text: str) -> None:
    batch = {name: pa.array([], kind) for name, (_, _, kind) in COLUMNS.items()}
    assert len(condition(parse_expression(text, "test"), Fields(batch, 0))) == 0
