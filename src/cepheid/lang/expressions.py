"""Expression trees to expressions. Bare paths stay unresolved here; `resolve.py` decides what they name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lark import Token, Tree

from cepheid.errors import PatternMistake, SyntaxMistake
from cepheid.lang.source import Source
from cepheid.lang.time_tests import read_time_test
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import (
    AGGREGATES,
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Length,
    Literal,
    Unary,
)


def read_name(tree: Any) -> str:
    """A plain or a back-quoted name."""
    token = tree.children[0] if isinstance(tree, Tree) else tree
    return str(token).strip("`")


def read_string(token: Token, source: Source) -> str:
    try:
        value = ast.literal_eval(str(token).replace("\n", "\\n"))
    except (SyntaxError, ValueError):
        raise SyntaxMistake(
            "a broken escape in this string",
            code="bad_string",
            place=source.place(token),
            hint="a backslash itself is written \\\\",
        ) from None
    assert isinstance(value, str)
    return value


def read_expression(tree: Any, source: Source) -> Expr:
    """One tree, one expression."""
    return _READERS[tree.data](tree.children, source, tree)


_Children = list[Any]


def _literal(value: Any, source: Source, tree: Any) -> Expr:
    return Literal(value, place=source.place(tree))


def _number(c: _Children, s: Source, t: Any) -> Expr:
    return _literal(float(c[0]), s, t)


def _binary(c: _Children, s: Source, t: Any) -> Expr:
    return Binary(str(c[1]), read_expression(c[0], s), read_expression(c[2], s), place=s.place(t))


def _compare(c: _Children, s: Source, t: Any) -> Expr:
    op = {"=": "==", "<>": "!="}.get(str(c[1]), str(c[1]))
    return Binary(op, read_expression(c[0], s), read_expression(c[2], s), place=s.place(t))


def _logical(op: str) -> Callable[[_Children, Source, Any], Expr]:
    def read(c: _Children, s: Source, t: Any) -> Expr:
        return Binary(op, read_expression(c[0], s), read_expression(c[-1], s), place=s.place(t))

    return read


def _not(c: _Children, s: Source, t: Any) -> Expr:
    return Unary("not", read_expression(c[-1], s), place=s.place(t))


def _negative(c: _Children, s: Source, t: Any) -> Expr:
    operand = read_expression(c[-1], s)
    if isinstance(operand, Literal) and isinstance(operand.value, (int, float)):
        return _literal(-operand.value, s, t)
    return Unary("-", operand, place=s.place(t))


def _in(negated: bool) -> Callable[[_Children, Source, Any], Expr]:
    def read(c: _Children, s: Source, t: Any) -> Expr:
        items = tuple(read_expression(item, s) for item in c[-1].children if item is not None)
        return In(read_expression(c[0], s), items, negated, place=s.place(t))

    return read


def _is_null(negated: bool) -> Callable[[_Children, Source, Any], Expr]:
    def read(c: _Children, s: Source, t: Any) -> Expr:
        return IsNull(read_expression(c[0], s), negated, place=s.place(t))

    return read


def _like(negated: bool) -> Callable[[_Children, Source, Any], Expr]:
    def read(c: _Children, s: Source, t: Any) -> Expr:
        test = Call("like", (read_expression(c[0], s), read_expression(c[-1], s)), place=s.place(t))
        return Unary("not", test, place=s.place(t)) if negated else test

    return read


def _path(c: _Children, s: Source, t: Any) -> Expr:
    names = tuple(read_name(n) for n in c)
    if len(c) == 1 and str(c[0].children[0]) == "None":
        raise SyntaxMistake(
            "there is no `None`",
            code="python_word",
            place=s.place(t),
            hint="write `x is null` or `x is not null`; a field of that name stands in back quotes: `None`",
        )
    if len(names) == 2 and names[1] == "LEN":
        return Length(names[0], place=s.place(t))
    return Field(None, names, place=s.place(t))


def _element(c: _Children, s: Source, t: Any) -> Expr:
    path = tuple(read_name(n) for n in c[2:])
    return Element(read_name(c[0]), read_expression(c[1], s), path, place=s.place(t))


def _call(c: _Children, s: Source, t: Any) -> Expr:
    """A call; over an alias (`count(b)`, `first(b).f`, `sum(b.f)`) it is one of the closure's values."""
    name = read_name(c[0]).lower()
    args = tuple(read_expression(a, s) for a in c[1:] if isinstance(a, Tree) and a.data != "name")
    path = tuple(read_name(n) for n in c[1:] if isinstance(n, Tree) and n.data == "name")
    place = s.place(t)
    only = args[0] if len(args) == 1 else None
    if name in ("first", "last") and isinstance(only, Field) and len(only.path) == 1:
        return Element(only.path[0], Literal(0), path, from_end=name == "last", place=place)
    if path:
        raise PatternMistake(
            f"`{name}(...)` has no fields",
            code="no_fields",
            place=place,
            hint="only first(b).f and last(b).f",
        )
    if name == "count" and isinstance(only, Field) and len(only.path) == 1:
        return Length(only.path[0], place=place)
    if name in AGGREGATES:
        return _aggregate(name, args, place)
    if name == "if" and len(args) == 3:
        return Case(((args[0], args[1]),), args[2], place=place)
    return Call(name, args, place=place)


