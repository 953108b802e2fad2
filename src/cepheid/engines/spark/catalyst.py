"""Tests of one event alone as Spark columns, where Spark means exactly what Cepheid means.

What could differ, or raise where one of them does not, stays in Python. Nothing here depends on ANSI mode, on the
session's time zone, on the collation or the CHAR type of a column, on how names are resolved.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.spark.catalyst_arithmetic import calculate, negative
from cepheid.engines.spark.catalyst_calls import call, without_case
from cepheid.engines.spark.catalyst_failures import may_fail
from cepheid.engines.spark.catalyst_terms import (
    LEAST_LONG,
    Stays,
    Term,
    comparable,
    decimal,
    null,
    number,
    of_value,
    one_type,
    whole,
)
from cepheid.errors import EvaluationError, PatternMistake
from cepheid.matching.comparison import TESTS
from cepheid.matching.constants import constant, is_constant
from cepheid.pattern.expr import (
    Binary,
    Call,
    Case,
    Expr,
    Field,
    In,
    IsNull,
    Unary,
)
from cepheid.pattern.functions import check_literals, find_function

if TYPE_CHECKING:
    from pyspark.sql import Column

_MOST_COMPARISONS = 200  # that `in` may become: beyond it Spark's planner is slower than Python


@dataclass(frozen=True)
class Translated:
    """A conjunction in two parts: it holds where the column is true and what is left holds.

    The column is never null and must be asked first: a test that is left may raise an error for an event that
    the column refuses, where the matcher would not have come so far.
    """

    column: Column | None  # None: nothing became one
    left: tuple[Expr, ...]


def to_test(tests: Sequence[Expr], fields: pa.Schema) -> Translated:
    """A conjunction of tests of one event.

    `fields` are the columns as the events have them. One whose values are changed on the way to the events (a time
    written as a number or a string) must not be among them: tests of a column that is not there stay in Python.
    """
    from pyspark.sql import functions as F

    columns: list[Column] = []
    left: list[Expr] = []
    fails = False
    for test in tests:
        # After a test that may raise an error all stay: for an event they refuse the error must come all the same.
        column = None if fails else _test(test, fields)
        if column is not None:
            columns.append(column)
        else:
            left.append(test)
            fails = fails or may_fail(test, fields)
    if not columns:
        return Translated(None, tuple(left))
    whole = columns[0]
    for column in columns[1:]:
        whole = whole & column
    return Translated(F.coalesce(whole, F.lit(False)), tuple(left))


def to_value(expr: Expr, fields: pa.Schema) -> Column | None:
    """A value of one event, such as a partition key; None if it stays in Python."""
    try:
        term = _term(expr, fields)
    except Stays:
        return None
    plain = term.kind not in ("null", "other") and not term.in_micros
    return term.column if plain and (term.kind != "int" or term.narrow) else None


def _test(expr: Expr, fields: pa.Schema) -> Column | None:
    try:
        return _condition(expr, fields)
    except Stays:
        return None


def _condition(expr: Expr, fields: pa.Schema) -> Column:
    """True, false or null; anything else is an error, which Python reports."""
    term = _term(expr, fields)
    if term.kind == "null":
        return _unknown().column
    if term.kind != "bool":
        raise Stays
    return term.column


def _unknown() -> Term:
    from pyspark.sql import functions as F

    return Term("bool", F.lit(None).cast("boolean"))


def _term(expr: Expr, fields: pa.Schema) -> Term:
    if is_constant(expr):
        return of_value(_constant(expr))
    translate = _TRANSLATORS.get(type(expr))
    if translate is None:
        raise Stays
    return translate(expr, fields)


# Constants are worked out here, by the evaluator itself.


def _constant(expr: Expr) -> Any:
    try:
        return constant(expr)
    except (EvaluationError, PatternMistake):
        raise Stays from None


# Fields.


def _field(expr: Field, fields: pa.Schema) -> Term:
    from pyspark.sql import functions as F

    if expr.alias is not None or not expr.path:
        raise Stays
    first, *rest = expr.path
    kind = _only(fields, first)
    # One quoted name and then getField: `a`.`b` could also be the column b of a table called a.
    column = F.col("`" + first.replace("`", "``") + "`")
    for name in rest:
        if not pa.types.is_struct(kind) or _stands_for_more(kind):
            raise Stays
        kind = _only(kind, name)
        column = column.getField(name)
    return _read(column, kind)


def _only(fields: Iterable[pa.Field], name: str) -> pa.DataType:
    """The type of a field, if no spelling of its name means another one. Spark's names have no case by default."""
    found = [field for field in fields if _same_name(field.name, name)]
    if len(found) != 1 or found[0].name != name or not name:
        raise Stays
    return found[0].type


def _same_name(a: str, b: str) -> bool:
    return a.lower() == b.lower() or a.upper() == b.upper() or a.casefold() == b.casefold()


def _stands_for_more(kind: pa.DataType) -> bool:
    """Variants and shapes are structs in Arrow and not in Spark."""
    return any({b"variant", b"geometry", b"geography"} & set(inner.metadata or ()) for inner in kind)


def _read(column: Column, kind: pa.DataType) -> Term:
    test = pa.types
    if test.is_signed_integer(kind):
        least = LEAST_LONG >> (64 - kind.bit_width)
        return whole(column, least, -least - 1)
    if test.is_float32(kind) or test.is_float64(kind):
        return number(column.cast("double"))
    if test.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return decimal(column, kind.precision, kind.scale)
    if test.is_string(kind) or test.is_large_string(kind):
        # The cast takes away a collation, and the padding that Spark adds where a CHAR column is compared.
        return Term("string", column.cast("string"))
    if test.is_null(kind):
        return null()
    return Term(_plain_kind(kind), column)


