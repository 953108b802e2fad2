"""Tests as Spark columns: on every row the answer of the local evaluator, or no column at all."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cepheid.engines.local.arrow_values import batch_rows, python_values
from cepheid.engines.local.events import plain
from cepheid.engines.spark.catalyst import to_test, to_value
from cepheid.engines.spark.catalyst_failures import may_fail
from cepheid.errors import CepheidError
from cepheid.lang.parser import parse_expression
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Binary, Call, Expr, Field, In, Literal, walk
from cepheid.pattern.functions import FUNCTIONS
from cepheid.pattern.text import expr_text
from cepheid.pattern.values import kind_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

ROWS, TESTS, VALUES = 70, 250, 150
SEED = int(os.environ.get("CEPHEID_SEED", "1"))

NAN, INF = math.nan, math.inf
LEAST, GREATEST = -(2**63), 2**63 - 1
TEXTS = [
    *(
        "",
        "ok",
        "OK",
        "Ok",
        "o\u212a",
        "\u00df",
        "stra\u00dfe",
        "STRASSE",
        "\u00e9",
        "e\u0301",
        "\ufb01t",
        "FIT",
    ),
    *("\U0001f600", "\uffff", "\U00010000", "a%b", "a_b", "a\\b", "\\", "  pad ", "\ttab\t", "line\nbreak"),
    *("\u0130", "\u0131", "\u017f", "S", "k", "abcabc", "cepheid", "\u03a3\u03a3", "\u00a0x"),
]
TIMES = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1582, 10, 10, 3, 4, 5, tzinfo=UTC),
    datetime(2024, 5, 3, 10, 20, 30, 500000, tzinfo=UTC),
    datetime(2024, 3, 10, 2, 30, tzinfo=UTC),
    datetime(2024, 2, 29, tzinfo=UTC),
    datetime(2500, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
]
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [0, 1, -1, 5, 100, 2**53, 2**53 + 1, -(2**53) - 1, GREATEST, LEAST]),
    "j": (pa.int64(), [0, 1, -7, 100, 2**53 + 1, GREATEST, GREATEST - 1, LEAST]),
    "i32": (pa.int32(), [0, 1, -1, 100, 2**31 - 1, -(2**31)]),
    "i16": (pa.int16(), [0, 3, -100, 2**15 - 1, -(2**15)]),
    "f": (pa.float64(), [NAN, INF, -INF, 0.0, -0.0, 1.5, -2.5, 100.0, 0.1, 1e308, 5e-324, 2.0**53, 2.0**63]),
    "g": (pa.float64(), [NAN, INF, -INF, 0.0, -0.0, 3.0, 1e-300, -1e308, 0.3, 2.0**53]),
    "f32": (pa.float32(), [NAN, INF, -0.0, 0.10000000149011612, 16777216.0, -1.5]),
    "d": (pa.decimal128(12, 2), [Decimal(x) for x in ("0.00", "-0.01", "100.00", "10.50", "9999999999.99")]),
    "e": (pa.decimal128(20, 5), [Decimal(x) for x in ("0.10000", "-2.50000", "100.00000", "0.00500")]),
    "huge": (pa.decimal128(38, 10), [Decimal("1e27"), Decimal("0.1"), Decimal("-" + "9" * 21)]),
    "s": (pa.string(), TEXTS),
    "u": (pa.string(), TEXTS),
    "b": (pa.bool_(), [True, False]),
    "c": (pa.bool_(), [True, False]),
    "t": (pa.timestamp("us", "UTC"), TIMES),
    "w": (pa.timestamp("us", "UTC"), TIMES),
    "day_": (pa.date32(), [t.date() for t in TIMES]),
    "x": (
        pa.duration("us"),
        [timedelta(0), timedelta(seconds=5), timedelta(microseconds=-1), timedelta(days=7), timedelta(90000)],
    ),
    "y": (pa.duration("us"), [timedelta(0), timedelta(seconds=5), timedelta(days=-400)]),
    "raw": (pa.binary(), [b"", b"\x00", b"\xff", b"abc", "é".encode()]),
    "naive": (pa.timestamp("us"), [datetime(2024, 1, 1), datetime(1970, 1, 1)]),
    "items": (pa.list_(pa.int64()), [[], [1, None], [2]]),
    "odd.name": (pa.int64(), [0, 1, 100]),
    "a b`c": (pa.int64(), [0, 1, 100]),
    "home": (
        pa.struct(
            [
                ("city", pa.string()),
                ("n", pa.int64()),
                ("f", pa.float64()),
                ("in.side", pa.struct([("z", pa.int64())])),
            ]
        ),
        [
            {"city": "ok", "n": 5, "f": NAN, "in.side": {"z": 1}},
            {"city": None, "n": LEAST, "f": -0.0, "in.side": None},
            {"city": "", "n": None, "f": None, "in.side": {"z": None}},
        ],
    ),
    "Twin": (pa.string(), ["a", "b"]),
    "twin": (pa.string(), ["c", "d"]),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in POOLS.items()])


def make_table() -> pa.Table:
    """Every awkward value at least once in each column, beside others by chance."""
    chance = random.Random(7)
    columns = {}
    for name, (kind, pool) in POOLS.items():
        values = [*pool, None, None] * (ROWS // (len(pool) + 2) + 1)
        values = values[:ROWS]
        chance.shuffle(values)
        columns[name] = pa.array(values, kind)
    return pa.table(columns, SCHEMA)


TABLE = make_table()


def local_events(table: pa.Table) -> list[Event]:
    (batch,) = table.combine_chunks().to_batches()
    rows = batch_rows(dict(zip(batch.schema.names, batch.columns, strict=True)))
    return [Event("E", 0, {name: plain(value) for name, value in row.items()}) for row in rows]


EVENTS = local_events(TABLE)


# Expressions by chance, as text, each of a type.


class Maker:
    """Writes expressions. Mostly well typed; what is not must stay in Python or be answered alike."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def condition(self, depth: int = 3) -> str:
        if depth <= 0 or self.chance.random() < 0.15:
            return self.pick("b", "c", "not b", "b is null", "true", "null", "false", "bool(f)", "bool(i)")
        shape = self.chance.random()
        if shape < 0.25:
            op = self.pick("and", "or")
            return f"({self.condition(depth - 1)} {op} {self.condition(depth - 1)})"
        if shape < 0.33:
            return f"not ({self.condition(depth - 1)})"
        if shape < 0.40:
            return f"({self.value(depth - 1)}) is {self.pick('', 'not ')}null"
        if shape < 0.52:
            return self.membership(depth)
        if shape < 0.62:
            return self.text_test(depth)
        return self.comparison(depth)

    def comparison(self, depth: int) -> str:
        op = self.pick("==", "!=", "<", "<=", ">", ">=")
        write = self.chance.choice([self.number, self.number, self.text, self.time, self.span, self.other])
        return f"{write(depth - 1)} {op} {write(depth - 1)}"

    def other(self, depth: int) -> str:
        return self.pick("b", "c", "raw", "true", "null", "home.city", "items", "naive", "huge")

    def membership(self, depth: int) -> str:
        write = self.chance.choice([self.number, self.number, self.text, self.time])
        items = ", ".join(write(0) for _ in range(self.chance.randint(1, 5)))
        many = "".join(f", {n}" for n in range(-3, 30)) if write == self.number and depth == 3 else ""
        return f"{write(depth - 1)} {self.pick('in', 'not in')} ({items}{many})"

    def text_test(self, depth: int) -> str:
        name = self.pick("contains", "starts_with", "ends_with", "like", "case", "case")
        if name == "like":
            return f"{self.text(depth - 1)} {self.pick('like', 'not like')} '{self.pick(*LIKES)}'"
        if name == "case":
            words = ("ok", "OK", "k", "S", "STRASSE", "FIT", "fit", "i", "strasse", "i\u0307")
            return f"{self.pick('lower', 'upper')}({self.pick('s', 'u')}) {self.pick('==', '!=')} '{self.pick(*words)}'"
        return f"{name}({self.text(depth - 1)}, {self.text(0)})"

    def value(self, depth: int) -> str:
        return self.chance.choice([self.number, self.text, self.time, self.span, self.other])(depth)

    def number(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.35:
            return self.pick(
                *("i", "j", "i32", "i16", "f", "g", "f32", "d", "e", "home.n", "home.f", "`odd.name`"),
                *(
                    "0",
                    "1",
                    "100",
                    "-7",
                    "2.5",
                    "0.0",
                    "0.1",
                    "1e400",
                    "9007199254740993",
                    "null",
                    "home.`in.side`.z",
                ),
                *("9223372036854775807", "9223372036854775808", "1e18"),
            )
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            *(f"({a} {op} {b})" for op in ("+", "-", "*", "/", "%") * 5),
            *(f"{name}({a})" for name in ("abs", "sign", "sqrt", "float", "int", "floor", "ceil", "round")),
            *(f"{name}({a}, {b})" for name in ("coalesce", "least", "greatest", "nullif", "ifnull")),
            f"-({a})",
            f"round({a}, {self.pick('1', '0', '3')})",
            f"length({self.text(depth - 1)})",
            f"if({self.condition(depth - 1)}, {a}, {b})",
            f"case when {self.condition(1)} then {a} when {self.condition(1)} then {b} end",
            *(
                f"{name}({self.time(depth - 1)})"
                for name in ("year", "month", "day", "hour", "minute", "second", "dayofweek", "epoch")
            ),
        )

    def text(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.4:
            return self.pick(
                "s", "u", "home.city", "'ok'", "'a'", "''", "'\u00e9'", "'\U0001f600'", "null", "'b'"
            )
        a, b = self.text(depth - 1), self.text(depth - 1)
        start = self.pick("1", "2", "0", "-1", "-3", "-10", "7")
        return self.pick(
            *(f"{name}({a})" for name in ("trim", "ltrim", "rtrim", "string", "lower", "upper")),
            f"concat({a}, {b})",
            f"replace({a}, {b}, {self.text(0)})",
            f"substr({a}, {start})",
            f"substr({a}, {start}, {self.pick('0', '1', '3', '-1', '12')})",
            f"string({self.pick('i', 'b', 'day_', 'i32', 't', 'f', 'd')})",
            *(f"{name}({a}, {b})" for name in ("coalesce", "least", "greatest", "nullif")),
            f"if({self.condition(1)}, {a}, {b})",
        )

    def time(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.5:
            return self.pick(
                *("t", "w", "day_", "t", "null", "timestamp('2024-05-03T10:20:30.5Z')"),
                *("timestamp('1500-01-01')", "timestamp(0)", "timestamp('9999-12-31T23:59:59.999999Z')"),
            )
        a, b = self.time(depth - 1), self.time(depth - 1)
        unit = self.pick("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
        return self.pick(
            f"date_trunc('{unit}', {a})",
            f"timestamp({a})",
            f"{self.pick('least', 'greatest', 'coalesce', 'nullif')}({a}, {b})",
            f"if({self.condition(1)}, {a}, {b})",
            f"({a} + 5m)",
        )

    def span(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.5:
            return self.pick("x", "y", "5s", "0s", "null", "400d")
        return f"({self.time(depth - 1)} - {self.time(depth - 1)})"


# Both answers.


class Raised:
    """What an error becomes in a list of answers."""


@dataclass(frozen=True)
class Wanted:
    """A column and the expression it must answer like."""

    expr: Expr
    column: Column
    test: bool


def local_answers(expr: Expr, test: bool) -> list[Any]:
    try:
        compiled: Any = compile_test([expr]) if test else compile_value(expr)
    except CepheidError:
        return [Raised] * len(EVENTS)
    return [_answer(compiled, Moment(event, {})) for event in EVENTS]


def _answer(compiled: Any, moment: Moment) -> Any:
    try:
        return compiled(moment)
    except CepheidError:
        return Raised


def spark_answers(frame: DataFrame, columns: list[Column]) -> Iterator[list[Any]]:
    """All of them in one job."""
    table = frame.select(*[column.alias(f"c{at}") for at, column in enumerate(columns)]).toArrow()
    for name in table.schema.names:
        yield [plain(value) for value in python_values(name, table.column(name).combine_chunks())]


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return a is not Raised and kind_of(a) == kind_of(b) and a == b


def check_all(frame: DataFrame, wanted: list[Wanted]) -> None:
    found = spark_answers(frame, [w.column for w in wanted])
    wrong = []
    for one, answers in zip(wanted, found, strict=True):
        expected = local_answers(one.expr, one.test)
        for event, a, b in zip(EVENTS, expected, answers, strict=True):
            if not same(a, b):
                seen = {n.path: event.fields.get(n.path[0]) for n in walk(one.expr) if isinstance(n, Field)}
                wrong.append((expr_text(one.expr), seen, "local", a, "spark", b))
                break
    assert not wrong, f"{len(wrong)} of {len(wanted)}: " + "\n".join(map(str, wrong[:10]))


def as_tests(exprs: list[Expr]) -> list[Wanted]:
    columns = [(expr, to_test([expr], SCHEMA).column) for expr in exprs]
    return [Wanted(expr, column, True) for expr, column in columns if column is not None]


def as_values(exprs: list[Expr]) -> list[Wanted]:
    columns = [(expr, to_value(expr, SCHEMA)) for expr in exprs]
    return [Wanted(expr, column, False) for expr, column in columns if column is not None]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(TABLE).coalesce(1)


@pytest.fixture(params=["ansi", "no_ansi"])
def mode(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """ANSI mode on and off; with it off also another time zone, another case rule, another plan for `in`."""
    ansi = request.param == "ansi"
    changed = {
        "spark.sql.ansi.enabled": str(ansi).lower(),
        "spark.sql.session.timeZone": "UTC" if ansi else "America/New_York",
        "spark.sql.decimalOperations.allowPrecisionLoss": str(ansi).lower(),
        "spark.sql.codegen.wholeStage": str(ansi).lower(),
        "spark.sql.codegen.factoryMode": "FALLBACK" if ansi else "NO_CODEGEN",
        "spark.sql.optimizer.inSetConversionThreshold": "10" if ansi else "0",
        "spark.sql.icu.caseMappings.enabled": str(ansi).lower(),
    }
    before = {name: spark.conf.get(name) for name in changed}
    for name, value in changed.items():
        spark.conf.set(name, value)
    yield request.param
    for name, value in before.items():
        spark.conf.set(name, value)


USUAL = [
    "i > 100",
    "s == 'ok' and f >= 10.5",
    "s is not null",
    "i in (1, 2, 100)",
    "s in ('ok', 'OK')",
    "f in (0.0, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
    "i not in (0.0, 1.5, 1, 3, 4, 5.5, 6, 7, 8, 9, 10, 9007199254740992.0)",
    "s not in ('ok', null)",
    "s != home.city",
    "f * 1.2 + g > 100",
    "f / g > 0.5",
    "f % 3 == 0",
    "i32 / i16 > 2",
    "i + 1 > j",
    "i * j >= 5",
    "-i < j",
    "d > 100",
    "d >= 10.5",
    "d * 2 + e < 100",
    "f > i",
    "i == 2.5",
    "i % 7 == 1",
    "`odd.name` == 1",
    "home.n > 3 or home.f is null",
    "home.`in.side`.z == 1",
    "lower(s) == 'ok'",
    "upper(u) in ('OK', 'FIT', 'S')",
    "starts_with(s, 'a') and not contains(u, 'b')",
    "s like 'a%' or s like '%b'",
    "s not like '_'",
    "s < u",
    "length(s) > 2",
    "trim(s) == 'pad'",
    "b",
    "not b or c == true",
    "t > timestamp('2024-01-01')",
    "t <= w",
    "w - t > 5m",
    "day_ == t",
    "x > 4s",
    "hour(t) >= 22 or dayofweek(t) in (1, 7)",
    "year(day_) == 2024",
    "date_trunc('day', t) == date_trunc('day', w)",
    "coalesce(f, 0.0) > 1",
    "if(b, i, 0) > 3",
    "abs(f - g) < 0.5",
    "case when f > 1 then 'high' else 'low' end == 'high'",
    "items is null",
    "naive is not null",
    "raw == raw",
]
STAYS = [
    "regexp_like(s, 'a+')",  # RE2, not Java's
    "i / j > 2",  # Python rounds the exact quotient of large integers
    "f > 's'",  # an error
    "f",  # not a condition
    "b > 1",
    "t + 5m > w",  # may leave the calendar: an error
    "i ** 2 > 5",
    "exp(f) > 1",
    "round(f, 2) > 1",
    "floor(f) > 1",
    "lower(s) == u",
    "lower(s) > 'a'",
    "lower(s) == '\u00e9'",
    "naive > t",  # Spark would use the session's zone
    "items == items",
    "twin == 'a'",  # which of both, if names have no case?
    "home.CITY == 'ok'",
    "nobody == 1",
    "i > 1e5 ** 100",
    "x * 2 > 5s",
    "string(f) == '1.5'",
    "int(s) == 1",
    "case when b then 1 else 2.5 end > 1",
    "huge * huge > 1",  # more than 38 digits
]


@pytest.mark.parametrize("text", USUAL)
def test_usual_tests_become_columns(spark: SparkSession, text: str) -> None:
    translated = to_test([parse_expression(text)], SCHEMA)
    assert translated.column is not None
    assert translated.left == ()


@pytest.mark.parametrize("text", STAYS)
def test_others_stay(spark: SparkSession, text: str) -> None:
    expr = parse_expression(text)
    translated = to_test([expr], SCHEMA)
    assert translated.column is None
    assert translated.left == (expr,)


def test_usual_tests_mean_the_same(frame: DataFrame, mode: str) -> None:
    check_all(frame, as_tests([parse_expression(text) for text in USUAL]))


NUMBERS = ("i", "i32", "f", "f32", "d", "e", "0", "2.5", "9223372036854775807")
SCALARS = (*NUMBERS[:6], "huge", "s", "b", "t", "day_", "x", "raw", "home.n", "home.f", "home.city", "null")
LIKES = (
    "%",
    "",
    "a%",
    "%b",
    "%a%b%",
    "a\\\\%b",
    "_",
    "o_",
    "%_%",
    "%\\\\",
    "\\\\o\\\\k",
    "a%c",
    "%\\n%",
    "__",
)


def test_every_operator_on_every_pair_of_numbers(frame: DataFrame, mode: str) -> None:
    pairs = [f"{a} {op} {b}" for op in "+-*/%" for a in NUMBERS for b in NUMBERS]
    wanted = as_values([parse_expression(text) for text in pairs])
    assert len(wanted) > 150
    check_all(frame, wanted)
    # Compared with something, those with more than 64 bits become columns too.
    wanted = as_tests([parse_expression(f"{text} > j") for text in pairs])
    assert len(wanted) > 300
    check_all(frame, wanted)


def test_every_comparison_of_every_pair(frame: DataFrame, mode: str) -> None:
    texts = [f"{a} {op} {b}" for op in ("==", "<", ">=") for a in SCALARS for b in SCALARS]
    texts += [f"{a} in ({b}, {a}, null)" for a in SCALARS for b in SCALARS]
    wanted = as_tests([parse_expression(text) for text in texts])
    assert len(wanted) > 400
    check_all(frame, wanted)


def test_every_function_of_every_column(frame: DataFrame, mode: str) -> None:
    texts = [f"{name}({a})" for name, f in FUNCTIONS.items() if f.least == 1 for a in SCALARS]
    texts += [f"date_trunc('{unit}', {a})" for unit in ("week", "quarter", "day") for a in ("t", "day_")]
    texts += [f"substr(s, {at}, {n})" for at in range(-4, 5) for n in range(-1, 4)]
    texts += [f"{name}(s, u)" for name in ("contains", "starts_with", "ends_with", "concat", "nullif")]
    texts += [f"replace(s, {a}, {b})" for a in ("'a'", "''", "u", "'\u00e9'") for b in ("''", "'xy'", "u")]
    texts += [f"s like '{pattern}'" for pattern in LIKES]
    wanted = as_values([parse_expression(text) for text in texts])
    assert len(wanted) > 150
    check_all(frame, wanted)


def test_tests_made_by_chance(frame: DataFrame, mode: str) -> None:
    maker = Maker(SEED)
    exprs = [parse_expression(maker.condition()) for _ in range(TESTS)]
    wanted = as_tests(exprs)
    assert len(wanted) > TESTS // 3, "too few became columns for the test to say much"
    check_all(frame, wanted)


def test_values_made_by_chance(frame: DataFrame, mode: str) -> None:
    maker = Maker(SEED + 1)
    exprs = [parse_expression(maker.value(2)) for _ in range(VALUES)]
    wanted = as_values(exprs)
    assert len(wanted) > VALUES // 3
    check_all(frame, wanted)


def test_values_python_alone_can_write(frame: DataFrame, mode: str) -> None:
    """Literals the language has no spelling for, and names with back quotes."""
    i, f, d, t, raw = (Field(None, (name,)) for name in ("i", "f", "d", "t", "raw"))
    huge = [Decimal(1).scaleb(n) for n in (-30, -2, 0, 3, 20, 37, 38, 60)]
    literals = [*huge, Decimal("100.00"), 10**20, 10**37, 10**60, -(10**38), date(1500, 1, 1), INF]
    exprs: list[Expr] = [
        Binary(op, left, Literal(v)) for op in ("<", "==") for left in (i, f, d) for v in literals
    ]
    exprs += [Binary("<", t, Literal(v)) for v in (date(1, 1, 1), TIMES[4], TIMES[4].replace(tzinfo=None))]
    exprs += [Binary(">", raw, Literal(v)) for v in (b"", b"\x80", b"abc")]
    exprs += [In(d, tuple(map(Literal, huge[1:5]))), In(f, (Literal(-0.0), Literal(NAN), Literal(INF)))]
    exprs += [Binary("==", Field(None, ("a b`c",)), Literal(1)), In(i, ()), In(i, (), negated=True)]
    exprs += [
        Call("like", (Field(None, ("s",)), Literal(p)))
        for p in ("\\", "a\\", "\\a%\\\\", "%\n%", "\\_", "a\\_b")
    ]
    exprs += [Binary("==", Field(None, ("s",)), Literal("\ud800")), Binary("==", i, Literal(None))]
    wanted = as_tests(exprs)
    assert len(wanted) > 30
    check_all(frame, wanted)


def test_every_character_without_case(spark: SparkSession, mode: str) -> None:
    """`lower(x) == "k"`: which characters these are is the same, whatever Unicode each side knows."""
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    schema = pa.schema([("s", pa.string())])
    words = [
        ("lower", ["k", "a", "s", "i", "ss"]),
        ("upper", ["K", "A", "S", "I", "SS", "FI", "FFL", "ST", "FF"]),
    ]
    tests = [In(Call(name, (Field(None, ("s",)),)), tuple(map(Literal, items))) for name, items in words]
    chars_frame = spark.createDataFrame(pa.table({"s": chars}))
    for test, (name, items) in zip(tests, words, strict=True):
        column = to_test([test], schema).column
        assert column is not None
        found = {row.s for row in chars_frame.where(column).collect()}
        assert found == {c for c in chars if getattr(c, name)() in items}


def test_collations_and_char_columns(spark: SparkSession, mode: str) -> None:
    from pyspark.sql import functions as F

    schema = pa.schema([("s", pa.string())])
    texts = spark.createDataFrame([("OK",), ("ok",)], "s string")
    collated = texts.select(F.collate("s", "UTF8_LCASE").alias("s"))
    test = to_test([parse_expression("s == 'ok' and s in ('ok', 'no') and s >= 'o' and s like 'o%'")], schema)
    assert [row.s for row in collated.where(test.column).collect()] == ["ok"]
    spark.sql("drop table if exists padded")
    spark.sql("create table padded(s char(5)) using parquet")
    spark.sql("insert into padded values ('ok')")
    try:
        column = to_test([parse_expression("s == 'ok' or s in ('ok', 'no')")], schema).column
        assert [row[0] for row in spark.table("padded").select(column).collect()] == [False]
    finally:
        spark.sql("drop table padded")


def test_a_table_named_like_a_struct(spark: SparkSession) -> None:
    rows = [(("inner",), "outer")]
    frame = spark.createDataFrame(rows, "home struct<city: string>, city string").alias("home")
    schema = pa.schema([("home", pa.struct([("city", pa.string())])), ("city", pa.string())])
    value = to_value(parse_expression("home.city"), schema)
    assert [row[0] for row in frame.select(value).collect()] == ["inner"]


def test_no_field_inside_a_variant(spark: SparkSession) -> None:
    inner = [pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})]
    schema = pa.schema([("v", pa.struct(inner))])
    assert to_test([parse_expression("v.value is null")], schema).column is None
    assert to_test([parse_expression("v is null")], schema).column is not None


# Which tests may be asked before which.


def left_of(*texts: str) -> list[str]:
    exprs = [parse_expression(text) for text in texts]
    left = to_test(exprs, SCHEMA).left
    return [text for text, expr in zip(texts, exprs, strict=True) if expr in left]


def test_tests_after_one_that_may_fail_stay(spark: SparkSession) -> None:
    assert left_of("t + 5m > w", "i > 1") == ["t + 5m > w", "i > 1"]
    assert left_of("i > 1", "t + 5m > w") == ["t + 5m > w"]
    assert left_of("f > 's'", "i > 1") == ["f > 's'", "i > 1"]
    assert left_of("exp(f) > 1", "i > 1") == ["exp(f) > 1", "i > 1"]
    assert left_of("regexp_like(s, u)", "i > 1") == ["regexp_like(s, u)", "i > 1"]


def test_tests_after_one_that_cannot_fail_become_columns(spark: SparkSession) -> None:
    assert left_of("regexp_like(s, 'a+')", "i > 1") == ["regexp_like(s, 'a+')"]
    assert left_of("round(f, 2) > 1", "i / j > 2", "i > 1") == ["round(f, 2) > 1", "i / j > 2"]


def test_nothing_to_test(spark: SparkSession) -> None:
    assert to_test([], SCHEMA).column is None
    assert to_test([], SCHEMA).left == ()


def test_what_is_said_not_to_fail_does_not(spark: SparkSession) -> None:
    maker = Maker(SEED + 2)
    safe = [e for e in (parse_expression(maker.condition()) for _ in range(2000)) if not may_fail(e, SCHEMA)]
    assert len(safe) > 500
    failed = [expr_text(e) for e in safe if Raised in local_answers(e, test=True)]
    assert not failed
