"""Expressions on values: three-valued logic, arithmetic, closure values, own names, Python functions."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from cepheid.errors import EvaluationError, PatternMistake
from cepheid.lang.parser import parse_expression
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment
from cepheid.matching.python_function import EventView
from cepheid.pattern.event import Event
from cepheid.pattern.expr import (
    Aggregate,
    Binary,
    Element,
    Expr,
    Field,
    Key,
    Length,
    Literal,
    Opaque,
    conjuncts,
)

NAN = float("nan")


def event(**fields: Any) -> Event:
    return Event("E", 1_000_000, fields)


def run(text: str | Expr, **fields: Any) -> Any:
    expr = parse_expression(text) if isinstance(text, str) else text
    return compile_value(expr)(Moment(event(**fields), {}))


def over(expr: Expr, **binds: Any) -> Any:
    """An expression over events given by their field `x`."""
    bound = {alias: tuple(event(x=x) for x in values) for alias, values in binds.items()}
    return compile_value(expr)(Moment(None, bound))


def failure(text: str | Expr, **fields: Any) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        run(text, **fields)
    return caught.value


# Three-valued logic.

T, F, N = True, False, None


@pytest.mark.parametrize(
    ("p", "q", "both", "either"),
    [
        (T, T, T, T),
        (T, F, F, T),
        (T, N, N, T),
        (F, T, F, T),
        (F, F, F, F),
        (F, N, F, N),
        (N, T, N, T),
        (N, F, F, N),
        (N, N, N, N),
    ],
)
def test_and_or(p: Any, q: Any, both: Any, either: Any) -> None:
    assert run("p and q", p=p, q=q) is both
    assert run("p or q", p=p, q=q) is either


@pytest.mark.parametrize(("p", "result"), [(T, F), (F, T), (N, N)])
def test_not(p: Any, result: Any) -> None:
    assert run("not p", p=p) is result


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_a_comparison_with_null_is_unknown(op: str) -> None:
    assert run(f"x {op} 1", x=None) is None
    assert run(f"1 {op} x", x=None) is None
    assert run(f"x {op} y", x=None, y=None) is None
    assert run(f"missing {op} 1") is None
    assert run(f"x {op} null", x="anything") is None


@pytest.mark.parametrize(
    ("x", "items", "result"),
    [
        (1, "1, 2", T),
        (3, "1, 2", F),
        (None, "1, 2", N),
        (1, "1, null", T),
        (3, "1, null", N),
        (None, "null", N),
        (1.0, "1, 2", T),
        (1.5, "1, 2", F),
        (Decimal(2), "1, 2", T),
        ("a", "'a', 'b'", T),
        ("c", "'a', 'b'", F),
        (1, "", F),
        (None, "", F),
        (2, "y, 3", T),
        (3, "y, z", N),
    ],
)
def test_in(x: Any, items: str, result: Any) -> None:
    opposite = None if result is None else not result
    assert run(f"x in ({items})", x=x, y=2) is result
    assert run(f"x not in ({items})", x=x, y=2) is opposite


def test_in_with_the_wrong_type() -> None:
    assert failure("x in (1, 2)", x="1").code == "type_clash"
    assert failure("x in ('1', '2')", x=1).code == "type_clash"
    assert failure("x in (1, 2)", x=True).code == "type_clash"


@pytest.mark.parametrize(
    ("x", "null"), [(None, T), (NAN, T), (Decimal("NaN"), T), (0, F), ("", F), (False, F)]
)
def test_is_null(x: Any, null: bool) -> None:
    assert run("x is null", x=x) is null
    assert run("x is not null", x=x) is not null
    assert run("missing is null") is True


def test_case_takes_the_first_condition_that_is_true() -> None:
    text = "case when x > 10 then 'big' when x > 5 then 'medium' else 'small' end"
    assert [run(text, x=x) for x in (20, 7, 1, None)] == ["big", "medium", "small", "small"]
    assert run("case when x > 10 then 1 end", x=1) is None
    assert [run("if(p, 1, 2)", p=p) for p in (T, F, N)] == [1, 2, 2]


def test_a_branch_not_taken_is_not_evaluated() -> None:
    assert run("if(x is null, 0, x + 1)", x=None) == 0
    assert run("case when true then 1 else 'a' + 1 end") == 1
    assert run("x == 1 and y + 'a' == 'b'", x=2, y=1) is False
    assert run("x == 2 or y + 'a' == 'b'", x=2, y=1) is True


def test_a_condition_must_be_a_bool() -> None:
    for text in ("x and true", "true and x", "not x", "x or false", "if(x, 1, 2)"):
        assert failure(text, x=1).code == "not_a_condition"
    with pytest.raises(EvaluationError, match="not a condition"):
        compile_test([parse_expression("x")])(Moment(event(x=5), {}))  # type: ignore[misc]


# Comparison.

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (1, 2),
        (1, 1.5),
        (1.5, 2),
        (Decimal("0.1"), 1),
        (0, Decimal("0.1")),
        (Decimal("0.1"), 0.2),
        (0.2, Decimal("0.3")),
        (-math.inf, 10**400),
        (10**400, math.inf),
        ("Z", "a"),  # by code point
        ("z", "é"),
        ("", "a"),
        ("\uffff", "\U00010000"),  # not by UTF-16 unit
        (False, True),
        (b"a", b"b"),
        (timedelta(seconds=1), timedelta(minutes=1)),
        (date(2024, 5, 1), date(2024, 5, 2)),
        (date(2024, 5, 1), NOON),
        (NOON, date(2024, 5, 2)),
        (NOON.replace(tzinfo=None), NOON + timedelta(microseconds=1)),
        (datetime(2024, 5, 1, 13, tzinfo=timezone(timedelta(hours=2))), NOON),
    ],
)
def test_order(less: Any, more: Any) -> None:
    assert run("x < y", x=less, y=more) is True
    assert run("x <= y", x=less, y=more) is True
    assert run("x > y", x=less, y=more) is False
    assert run("x >= y", x=less, y=more) is False
    assert run("x == y", x=less, y=more) is False
    assert run("x != y", x=less, y=more) is True
    assert run("y > x", x=less, y=more) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, Decimal("1.00")),
        (0.5, Decimal("0.5")),
        (2**53 + 1, float(2**53)),  # an int widens to a float
        (-0.0, 0.0),
        (date(2024, 5, 1), datetime(2024, 5, 1)),
        (NOON, NOON.replace(tzinfo=None)),
        (NOON, datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))),
        ([1, 2], [1.0, 2]),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_equal(a: Any, b: Any) -> None:
    assert run("x == y", x=a, y=b) is True
    assert run("y == x", x=a, y=b) is True
    assert run("x != y", x=a, y=b) is False
    assert run(Binary("==", Field(None, ("x",)), Literal(b)), x=a) is True


def test_lists_and_structs() -> None:
    assert run("x == y", x=[1, 2], y=[1]) is False
    assert run("x == y", x=[1, None], y=[1, 2]) is None
    assert run("x == y", x=[1, None], y=[3, 2]) is False
    assert run("x == y", x={"a": 1}, y={"b": 1}) is False
    assert failure("x < y", x=[1], y=[2]).code == "type_clash"
    assert failure("x == y", x=[1], y=["a"]).code == "type_clash"


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("5", 5),
        (True, 1),
        (True, "true"),
        (NOON, 5),
        (NOON, "2024-05-01"),
        (timedelta(1), 5),
        (timedelta(1), NOON),
        (b"a", "a"),
        ([1], 1),
        ({"a": 1}, 1),
    ],
)
def test_values_without_a_common_type_are_an_error(op: str, a: Any, b: Any) -> None:
    for x, y in ((a, b), (b, a)):
        problem = failure(f"x {op} y", x=x, y=y)
        assert problem.code == "type_clash"
        assert problem.place is not None


def test_a_clash_says_what_and_where() -> None:
    problem = failure("user == 'eve' and status > 5", user="eve", status="x" * 100)
    assert problem.place is not None
    assert (problem.place.column, problem.place.end_column) == (19, 29)
    assert (
        problem.message
        == f"`status > 5`: 'xxx{'x' * 33}... is a string, 5 is an int: they cannot be compared"
    )
    assert problem.hint == "convert one of them: float(x), int(x) or string(x)"


# Arithmetic.

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "x", "y", "result"),
    [
        ("x + y", 1, 2, 3),
        ("x + y", 1, 2.5, 3.5),
        ("x + y", 1.5, 2, 3.5),
        ("x + y", Decimal("0.1"), 1, Decimal("1.1")),
        ("x + y", 1, Decimal("0.1"), Decimal("1.1")),
        ("x + y", Decimal("0.1"), Decimal("0.2"), Decimal("0.3")),
        ("x + y", Decimal("0.5"), 0.25, 0.75),
        ("x + y", 0.25, Decimal("0.5"), 0.75),
        ("x + y", 2**80, 1, 2**80 + 1),
        ("x + y", Decimal(10**40), 1, Decimal(10**40 + 1)),  # more than Python's 28 digits
        ("x - y", 1, 2, -1),
        ("x - y", 1.5, 2, -0.5),
        ("x - y", Decimal("0.3"), Decimal("0.1"), Decimal("0.2")),
        ("x * y", 3, 4, 12),
        ("x * y", 3, 0.5, 1.5),
        ("x * y", Decimal("1.1"), 3, Decimal("3.3")),
        ("x * y", Decimal("1.5"), 2.0, 3.0),
        ("x / y", 7, 2, 3.5),
        ("x / y", 6, 2, 3.0),
        ("x / y", 1.0, 4, 0.25),
        ("x / y", Decimal(1), 4, Decimal("0.25")),
        ("x / y", 1, Decimal(4), Decimal("0.25")),
        ("x / y", Decimal(1), 4.0, 0.25),
        ("x / y", 1, 0, None),
        ("x / y", 1.0, 0.0, None),
        ("x / y", 0, 0, None),
        ("x / y", Decimal(1), 0, None),
        ("x / y", 1, Decimal(0), None),
        ("x % y", 7, 3, 1),
        ("x % y", -7, 3, -1),
        ("x % y", 7, -3, 1),
        ("x % y", -7, -3, -1),
        ("x % y", -7.5, 2, -1.5),
        ("x % y", 7.5, -2, 1.5),
        ("x % y", Decimal("-7.5"), 2, Decimal("-1.5")),
        ("x % y", Decimal("7.5"), 2.0, 1.5),
        ("x % y", 7, 0, None),
        ("x % y", 7.0, 0.0, None),
        ("x % y", Decimal(7), 0, None),
        ("x % y", math.inf, 2, None),
        ("x ** 2", 3, None, 9),
        ("x ** 2", 10**20, None, 10**40),
        ("x ** 2", 1.5, None, 2.25),
        ("x ** 2", Decimal("1.1"), None, Decimal("1.21")),
        ("x ** 0", 0, None, 1),
        ("x ** -1", 2, None, 0.5),
        ("x ** -1", 0, None, None),
        ("x ** y", 2, 3, 8.0),
        ("x ** y", 9, 0.5, 3.0),
        ("x ** y", -8, 0.5, None),
        ("x ** y", Decimal(4), Decimal("0.5"), 2.0),
        ("-x", 5, None, -5),
        ("-x", Decimal(10**40 + 1), None, Decimal(-(10**40) - 1)),
        ("-x", HOUR, None, -HOUR),
        # NaN is null, infinity is a number
        ("x - y", math.inf, math.inf, None),
        ("x * y", math.inf, 0, None),
        ("x + y", NAN, 1, None),
        ("x + y", 1, NAN, None),
        ("x * y", 1e300, 1e300, math.inf),
        # times
        ("x - y", NOON, NOON - HOUR, HOUR),
        ("x - y", NOON, NOON.replace(tzinfo=None), timedelta()),
        ("x - y", NOON, date(2024, 5, 1), 12 * HOUR),
        ("x - y", date(2024, 5, 2), date(2024, 5, 1), 24 * HOUR),
        ("x - y", NOON, HOUR, datetime(2024, 5, 1, 11, tzinfo=UTC)),
        ("x + y", NOON, HOUR, datetime(2024, 5, 1, 13, tzinfo=UTC)),
        ("x + y", HOUR, NOON, datetime(2024, 5, 1, 13, tzinfo=UTC)),
        ("x + y", NOON.replace(tzinfo=None), HOUR, datetime(2024, 5, 1, 13, tzinfo=UTC)),
        ("x + y", date(2024, 5, 1), HOUR, datetime(2024, 5, 1, 1, tzinfo=UTC)),
        ("x + y", HOUR, MINUTE, timedelta(minutes=61)),
        ("x - y", HOUR, MINUTE, timedelta(minutes=59)),
        ("x * y", HOUR, 2, 2 * HOUR),
        ("x * y", 0.5, HOUR, 30 * MINUTE),
        ("x * y", HOUR, Decimal("0.5"), 30 * MINUTE),
        ("x / y", HOUR, MINUTE, 60.0),
        ("x / y", HOUR, 60, MINUTE),
        ("x / y", HOUR, Decimal(60), MINUTE),
        ("x / y", HOUR, 0, None),
        ("x / y", HOUR, timedelta(), None),
        ("x - y", NOON, None, None),
        ("x + 30m", NOON, None, datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
    ],
)
def test_arithmetic(text: str, x: Any, y: Any, result: Any) -> None:
    found = run(text, x=x, y=y)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "%", "**"])
def test_arithmetic_with_null_is_null(op: str) -> None:
    assert run(f"x {op} 2", x=None) is None
    assert run(f"2 {op} x", x=None) is None
    assert run("-x", x=None) is None


@pytest.mark.parametrize(
    ("text", "x", "y"),
    [
        ("x + y", "a", "b"),
        ("x + y", "a", 1),
        ("x + y", 1, "a"),
        ("x + y", True, 1),
        ("x + y", 1, False),
        ("x + y", NOON, NOON),
        ("x + y", NOON, 5),
        ("x + y", HOUR, 5),
        ("x - y", HOUR, NOON),
        ("x - y", "a", "b"),
        ("x * y", HOUR, HOUR),
        ("x * y", "a", 3),
        ("x * y", True, 3),
        ("x / y", 5, HOUR),
        ("x % y", HOUR, MINUTE),
        ("x % y", "a", 1),
        ("x ** y", HOUR, 2),
        ("x ** y", True, 2),
        ("x + y", [1], [2]),
        ("-x", "a", None),
        ("-x", True, None),
        ("-x", NOON, None),
    ],
)
def test_arithmetic_clashes(text: str, x: Any, y: Any) -> None:
    problem = failure(text, x=x, y=y)
    assert problem.code == "type_clash"
    assert problem.place is not None


def test_strings_are_joined_by_concat() -> None:
    assert "concat(a, b)" in (failure("x + y", x="a", y="b").hint or "")


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("x ** 2000000000", 10),
        ("x ** 1000.5", 10.0),
        ("x + 365d * 10000", NOON),
        ("x / 3", 10**400),
        ("x * 1.5", 10**400),
        ("exp(x)", 10_000),
    ],
)
def test_overflow_is_an_error(text: str, x: Any) -> None:
    assert failure(text, x=x).code == "overflow"


# Fields, elements, aggregates.


def test_fields() -> None:
    nested = {"payload": {"user": {"name": "eve"}, "score": NAN}, "plain": 5}
    assert run("payload.user.name", **nested) == "eve"
    assert run("payload.user.missing", **nested) is None
    assert run("plain.user", **nested) is None
    assert run("payload.score", **nested) is None
    assert run("missing.user", **nested) is None
    assert compile_value(parse_expression("x"))(Moment(None, {})) is None


def test_a_field_of_a_step_is_its_last_event_s() -> None:
    assert over(Field("b", ("x",)), b=[1, 2, 3]) == 3
    assert over(Field("b", ("x",)), b=[]) is None
    assert over(Field("b", ("x",))) is None
    assert over(Field("b", ()), b=[1, NAN]) == {"x": None}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("b[0].x", 10),
        ("b[2].x", 30),
        ("b[3].x", None),
        ("b[-1].x", None),
        ("first(b).x", 10),
        ("last(b).x", 30),
    ],
)
def test_elements(text: str, result: Any) -> None:
    assert over(parse_expression(text), b=[10, 20, 30]) == result
    assert over(parse_expression(text), b=[]) is None
    assert over(parse_expression(text)) is None


def test_element_by_a_calculated_index() -> None:
    assert over(parse_expression("b[b.LEN - 1].x"), b=[10, 20]) == 20
    assert over(parse_expression("b[b.LEN - 1].x"), b=[]) is None
    assert over(parse_expression("b[null].x"), b=[10]) is None
    assert over(Element("b", Literal(1)), b=[10, 20]) == {"x": 20}
    with pytest.raises(EvaluationError) as caught:
        over(parse_expression("b[0.5].x"), b=[1])
    assert caught.value.code == "type_clash"


def test_length() -> None:
    assert over(parse_expression("b.LEN"), b=[1, 2]) == 2
    assert over(parse_expression("count(b)")) == 0


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("sum", [1, 2, 3], 6),
        ("sum", [2**63, 1], 2**63 + 1),
        ("sum", [1, 2.5], 3.5),
        ("sum", [0.1] * 10, 1.0),
        ("sum", [Decimal("0.1"), 1], Decimal("1.1")),
        ("sum", [HOUR, MINUTE], timedelta(minutes=61)),
        ("sum", [1, None, NAN], 1),
        ("sum", [None], None),
        ("sum", [], None),
        ("sum", [math.inf, -math.inf], None),
        ("avg", [1, 2], 1.5),
        ("avg", [2, 2], 2.0),
        ("avg", [1, None, 3], 2.0),
        ("avg", [Decimal(1), Decimal(2)], Decimal("1.5")),
        ("avg", [], None),
        ("min", [3, 1.5, 2], 1.5),
        ("max", [3, 1.5, 2], 3),
        ("min", ["b", "a"], "a"),
        ("max", [NOON, NOON + HOUR], NOON + HOUR),
        ("max", [None], None),
        ("max", [], None),
        ("stddev", [2, 4, 4, 4, 5, 5, 7, 9], math.sqrt(32 / 7)),
        ("stddev", [5], None),
        ("stddev", [5, None], None),
        ("stddev", [], None),
        ("stddev", [5, 5], 0.0),
        ("distinct_count", [1, 1.0, 2, None], 2),
        ("distinct_count", ["a", "a", "b"], 2),
        ("distinct_count", [[1], [1]], 1),
        ("distinct_count", [NOON, NOON.replace(tzinfo=None)], 1),
        ("distinct_count", [True, 1], 2),
        ("distinct_count", [], 0),
        ("collect", [3, None, 1, NAN], [3, 1]),
        ("collect", [], []),
    ],
)
def test_aggregates(name: str, values: list[Any], result: Any) -> None:
    found = over(Aggregate(name, "b", ("x",)), b=values)
    assert found == (pytest.approx(result) if name == "stddev" else result)
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sum", ["a"]),
        ("sum", [1, "a"]),
        ("sum", [NOON, HOUR]),
        ("sum", [True, True]),
        ("avg", [HOUR]),
        ("max", [1, "a"]),
        ("max", [[1], [2]]),
        ("stddev", ["a"]),
    ],
)
def test_aggregates_of_the_wrong_kind(name: str, values: list[Any]) -> None:
    with pytest.raises(EvaluationError) as caught:
        over(Aggregate(name, "b", ("x",)), b=values)
    assert caught.value.code == "type_clash"


# Tests of all conjuncts, and a closure's own name.


def holds(text: str | Expr, moment: Moment, own: str | None = None) -> bool:
    expr = parse_expression(text) if isinstance(text, str) else text
    test = compile_test(conjuncts(expr), own=own)
    assert test is not None
    return test(moment)


def test_all_conjuncts_must_be_true() -> None:
    assert compile_test([]) is None
    assert holds("x > 1 and y > 1 and z > 1", Moment(event(x=2, y=2, z=2), {}))
    assert not holds("x > 1 and y > 1 and z > 1", Moment(event(x=2, y=2, z=None), {}))
    assert holds("x > 1 and y > 1", Moment(event(x=2, y=2), {}))
    assert not holds("x > 1 and y > 1", Moment(event(x=2, y=1), {}))
    assert not holds("x > 1", Moment(event(), {}))


RISING = Binary(">", Field(None, ("x",)), Field("b", ("x",)))


@pytest.mark.parametrize(
    ("x", "captured", "previous", "result"),
    [
        (5, [3, 4], event(x=9), T),  # the one captured before
        (4, [3, 4], event(x=0), F),
        (5, [], event(x=4), T),  # the step before
        (4, [], event(x=4), F),
        (4, [], event(x=None), T),  # null is as good as no field: not tested
        (4, [], event(y=1), T),
        (4, [], None, T),
        (4, [None], event(x=0), F),
    ],
)
def test_own_field(x: int, captured: list[Any], previous: Event | None, result: bool) -> None:
    binds = {"b": tuple(event(x=v) for v in captured)}
    moment = Moment(event(x=x), binds, previous=previous)
    assert holds(RISING, moment, own="b") is result


def test_only_the_conjunct_with_the_own_name_is_not_tested() -> None:
    guarded = Binary("and", RISING, parse_expression("x > 100"))
    assert not holds(guarded, Moment(event(x=1), {}), own="b")
    assert holds(guarded, Moment(event(x=101), {}), own="b")


def test_the_conjunct_is_not_tested_as_a_whole() -> None:
    """Whichever part of it would be evaluated first."""
    for expr in (
        Binary("or", Binary("and", Literal(False), RISING), Literal(False)),
        Binary("or", Literal(False), RISING),
        Binary("==", Literal(1), Binary("+", Field("b", ("x",)), Literal(1))),
    ):
        assert holds(expr, Moment(event(x=1), {}), own="b")
        assert not holds(expr, Moment(event(x=1), {"b": (event(x=5),)}), own="b")


def test_nested_own_field() -> None:
    expr = Binary(">", Field(None, ("p", "x")), Field("b", ("p", "x")))
    at_hand = event(p={"x": 1})
    assert holds(expr, Moment(at_hand, {}, previous=event(p={"y": 5})), own="b")
    assert holds(expr, Moment(at_hand, {}, previous=event(p=5)), own="b")
    assert not holds(expr, Moment(at_hand, {}, previous=event(p={"x": 5})), own="b")


def test_own_aggregates() -> None:
    below = Binary("<", Aggregate("sum", "b", ("x",)), Literal(10))
    assert holds(below, Moment(event(x=1), {}), own="b")
    assert holds(below, Moment(event(x=1), {}, previous=event(x=99)), own="b")
    assert holds(below, Moment(event(x=1), {"b": (event(x=9),)}), own="b")
    assert not holds(below, Moment(event(x=1), {"b": (event(x=10),)}), own="b")
    assert not holds(
        below, Moment(event(x=1), {"b": (event(x=None),)}), own="b"
    )  # a sum of nothing is unknown


def test_own_length_and_elements() -> None:
    few = Binary("<", Length("b"), Literal(2))
    assert holds(few, Moment(event(x=1), {}), own="b")
    assert not holds(few, Moment(event(x=1), {"b": (event(x=1), event(x=1))}), own="b")
    first = Binary("==", Element("b", Literal(0), ("x",)), Literal(1))
    assert not holds(first, Moment(event(x=1), {}, previous=event(x=1)), own="b")
    assert holds(first, Moment(event(x=1), {"b": (event(x=1), event(x=7))}), own="b")


def test_another_name_that_is_not_bound_is_unknown() -> None:
    assert not holds(RISING, Moment(event(x=1), {}, previous=event(x=0)), own="c")
    assert not holds(RISING, Moment(event(x=1), {}, previous=event(x=0)))


def test_own_value_outside_a_test() -> None:
    value = compile_value(Field("b", ("x",)), own="b")
    assert value(Moment(None, {}, previous=event(x=4))) == 4
    assert value(Moment(None, {})) is None
    assert value(Moment(None, {"b": (event(x=7),)}, previous=event(x=4))) == 7


# Keys and match functions.


def test_keys() -> None:
    value = compile_value(Key("user"), keys=("region", "user"))
    assert value(Moment(None, {}, key=("eu", "eve"))) == "eve"
    assert compile_value(Key("k"), keys=("k",))(Moment(None, {}, key=(NAN,))) is None
    with pytest.raises(PatternMistake) as caught:
        compile_value(Key("usr"), keys=("region", "user"))
    assert (caught.value.code, caught.value.hint) == ("unknown_key", "did you mean `user`?")


@dataclass
class FakeMatch:
    id: str = "abc"
    start: datetime = NOON
    end: datetime = NOON + HOUR
    count: int = 2**100 - 1


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("match_id()", "abc"),
        ("match_start()", NOON),
        ("match_end() - match_start()", HOUR),
        ("count_matches()", 2**100 - 1),
    ],
)
def test_match_functions(text: str, result: Any) -> None:
    value = compile_value(parse_expression(text))
    assert value(Moment(None, {}, match=FakeMatch())) == result
    with pytest.raises(EvaluationError) as caught:
        value(Moment(None, {}))
    assert caught.value.code == "no_match"


def test_match_functions_take_no_arguments() -> None:
    with pytest.raises(PatternMistake) as caught:
        compile_value(parse_expression("match_id(1)"))
    assert caught.value.code == "wrong_arguments"


# Python functions.


def test_a_python_function_gets_views() -> None:
    moment = Moment(event(x=1), {"a": (event(x=2),), "b": (event(x=3), event(x=4))})
    seen = compile_value(Opaque(lambda a, b, c: (a.x, [e["x"] for e in b], c), ("a", "b", "c")))
    assert seen(moment) == (2, [3, 4], None)
    assert compile_value(Opaque(lambda e: e.x, ()))(moment) == 1


def test_a_python_function_as_a_test() -> None:
    for answer, result in ((1, True), ("", False), (None, False), (True, True), (NAN, False)):
        assert holds(Opaque(lambda e, answer=answer: answer, ()), Moment(event(x=1), {})) is result
    truthy = Binary("and", Opaque(lambda e: "yes", ()), Literal(True))
    assert run(truthy) is True


def test_a_python_function_over_the_own_name() -> None:
    rising = Opaque(lambda b: b.x < 5, ("b",))
    assert holds(rising, Moment(event(x=1), {}), own="b")  # nothing before it: not tested
    assert holds(rising, Moment(event(x=1), {}, previous=event(x=1)), own="b")
    assert not holds(rising, Moment(event(x=1), {}, previous=event(x=9)), own="b")
    assert not holds(rising, Moment(event(x=1), {"b": (event(x=9),)}, previous=event(x=1)), own="b")


def test_a_python_function_that_fails() -> None:
    problem = failure(Opaque(lambda e: e.x + 1, (), name="add_one"), x=None)
    assert problem.code == "python_error"
    assert "add_one" in problem.message
    assert "unsupported operand" in problem.message
    assert isinstance(problem.__cause__, TypeError)


def test_a_view_of_an_event() -> None:
    view = EventView(Event("Login", 1_714_564_800_000_000, {"user": "eve", "score": NAN, "type": "t"}))
    assert (view.user, view["user"], view.score, view.missing) == ("eve", "eve", None, None)
    assert (view.type, view["type"], view.time) == ("Login", "t", NOON)
    assert "user" in view
    assert "x" not in view
    assert list(view) == ["user", "score", "type"]
    assert repr(view).startswith("Login(user='eve'")
    assert pickle.loads(pickle.dumps(view)).user == "eve"


def test_one_moment_can_be_reused() -> None:
    test = compile_test([parse_expression("x > 1")])
    assert test is not None
    moment = Moment(event(x=1), {})
    assert not test(moment)
    moment.event = event(x=2)
    assert test(moment)


# Functions are called through expressions; what each does is in test_functions.py.


def test_calls() -> None:
    assert run("upper(x)", x="a") == "A"
    assert run("upper(x)", x=None) is None
    assert run("substr(x, 2, y)", x="abc", y=None) is None
    assert run("coalesce(x, y, 3)", x=None, y=NAN) == 3
    assert run("x like 'a%'", x="abc") is True
    assert run("x not like 'a%'", x="abc") is False
    assert run("x not like 'a%'", x=None) is None


def test_calls_on_the_wrong_kind() -> None:
    problem = failure("upper(x)", x=5)
    assert problem.code == "type_clash"
    assert problem.message == "`upper(x)`: `upper` cannot work on 5 (int)"
    assert problem.hint == "it takes upper(string)"
    assert failure("least(x, 'a')", x=5).code == "type_clash"
    assert failure("sqrt(x)", x=True).code == "type_clash"


def test_a_regex_from_data_fails_when_it_comes() -> None:
    problem = failure("regexp_like('a', x)", x="(a")
    assert problem.code == "bad_regex"
    assert failure("date_trunc(x, y)", x="fortnight", y=NOON).code == "wrong_arguments"


def test_a_written_regex_fails_when_compiled() -> None:
    with pytest.raises(PatternMistake) as caught:
        compile_value(parse_expression("regexp_like(x, '(a')"))
    assert caught.value.code == "bad_regex"
    assert caught.value.place is not None
    assert caught.value.place.column == 16