def _plain_kind(kind: pa.DataType) -> str:
    test = pa.types
    if test.is_timestamp(kind) and kind.tz is not None:  # without a zone Spark compares it by the session's
        return "timestamp"
    kinds: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
        (test.is_boolean, "bool"),
        (test.is_date32, "date"),
        (test.is_duration, "duration"),
        (test.is_binary, "bytes"),
        (test.is_large_binary, "bytes"),
    )
    return next((name for is_it, name in kinds if is_it(kind)), "other")


# Operators.


def _unary(expr: Unary, fields: pa.Schema) -> Term:
    if expr.op == "not":
        return Term("bool", ~_condition(expr.operand, fields))
    return negative(_term(expr.operand, fields))


def _binary(expr: Binary, fields: pa.Schema) -> Term:
    if expr.op in ("and", "or"):
        combine = operator.and_ if expr.op == "and" else operator.or_
        return Term("bool", combine(_condition(expr.left, fields), _condition(expr.right, fields)))
    if expr.op in ("==", "!="):
        return _equality(expr, fields)
    a, b = _term(expr.left, fields), _term(expr.right, fields)
    return _comparison(expr.op, a, b) if expr.op in TESTS else calculate(expr.op, a, b)


def _equality(expr: Binary, fields: pa.Schema) -> Term:
    for here, there in ((expr.left, expr.right), (expr.right, expr.left)):
        if _changes_case(here):
            other = _term(there, fields)
            return _comparison(expr.op, _operand(here, [other], fields), other)
    return _comparison(expr.op, _term(expr.left, fields), _term(expr.right, fields))


def _comparison(op: str, a: Term, b: Term) -> Term:
    if "null" in (a.kind, b.kind):
        return _unknown()
    left, right = comparable(a, b)
    return Term("bool", TESTS[op](left, right))  # type: ignore[arg-type]


def _changes_case(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.name in ("lower", "upper") and len(expr.args) == 1


def _operand(expr: Expr, others: Sequence[Term], fields: pa.Schema) -> Term:
    """What is tested for equality with others."""
    known = [other for other in others if other.kind != "null"]
    if not _changes_case(expr) or is_constant(expr):
        return _term(expr, fields)
    assert isinstance(expr, Call)
    return without_case(expr.name, _term(expr.args[0], fields), known)


def _is_null(expr: IsNull, fields: pa.Schema) -> Term:
    from pyspark.sql import functions as F

    term = _term(expr.operand, fields)
    if term.kind == "null":
        return Term("bool", F.lit(not expr.negated))
    return Term("bool", term.column.isNotNull() if expr.negated else term.column.isNull())


# In.


def _in(expr: In, fields: pa.Schema) -> Term:
    from pyspark.sql import functions as F

    if not expr.items:
        return Term("bool", F.lit(expr.negated))
    items = [_term(item, fields) for item in expr.items]
    operand = _operand(expr.operand, items, fields)
    known = [item for item in items if item.kind != "null"]
    if operand.kind == "null" or not known:
        return _unknown()
    tests = [_among(operand, listed) for listed in _lists(operand, known)]
    tests += [_equal(operand, item) for item in known if not _listable(operand, item)]
    if len(tests) > _MOST_COMPARISONS:
        raise Stays
    if len(known) < len(items):
        tests.append(_unknown().column)
    found = tests[0]
    for test in tests[1:]:
        found = found | test
    return Term("bool", ~found if expr.negated else found)


def _equal(a: Term, b: Term) -> Column:
    left, right = comparable(a, b)
    return left == right


def _listable(operand: Term, item: Term) -> bool:
    """May it stand in a list of Spark's? Not a zero: there -0.0 and 0.0 are two."""
    if not item.constant or item.value == 0:
        return False
    kinds = (operand.kind, item.kind)
    return kinds in (("string", "string"), ("float", "float"), ("float", "int"), ("int", "float")) or (
        kinds == ("int", "int") and operand.narrow and item.narrow
    )


def _lists(operand: Term, items: Sequence[Term]) -> list[list[Term]]:
    """Items by kind: an int is compared with ints exactly, with floats as a float."""
    listed = [item for item in items if _listable(operand, item)]
    kinds = dict.fromkeys(item.kind for item in listed)
    return [[item for item in listed if item.kind == kind] for kind in kinds]


def _among(operand: Term, items: Sequence[Term]) -> Column:
    pairs = [comparable(operand, item) for item in items]
    return pairs[0][0].isin([item for _, item in pairs])


# Case, calls.


def _case(expr: Case, fields: pa.Schema) -> Term:
    from pyspark.sql import functions as F

    values = [_term(value, fields) for _, value in expr.branches]
    like, (*columns, default) = one_type([*values, _term(expr.default, fields)])
    if like.kind == "null" or not columns:
        raise Stays
    conditions = [_condition(test, fields) for test, _ in expr.branches]
    chosen = F.when(conditions[0], columns[0])
    for condition, column in zip(conditions[1:], columns[1:], strict=True):
        chosen = chosen.when(condition, column)
    return replace(like, column=chosen.otherwise(default))


def _call(expr: Call, fields: pa.Schema) -> Term:
    try:
        find_function(expr)
        check_literals(expr)
    except PatternMistake:
        raise Stays from None
    return call(expr.name, [_term(arg, fields) for arg in expr.args])


_TRANSLATORS: dict[type[Expr], Callable[[Any, pa.Schema], Term]] = {
    Field: _field,
    Unary: _unary,
    Binary: _binary,
    In: _in,
    IsNull: _is_null,
    Case: _case,
    Call: _call,
}
