"""Types of expressions, the mistakes they show, and that they agree with what evaluation does."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from cepheid.errors import EvaluationError, PatternMistake
from cepheid.lang.parser import parse_expression
from cepheid.matching.evaluate import compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Aggregate, Binary, Element, Expr, Field, Key, Length, Literal, Opaque
from cepheid.pattern.types import (
    BOOL,
    BYTES,
    DATE,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Type,
    list_of,
    struct_of,
    type_of,
)
from cepheid.plan.check_types import AliasType, Scope, check_condition, infer

LOGIN = struct_of(
    {
        "user": STRING,
        "amount": FLOAT,
        "count_of": INT,
        "status": STRING,
        "ok": BOOL,
        "at": TIMESTAMP,
        "day": DATE,
        "took": DURATION,
        "price": DECIMAL,
        "raw": BYTES,
        "anything": UNKNOWN,
        "tags": list_of(STRING),
        "payload": struct_of({"ip": STRING, "port": INT}),
    }
)
SCOPE = Scope(
    event=LOGIN,
    event_name="Login",
    aliases={
        "login": AliasType(LOGIN, False, "Login"),
        "fails": AliasType(LOGIN, True, "Login"),
        "loose": AliasType(UNKNOWN, True, "Whatever"),
    },
    keys={"user": STRING},
)
LOOSE = Scope(event=UNKNOWN, event_name="Login", aliases=SCOPE.aliases, keys={})
AT_MATCH = Scope(event=None, event_name=None, aliases=SCOPE.aliases, keys=SCOPE.keys)


def typed(text: str | Expr, scope: Scope = SCOPE) -> Type:
    return infer(parse_expression(text) if isinstance(text, str) else text, scope)


def mistake(text: str | Expr, scope: Scope = SCOPE) -> PatternMistake:
    with pytest.raises(PatternMistake) as caught:
        typed(text, scope)
    return caught.value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", INT),
        ("1.5", FLOAT),
        ("'a'", STRING),
        ("true", BOOL),
        ("null", NULL),
        ("5s", DURATION),
        ("user", STRING),
        ("payload.port", INT),
        ("payload", struct_of({"ip": STRING, "port": INT})),
        ("anything", UNKNOWN),
        ("anything.deep.down", UNKNOWN),
        ("count_of + 1", INT),
        ("count_of + 1.5", FLOAT),
        ("count_of / 2", FLOAT),
        ("count_of % 2", INT),
        ("count_of ** 2", INT),
        ("count_of ** count_of", FLOAT),
        ("count_of ** -1", FLOAT),
        ("price + 1", DECIMAL),
        ("price / 2", DECIMAL),
        ("price * amount", FLOAT),
        ("price ** 2", DECIMAL),
        ("-count_of", INT),
        ("-took", DURATION),
        ("at - at", DURATION),
        ("at - day", DURATION),
        ("at + 5s", TIMESTAMP),
        ("5s + at", TIMESTAMP),
        ("day + 5s", TIMESTAMP),
        ("took + 5s", DURATION),
        ("took * 2", DURATION),
        ("2 * took", DURATION),
        ("took / 2", DURATION),
        ("took / 1s", FLOAT),
        ("null + 1", NULL),
        ("anything + 1", UNKNOWN),
        ("anything ** amount", FLOAT),
        ("anything + at", TIMESTAMP),
        ("amount > 5", BOOL),
        ("amount > null", BOOL),
        ("anything > 5", BOOL),
        ("at > day", BOOL),
        ("tags == tags", BOOL),
        ("ok and not ok or anything", BOOL),
        ("user in ('a', null)", BOOL),
        ("count_of in (1, 2.5)", BOOL),
        ("user is null", BOOL),
        ("if(ok, 1, 2.5)", FLOAT),
        ("case when ok then user end", STRING),
        ("case when ok then null else 5 end", INT),
        ("upper(user)", STRING),
        ("length(tags)", INT),
        ("coalesce(amount, 0)", FLOAT),
        ("user like 'a%'", BOOL),
        ("regexp_extract(user, '(a)', 1)", STRING),
        ("match_id()", STRING),
        ("match_end() - match_start()", DURATION),
        ("count_matches()", INT),
    ],
)
def test_types(text: str, kind: Type) -> None:
    assert typed(text) == kind


@pytest.mark.parametrize(
    ("expr", "kind"),
    [
        (Field("login", ("user",)), STRING),
        (Field("fails", ("payload", "ip")), STRING),
        (Field("login", ()), LOGIN),
        (Field("loose", ("a", "b")), UNKNOWN),
        (Element("fails", Literal(0), ("amount",)), FLOAT),
        (Element("fails", Literal(0)), LOGIN),
        (Length("fails"), INT),
        (Key("user"), STRING),
        (Aggregate("sum", "fails", ("count_of",)), INT),
        (Aggregate("sum", "fails", ("price",)), DECIMAL),
        (Aggregate("sum", "fails", ("took",)), DURATION),
        (Aggregate("sum", "loose", ("x",)), UNKNOWN),
        (Aggregate("avg", "fails", ("count_of",)), FLOAT),
        (Aggregate("avg", "fails", ("price",)), DECIMAL),
        (Aggregate("min", "fails", ("user",)), STRING),
        (Aggregate("max", "fails", ("at",)), TIMESTAMP),
        (Aggregate("stddev", "fails", ("count_of",)), FLOAT),
        (Aggregate("distinct_count", "fails", ("user",)), INT),
        (Aggregate("collect", "fails", ("user",)), list_of(STRING)),
        (Opaque(lambda login: True, ("login",)), UNKNOWN),
    ],
)
def test_types_of_steps(expr: Expr, kind: Type) -> None:
    assert typed(expr, AT_MATCH) == kind


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("amout > 5", "unknown_field", "`Login` has no field `amout`", "did you mean `amount`?"),
        ("payload.prt", "unknown_field", "`payload` has no field `prt`", "did you mean `port`?"),
        ("payload.zzz", "unknown_field", "`payload` has no field `zzz`", "its fields are ip, port"),
        ("user.name", "unknown_field", "`user` is a string, it has no field `name`", None),
        ("lgin.user == 'a'", "unknown_alias", "no step is called `lgin`", "did you mean `login`?"),
        ("paylod.ip", "unknown_field", "`Login` has no field `paylod`", "did you mean `payload`?"),
        (
            "status == 5",
            "type_clash",
            "`status` is a string, `5` an int: they cannot be compared",
            "convert one of them: float(x), int(x) or string(x)",
        ),
        ("ok == 1", "type_clash", "`ok` is a bool, `1` an int: they cannot be compared", None),
        ("tags < tags", "type_clash", "`tags` is a list, `tags` a list: they cannot be compared", None),
        (
            "user + 'x'",
            "type_clash",
            '`user` is a string, `"x"` a string: they cannot be added',
            "strings are joined by concat(a, b)",
        ),
        ("anything + user", "type_clash", "`user` is a string: `+` has no meaning for it", None),
        (
            "took * took",
            "type_clash",
            "`took` is a duration, `took` a duration: they cannot be multiplied",
            None,
        ),
        ("-user", "type_clash", "`user` is a string, it has no negative", None),
        ("user in ('a', 5)", "type_clash", "`user` is a string, `5` an int: they cannot be compared", None),
        (
            "if(ok, 1, 'a')",
            "type_clash",
            '`1` is an int, `"a"` a string: one expression cannot be both',
            None,
        ),
        (
            "upper(amount)",
            "type_clash",
            "`upper` does not take these: `amount` is a float",
            "it is upper(string)",
        ),
        ("amount and ok", "not_a_condition", "`amount` is a float, not a condition", None),
        ("not user", "not_a_condition", "`user` is a string, not a condition", None),
        ("if(amount, 1, 2)", "not_a_condition", "`amount` is a float, not a condition", None),
        ("uper(user)", "unknown_function", "there is no function `uper`", "did you mean `upper`?"),
        ("upper(user, user)", "wrong_arguments", "`upper` takes 1 argument, not 2", "upper(string)"),
        ("match_id(5)", "wrong_arguments", "`match_id` takes no arguments", "match_id()"),
        ("regexp_like(user, '(a')", "bad_regex", "`(a` is not a regular expression: missing ): (a", None),
        ("fails[user].amount", "type_clash", "`user` is a string, not a position", None),
        ("fails[0].amout", "unknown_field", "`Login` has no field `amout`", "did you mean `amount`?"),
        ("sum(fails.user)", "type_clash", "`fails.user` is a string: `sum` cannot be taken of it", None),
        ("avg(fails.took)", "type_clash", "`fails.took` is a duration: `avg` cannot be taken of it", None),
        ("max(fails.tags)", "type_clash", "`fails.tags` is a list: `max` cannot be taken of it", None),
        ("stddev(fails.ok)", "type_clash", "`fails.ok` is a bool: `stddev` cannot be taken of it", None),
        ("count(fail)", "unknown_alias", "no step is called `fail`", "did you mean `fails`?"),
    ],
)
def test_mistakes(text: str, code: str, message: str, hint: str | None) -> None:
    found = mistake(text)
    assert (found.code, found.message) == (code, message)
    assert found.place is not None
    if hint is not None:
        assert found.hint == hint


def test_mistakes_inside_are_marked_where_they_are() -> None:
    place = mistake("ok and status == 5 and ok").place
    assert place is not None
    assert (place.column, place.end_column) == (8, 19)


def test_nothing_known_of_the_event() -> None:
    assert typed("amout", LOOSE) == UNKNOWN
    assert typed("amout + 1 > other", LOOSE) == BOOL
    found = mistake("lgin.user", LOOSE)
    assert (found.code, found.message) == ("unknown_alias", "no step is called `lgin`")
    assert found.hint == "did you mean `login`?"
    nested = mistake("payload.user", LOOSE)
    assert nested.code == "unknown_alias"
    assert nested.hint == (
        "the names here are fails, login, loose; "
        "for a field inside a field name the step and write a.payload.user"
    )
    assert mistake("user + 'a'", LOOSE).code == "type_clash"


def test_no_event_at_hand() -> None:
    found = mistake("amount", AT_MATCH)
    assert (found.code, found.hint) == ("which_event", "write fails.amount")
    assert mistake(Field("lgin", ("user",)), AT_MATCH).code == "unknown_alias"
    assert mistake(Key("usr"), AT_MATCH).hint == "did you mean `user`?"
    assert mistake(Opaque(lambda x: True, ("x",)), AT_MATCH).code == "unknown_alias"


@pytest.mark.parametrize("text", ["ok", "amount > 5", "null", "anything", "true", "bool(user)"])
def test_conditions(text: str) -> None:
    check_condition(parse_expression(text), SCOPE)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("amount", "write for example `amount != 0`"),
        ("user", 'write for example `user != ""`'),
        ("at", "write for example `at is not null`"),
        ("amount + 1", "write for example `amount + 1 != 0`"),
    ],
)
def test_not_a_condition(text: str, hint: str) -> None:
    with pytest.raises(PatternMistake) as caught:
        check_condition(parse_expression(text), SCOPE)
    assert (caught.value.code, caught.value.hint) == ("not_a_condition", hint)


# The rules agree with evaluation: the same pairs clash, and the results have the promised type.

VALUES: list[Any] = [
    True,
    7,
    2.5,
    Decimal("1.5"),
    "a",
    b"a",
    datetime(2024, 5, 1, tzinfo=UTC),
    date(2024, 5, 1),
    timedelta(seconds=5),
    [1],
    {"a": 1},
]
OPERATORS = ("+", "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or")


def _promised(expr: Expr, scope: Scope) -> Type | str:
    try:
        return infer(expr, scope)
    except PatternMistake as problem:
        return problem.code


def _found(expr: Expr, event: Event) -> Type | str:
    try:
        return type_of(compile_value(expr)(Moment(event, {})))
    except EvaluationError as problem:
        return problem.code


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("left", VALUES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("right", VALUES, ids=lambda v: type(v).__name__)
def test_types_agree_with_values(op: str, left: Any, right: Any) -> None:
    if op in ("and", "or"):
        left = left if left is not True else op == "and"  # so that the right side is evaluated too
    event = Event("E", 0, {"x": left, "y": right})
    known = Scope(struct_of({"x": type_of(left), "y": type_of(right)}), "E", {}, {})
    for right_side in (Field(None, ("y",)), Literal(right)):
        expr = Binary(op, Field(None, ("x",)), right_side)
        if right_side == Literal(right) and type(right) in (bytes, datetime, date, list, dict):
            continue  # not a literal of the language
        assert _found(expr, event) == _promised(expr, known)
        _not_refused_too_early(expr, _promised(expr, known))


def _not_refused_too_early(expr: Expr, promised: Type | str) -> None:
    """With nothing known of the events, only what must clash is refused, and no wrong type is promised."""
    loose = _promised(expr, Scope(UNKNOWN, "E", {}, {}))
    if isinstance(loose, str):
        assert promised == loose
    elif loose != UNKNOWN:
        assert isinstance(promised, str) or promised == loose


@pytest.mark.parametrize("name", ["sum", "avg", "min", "max", "stddev", "distinct_count", "collect"])
@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_aggregates_agree_with_values(name: str, value: Any) -> None:
    expr = Aggregate(name, "b", ("x",))
    kind = struct_of({"x": type_of(value)})
    event = Event("E", 0, {"x": value})
    scope = Scope(None, None, {"b": AliasType(kind, True, "E")}, {})
    try:
        found: Type | str = type_of(compile_value(expr)(Moment(None, {"b": (event, event)})))
    except EvaluationError as problem:
        found = problem.code
    assert found == _promised(expr, scope)
