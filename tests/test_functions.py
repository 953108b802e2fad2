"""Each scalar function, by values worked out by hand."""

from __future__ import annotations

import math
import time
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from cepheid.errors import PatternMistake
from cepheid.lang.parser import parse_expression
from cepheid.pattern.expr import Call, Literal
from cepheid.pattern.functions import FUNCTIONS, check_literals, find_function
from cepheid.pattern.types import (
    BOOL,
    DATE,
    DECIMAL,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    list_of,
    type_of,
)
from cepheid.pattern.values import BadArgument, Clash


def apply(name: str, *values: Any) -> Any:
    return FUNCTIONS[name].call(values)


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("abs", (-5,), 5),
        ("abs", (-2.5,), 2.5),
        ("abs", (Decimal(-(10**40) - 1),), Decimal(10**40 + 1)),
        ("abs", (timedelta(seconds=-5),), timedelta(seconds=5)),
        # half away from zero, not half to even
        ("round", (0.5,), 1.0),
        ("round", (1.5,), 2.0),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (2.675, 2), 2.68),
        ("round", (2.4,), 2.0),
        ("round", (7,), 7),
        ("round", (25, -1), 30),
        ("round", (-25, -1), -30),
        ("round", (24, -1), 20),
        ("round", (5, -1), 10),
        ("round", (4, -1), 0),
        ("round", (5, -(10**9)), 0),
        ("round", (1234.5, -2), 1200.0),
        ("round", (Decimal("2.345"), 2), Decimal("2.35")),
        ("round", (1.5, 10**9), 1.5),
        ("round", (1e300, 200), 1e300),
        ("round", (1.5, -(10**9)), 0.0),
        ("round", (math.inf,), math.inf),
        ("floor", (2.7,), 2),
        ("floor", (-2.1,), -3),
        ("floor", (5,), 5),
        ("floor", (Decimal("-0.5"),), -1),
        ("floor", (math.inf,), None),
        ("ceil", (2.1,), 3),
        ("ceil", (-2.7,), -2),
        ("sqrt", (16,), 4.0),
        ("sqrt", (Decimal(9),), 3.0),
        ("sqrt", (-1,), None),
        ("ln", (1,), 0.0),
        ("ln", (0,), None),
        ("ln", (-1,), None),
        ("log10", (1000,), 3.0),
        ("log10", (0.0,), None),
        ("exp", (0,), 1.0),
        ("pow", (2, 10), 1024.0),
        ("pow", (0, -1), None),
        ("pow", (-8, 0.5), None),
        ("sign", (-3,), -1),
        ("sign", (0.0,), 0),
        ("sign", (Decimal("0.1"),), 1),
    ],
)
def test_numbers(name: str, args: tuple[Any, ...], result: Any) -> None:
    found = apply(name, *args)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("least", (3, 1.5, 2), 1.5),
        ("least", (3, None), 3),
        ("least", (None, None), None),
        ("greatest", ("a", "b"), "b"),
        ("greatest", (None, 1, 2), 2),
        ("greatest", (date(2024, 1, 1), datetime(2024, 1, 1, 1)), datetime(2024, 1, 1, 1)),
        ("coalesce", (None, 2, 3), 2),
        ("coalesce", (None,), None),
        ("ifnull", (None, 5), 5),
        ("ifnull", (1, 5), 1),
        ("nullif", (1, 1.0), None),
        ("nullif", (1, 2), 1),
        ("nullif", (1, None), 1),
        ("nullif", (None, 1), None),
    ],
)
def test_nulls(name: str, args: tuple[Any, ...], result: Any) -> None:
    assert apply(name, *args) == result


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("length", ("héé",), 3),
        ("length", ("\U0001f600",), 1),
        ("length", ([1, 2],), 2),
        ("lower", ("ÄB",), "äb"),
        ("upper", ("äb",), "ÄB"),
        ("trim", ("  a b ",), "a b"),
        ("trim", ("\ta ",), "\ta"),
        ("ltrim", ("  a ",), "a "),
        ("rtrim", ("  a ",), "  a"),
        ("substr", ("hello", 2), "ello"),
        ("substr", ("hello", 2, 3), "ell"),
        ("substr", ("hello", 1, 100), "hello"),
        ("substr", ("hello", 0, 2), "he"),
        ("substr", ("hello", -3), "llo"),
        ("substr", ("hello", -3, 2), "ll"),
        ("substr", ("hello", -7, 3), "h"),
        ("substr", ("hello", 9), ""),
        ("substr", ("hello", 2, -1), ""),
        ("substr", ("hello", 2, 0), ""),
        ("concat", ("a", "b", "c"), "abc"),
        ("concat", ("a",), "a"),
        ("contains", ("hello", "ell"), True),
        ("contains", ("hello", ""), True),
        ("contains", ("hello", "x"), False),
        ("starts_with", ("hello", "he"), True),
        ("ends_with", ("hello", "he"), False),
        ("replace", ("aXbX", "X", "--"), "a--b--"),
        ("replace", ("abc", "", "-"), "abc"),
    ],
)
def test_strings(name: str, args: tuple[Any, ...], result: Any) -> None:
    assert apply(name, *args) == result