def _aggregate(name: str, args: tuple[Expr, ...], place: Any) -> Expr:
    if len(args) == 1 and isinstance(args[0], Field) and len(args[0].path) > 1:
        return Aggregate(name, args[0].path[0], args[0].path[1:], place=place)
    hint = f"write {name}(b.price), where b is the name of a step"
    if name in ("min", "max") and len(args) > 1:
        hint = f"for several values use {'least' if name == 'min' else 'greatest'}(...)"
    raise PatternMistake(
        f"`{name}` takes one field of a named step", code="bad_aggregate", place=place, hint=hint
    )


def _case(c: _Children, s: Source, t: Any) -> Expr:
    parts = [read_expression(p, s) for p in c if isinstance(p, Tree)]
    default = parts.pop() if len(parts) % 2 else Literal(None)
    branches = tuple((parts[i], parts[i + 1]) for i in range(0, len(parts), 2))
    return Case(branches, default, place=s.place(t))


def _duration_literal(c: _Children, s: Source, t: Any) -> Expr:
    return _literal(timedelta(microseconds=duration(str(c[0]), s.place(t))), s, t)


def _variable(c: _Children, s: Source, t: Any) -> Expr:
    """`?x`, and in rules `?x.f`."""
    return Field(None, (str(c[0]).replace("`", ""), *map(read_name, c[1:])), place=s.place(t))


_READERS: dict[str, Callable[[_Children, Source, Any], Expr]] = {
    "or_": _logical("or"),
    "and_": _logical("and"),
    "not_": _not,
    "compare": _compare,
    "binary": _binary,
    "negative": _negative,
    "in_": _in(False),
    "not_in": _in(True),
    "is_null": _is_null(False),
    "is_not_null": _is_null(True),
    "like": _like(False),
    "not_like": _like(True),
    "number": _number,
    "integer": lambda c, s, t: _literal(int(c[0]), s, t),
    "string": lambda c, s, t: _literal(read_string(c[0], s), s, t),
    "duration_literal": _duration_literal,
    "true": lambda c, s, t: _literal(True, s, t),
    "false": lambda c, s, t: _literal(False, s, t),
    "null": lambda c, s, t: _literal(None, s, t),
    "path": _path,
    "variable": _variable,
    "time_test": lambda c, s, t: read_time_test(t, s),
    "element": _element,
    "call": _call,
    "case": _case,
}

__all__ = ["read_expression", "read_name", "read_string"]
