"""Clauses: `.label = value`, `.label -> ?x`, `?x.label > 5`, `not .label`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.lang.expressions import read_expression, read_name
from cepheid.lang.source import Source
from cepheid.pattern.expr import Binary, Call, Expr, In, Unary
from cepheid.pattern.graph_pattern import VALUE, Clause


def read_variable(token: Any) -> str:
    return str(token)[1:].strip("`")


def read_clauses(tree: Any, anchor: str, source: Source) -> tuple[Clause, ...]:
    return tuple(_clause(t, anchor, source) for t in tree.children if t is not None)


def _clause(tree: Any, anchor: str, source: Source) -> Clause:
    negated, of, label, test, target = tree.children
    return Clause(
        anchor if of is None else read_variable(of),
        read_name(label),
        None if target is None else read_variable(target.children[1]),
        None if test is None else _TESTS[test.data](test, source),
        negated is not None,
        place=source.place(tree),
    )


# Tests of the target, which is `value` in the expression that each is read as.

_Test = Callable[[Any, Source], Expr]


def _compared(tree: Any, source: Source) -> Expr:
    sign = {"=": "==", "<>": "!="}.get(str(tree.children[0]), str(tree.children[0]))
    return Binary(sign, VALUE, read_expression(tree.children[1], source), place=source.place(tree))


def _in(negated: bool) -> _Test:
    def read(tree: Any, source: Source) -> Expr:
        items = tuple(read_expression(t, source) for t in tree.children[-1].children if t is not None)
        return In(VALUE, items, negated, place=source.place(tree))

    return read


def _like(negated: bool) -> _Test:
    def read(tree: Any, source: Source) -> Expr:
        place = source.place(tree)
        test = Call("like", (VALUE, read_expression(tree.children[-1], source)), place=place)
        return Unary("not", test, place=place) if negated else test

    return read


def _ranged(tree: Any, source: Source) -> Expr:
    place = source.place(tree)
    low, high = (read_expression(tree.children[at], source) for at in (1, 3))
    return Binary(
        "and", Binary(">=", VALUE, low, place=place), Binary("<=", VALUE, high, place=place), place=place
    )


_TESTS: dict[str, _Test] = {
    "compared": _compared,
    "one_of": _in(False),
    "none_of": _in(True),
    "alike": _like(False),
    "unlike": _like(True),
    "ranged": _ranged,
    "filter": lambda tree, source: read_expression(tree.children[0], source),
}