@pytest.mark.parametrize(
    ("text", "pattern", "result"),
    [
        ("hello", "hello", True),
        ("hello", "hell", False),
        ("hello", "h%", True),
        ("hello", "%o", True),
        ("hello", "%l%", True),
        ("hello", "h%l%o", True),
        ("hello", "%x%", False),
        ("aa", "a%a%a", False),
        ("a", "a%a", False),
        ("abab", "%ab%ab", True),
        ("hello", "h_llo", True),
        ("hello", "h_lo", False),
        ("hello", "_%_", True),
        ("h", "_%_", False),
        ("a\nb", "a_b", True),
        ("a\nb", "a%b", True),
        ("é", "_", True),
        ("", "%", True),
        ("", "", True),
        ("", "_", False),
        ("100%", r"100\%", True),
        ("1000", r"100\%", False),
        ("a_b", r"a\_b", True),
        ("axb", r"a\_b", False),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("a.x", "a._", True),
        ("abx", "a._", False),
        ("(x", "(_", True),
        ("a\\", "a\\", True),
        ("HELLO", "hello", False),
    ],
)
def test_like(text: str, pattern: str, result: bool) -> None:
    assert apply("like", text, pattern) is result


@pytest.mark.parametrize(
    ("text", "pattern", "result"),
    [
        ("hello", "l+", True),
        ("hello", "^l", False),
        ("hello", "^he.*o$", True),
        ("HELLO", "(?i)hello", True),
        ("día", r"\pL{3}", True),
        ("x" * 1000 + "y", "y$", True),
    ],
)
def test_regexp_like(text: str, pattern: str, result: bool) -> None:
    assert apply("regexp_like", text, pattern) is result


@pytest.mark.parametrize(
    ("text", "pattern", "group", "result"),
    [
        ("user=eve id=7", r"id=(\d+)", None, "7"),
        ("user=eve id=7", r"id=\d+", None, "id=7"),
        ("user=eve id=7", r"(\w+)=(\w+)", 2, "eve"),
        ("user=eve id=7", r"(\w+)=(\w+)", 0, "user=eve"),
        ("user=eve", r"nobody=(\w+)", None, None),
        ("ab", r"(?:a)(b)", None, "b"),
        ("ab", r"(?P<first>a)(?P<second>b)", 2, "b"),
        ("a(b", r"\((b)", None, "b"),
        ("a(b", r"[(](b)", None, "b"),
        ("a]b(", r"[]](b)[(]", None, "b"),
        ("a(b)", r"\Q(\E(b)", None, "b"),
        ("x(y", r"x\Q(y", None, "x(y"),
        ("ABC", r"(?i)a(b)c", None, "B"),
        ("ac", r"a(b)?c", None, ""),
        ("b", r"a|(b)", None, "b"),
        ("((a))", r"((\(+)(a))", 3, "a"),
        ("1a", r"[[:digit:]](a)", None, "a"),
        ("y" + "x" * 1000, r"(y)x*$", None, "y"),
    ],
)
def test_regexp_extract(text: str, pattern: str, group: int | None, result: Any) -> None:
    args = (text, pattern) if group is None else (text, pattern, group)
    assert apply("regexp_extract", *args) == result


def test_a_hostile_regex_is_quick() -> None:
    text = "a" * 100_000 + "!"
    started = time.perf_counter()
    assert apply("regexp_like", text, "(a+)+$") is False
    assert apply("regexp_like", text, "(a|aa)+$") is False
    assert apply("regexp_extract", text, "((a+)+)$") is None
    assert apply("like", text, "%a" * 50 + "_b") is False
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("(a", "parentheses come in pairs"),
        ("a)", "parentheses come in pairs"),
        (r"(a)\\1", "no back references"),
        ("a(?=b)", "no look-ahead"),
        ("a(?!b)", "no look-ahead"),
        ("(?<=a)b", "no look-behind"),
        ("[a", "a bracket itself"),
        ("*a", "repeat what stands before"),
        ("a{1,2000}", "RE2"),
    ],
)
def test_a_bad_regex_is_found_when_compiled(pattern: str, hint: str) -> None:
    for name in ("regexp_like", "regexp_extract"):
        call = parse_expression(f"{name}(user, '{pattern}')")
        assert isinstance(call, Call)
        with pytest.raises(PatternMistake) as caught:
            check_literals(call)
        assert caught.value.code == "bad_regex"
        assert hint in (caught.value.hint or "")
        assert caught.value.place is not None
        assert caught.value.place.column == len(name) + 8


def test_other_literals_are_checked_too() -> None:
    for text, code in (
        ("regexp_extract(s, '(a)', 2)", "wrong_arguments"),
        ("regexp_extract(s, '(a)', -1)", "wrong_arguments"),
        ("date_trunc('days', t)", "wrong_arguments"),
    ):
        call = parse_expression(text)
        assert isinstance(call, Call)
        with pytest.raises(PatternMistake) as caught:
            check_literals(call)
        assert caught.value.code == code
    assert "`day`" in (caught.value.hint or "")
    check_literals(Call("regexp_like", (Literal("a"), Literal(None))))
    check_literals(Call("upper", (Literal("a"),)))


MOMENT = datetime(2024, 5, 4, 13, 45, 56, 123456, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("year", 2024),
        ("month", 5),
        ("day", 4),
        ("hour", 13),
        ("minute", 45),
        ("second", 56),
        ("dayofweek", 7),
        ("epoch", 1714830356.123456),
    ],
)
def test_parts_of_a_time(name: str, result: Any) -> None:
    assert apply(name, MOMENT) == result
    assert apply(name, MOMENT.replace(tzinfo=None)) == result
    assert apply(name, MOMENT.astimezone(timezone(timedelta(hours=14)))) == result


def test_parts_of_a_date() -> None:
    assert apply("dayofweek", date(2024, 5, 5)) == 1  # Sunday
    assert apply("hour", date(2024, 5, 5)) == 0
    assert apply("epoch", date(1970, 1, 2)) == 86400.0


@pytest.mark.parametrize(
    ("unit", "result"),
    [
        ("year", datetime(2024, 1, 1)),
        ("quarter", datetime(2024, 4, 1)),
        ("month", datetime(2024, 5, 1)),
        ("week", datetime(2024, 4, 29)),
        ("day", datetime(2024, 5, 4)),
        ("HOUR", datetime(2024, 5, 4, 13)),
        ("minute", datetime(2024, 5, 4, 13, 45)),
        ("second", datetime(2024, 5, 4, 13, 45, 56)),
        ("millisecond", datetime(2024, 5, 4, 13, 45, 56, 123000)),
        ("microsecond", datetime(2024, 5, 4, 13, 45, 56, 123456)),
    ],
)
def test_date_trunc(unit: str, result: datetime) -> None:
    assert apply("date_trunc", unit, MOMENT) == result.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("int", 2.9, 2),
        ("int", -2.9, -2),
        ("int", Decimal("3.5"), 3),
        ("int", True, 1),
        ("int", " 42 ", 42),
        ("int", "-7.9", -7),
        ("int", "1_000", None),
        ("int", "1e3", None),
        ("int", "x", None),
        ("int", "", None),
        ("int", "9" * 5000, None),
        ("int", math.inf, None),
        ("float", 2, 2.0),
        ("float", "2.5e3", 2500.0),
        ("float", ".5", 0.5),
        ("float", "1_0", None),
        ("float", "x", None),
        ("float", "nan", None),
        ("float", "-inf", -math.inf),
        ("float", False, 0.0),
        ("float", Decimal("0.5"), 0.5),
        ("string", 5, "5"),
        ("string", 2.5, "2.5"),
        ("string", True, "true"),
        ("string", Decimal("1E+3"), "1000"),
        ("string", "a", "a"),
        ("string", b"\xc3\xa9", "é"),
        ("string", b"\xff", None),
        ("string", MOMENT, "2024-05-04T13:45:56.123456Z"),
        ("string", date(2024, 5, 4), "2024-05-04"),
        ("string", timedelta(minutes=90), "90m"),
        ("bool", 1, True),
        ("bool", 0.0, False),
        ("bool", "TRUE", True),
        ("bool", "no", False),
        ("bool", "maybe", None),
        ("timestamp", "2024-05-04T13:45:56.123456Z", MOMENT),
        ("timestamp", "2024-05-04 15:45:56.123456+02:00", MOMENT),
        ("timestamp", "2024-05-04", datetime(2024, 5, 4, tzinfo=UTC)),
        ("timestamp", date(2024, 5, 4), datetime(2024, 5, 4, tzinfo=UTC)),
        ("timestamp", 86400, datetime(1970, 1, 2, tzinfo=UTC)),
        ("timestamp", 0.5, datetime(1970, 1, 1, 0, 0, 0, 500000, tzinfo=UTC)),
        ("timestamp", Decimal("0.5"), datetime(1970, 1, 1, 0, 0, 0, 500000, tzinfo=UTC)),
        ("timestamp", "yesterday", None),
        ("timestamp", 1e300, None),
        ("timestamp", math.inf, None),
    ],
)
def test_conversions(name: str, value: Any, result: Any) -> None:
    found = apply(name, value)
    assert found == result
    assert type(found) is type(result)


def test_an_immense_decimal_is_not_written_out() -> None:
    for name in ("int", "floor"):
        with pytest.raises(OverflowError):
            apply(name, Decimal("1E+1000000"))
    assert apply("string", Decimal("1E+1000000")) == "1E+1000000"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("upper", (5,)),
        ("abs", ("a",)),
        ("abs", (True,)),
        ("sqrt", (True,)),
        ("round", (1.5, 1.0)),
        ("length", (5,)),
        ("concat", ("a", 5)),
        ("contains", ("a", 5)),
        ("year", ("2024-01-01",)),
        ("least", (1, "a")),
        ("greatest", ([1], [2])),
        ("nullif", (1, "a")),
        ("int", (MOMENT,)),
        ("string", ([1],)),
        ("timestamp", (True,)),
    ],
)
def test_values_and_types_clash_alike(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(Clash):
        apply(name, *args)
    assert FUNCTIONS[name].result_type([type_of(a) for a in args]) is None


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("abs", (INT,), INT),
        ("abs", (DECIMAL,), DECIMAL),
        ("round", (FLOAT, INT), FLOAT),
        ("floor", (FLOAT,), INT),
        ("sqrt", (INT,), FLOAT),
        ("pow", (INT, INT), FLOAT),
        ("least", (INT, FLOAT), FLOAT),
        ("coalesce", (NULL, STRING), STRING),
        ("coalesce", (INT, STRING), None),
        ("coalesce", (DATE, TIMESTAMP), TIMESTAMP),
        ("coalesce", (list_of(INT), list_of(FLOAT)), list_of(FLOAT)),
        ("nullif", (INT, FLOAT), INT),
        ("length", (list_of(INT),), INT),
        ("like", (STRING, STRING), BOOL),
        ("upper", (UNKNOWN,), STRING),
        ("upper", (NULL,), STRING),
        ("upper", (INT,), None),
        ("epoch", (DATE,), FLOAT),
        ("timestamp", (STRING,), TIMESTAMP),
        ("abs", (UNKNOWN,), UNKNOWN),
    ],
)
def test_result_types(name: str, types: tuple[Any, ...], result: Any) -> None:
    assert FUNCTIONS[name].result_type(types) == result


def test_bad_arguments_from_data() -> None:
    with pytest.raises(BadArgument) as caught:
        apply("regexp_like", "a", "(")
    assert caught.value.code == "bad_regex"
    with pytest.raises(BadArgument):
        apply("regexp_extract", "a", "a", 1)
    with pytest.raises(BadArgument):
        apply("regexp_like", "\ud800", "a")


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("uper(x)", "unknown_function", "there is no function `uper`", "did you mean `upper`?"),
        ("frobnicate(x)", "unknown_function", "there is no function `frobnicate`", None),
        ("upper()", "wrong_arguments", "`upper` takes 1 argument, not 0", "upper(string)"),
        ("upper(x, y)", "wrong_arguments", "`upper` takes 1 argument, not 2", "upper(string)"),
        (
            "substr(x)",
            "wrong_arguments",
            "`substr` takes 2 or 3 arguments, not 1",
            "substr(string, int[, int])",
        ),
        ("concat()", "wrong_arguments", "`concat` takes 1 argument or more, not 0", "concat(string, ...)"),
        ("if(x, 1)", "wrong_arguments", "`if` takes 3 arguments, not 2", "if(condition, value, otherwise)"),
    ],
)
def test_mistakes_in_calls(text: str, code: str, message: str, hint: str | None) -> None:
    call = parse_expression(text)
    assert isinstance(call, Call)
    with pytest.raises(PatternMistake) as caught:
        find_function(call)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert caught.value.place is not None
    if hint is not None:
        assert caught.value.hint == hint
