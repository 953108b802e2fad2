"""Conditions and computed variables of graph patterns over columns: by Spark where it means the same.

A value may be of several kinds: Spark is asked for each of them, and what cannot be compared is false in a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute

from cepheid.engines.local.arrow_types import struct_of_arrow
from cepheid.engines.spark.catalyst import to_value
from cepheid.engines.spark.failures import without_stack
from cepheid.engines.spark.graph_values import EVERY_KIND, Kinds, of_type, together
from cepheid.errors import CepheidError
from cepheid.graph.clauses import moment, of_its_type
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment, Test
from cepheid.pattern.expr import Binary, Expr, Field, In, Literal, Unary, rewrite, walk
from cepheid.pattern.types import BOOL
from cepheid.plan.check_types import Scope, infer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MOST_WAYS = 24  # combinations of kinds that are worth a condition each
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Held:
    """Where a value is."""

    column: str
    kinds: Kinds


Fields = Mapping[str, Held]  # by the name of the field: `value`, `?guest`


@dataclass(frozen=True)
class Condition:
    """One of a clause (what cannot be compared is false) or of a `where` (there it is an error)."""

    expr: Expr
    fields: Fields
    in_clause: bool


# By Spark.


def spark_condition(condition: Condition) -> Column | None:
    """Null or false if it does not hold; None if it stays in Python."""
    from pyspark.sql import functions as F

    found: list[Column] = []
    ways = _ways(condition.expr, condition.fields)
    if ways is None:
        return None
    for way in ways:
        schema, expr = _typed(condition.expr, condition.fields, way)
        if condition.in_clause and _clashes(expr, schema):
            continue
        # Not `to_test`, whose answer is never null: a source of rows can use a plain comparison.
        translated = to_value(expr, schema) if _is_condition(expr, schema) else None
        if translated is None:
            return None
        found.append(_all([*_of_kinds(condition.fields, way), translated]))
    return _any(found) if found else F.lit(False)


def spark_value(expr: Expr, fields: Fields) -> tuple[Column, Kinds] | None:
    """None if it stays in Python."""
    from pyspark.sql import functions as F

    ways = _ways(expr, fields)
    if ways is None:
        return None
    values: dict[str, Column] = {}
    kinds: list[Kinds] = []
    for way in ways:
        schema, typed = _typed(expr, fields, way)
        kind = _inferred(typed, schema)
        value = to_value(typed, schema)
        if kind is None or value is None or kind == EVERY_KIND or kind.names == ("decimal",):
            return None
        (name,) = kind.names
        only_there = _of_kinds(fields, way)
        value = F.when(_all(only_there), value) if only_there else value
        values[name] = F.coalesce(values[name], value) if name in values else value
        kinds.append(kind)
    whole = together(kinds)
    return whole.column(values), whole


def kinds_of_value(expr: Expr, fields: Fields) -> Kinds:
    """What an expression may become."""
    ways = _ways(expr, fields)
    if ways is None:
        return EVERY_KIND
    found = [_inferred(typed, schema) for schema, typed in (_typed(expr, fields, way) for way in ways)]
    return together(kind for kind in found if kind is not None) if any(found) else EVERY_KIND


def _ways(expr: Expr, fields: Fields) -> list[dict[str, str]] | None:
    """Each combination of the kinds of what it reads; None if there are too many."""
    read = sorted({name for node in walk(expr) if (name := _field_name(node)) is not None})
    choices = [fields[name].kinds.names for name in read]
    count = 1
    for names in choices:
        count *= len(names)
    if count > _MOST_WAYS:
        return None
    return [dict(zip(read, names, strict=True)) for names in product(*choices)]


def _field_name(node: Expr) -> str | None:
    return node.path[0] if isinstance(node, Field) and node.alias is None else None


def _typed(expr: Expr, fields: Fields, way: Mapping[str, str]) -> tuple[pa.Schema, Expr]:
    """The expression over columns of one kind each."""

    def change(node: Expr) -> Expr | None:
        name = _field_name(node)
        if name is None:
            return None
        held = fields[name]
        return Field(
            None, (held.column,) if held.kinds.is_plain else (held.column, way[name]), place=node.place
        )

    columns = {fields[name].column: fields[name].kinds.arrow for name in way}
    return pa.schema(list(columns.items())), rewrite(expr, change)


def _of_kinds(fields: Fields, way: Mapping[str, str]) -> list[Column]:
    from pyspark.sql import functions as F

    several = [(fields[name], kind) for name, kind in way.items() if not fields[name].kinds.is_plain]
    return [held.kinds.pick(F.col(held.column), kind).isNotNull() for held, kind in several]


def _is_condition(expr: Expr, schema: pa.Schema) -> bool:
    try:
        return infer(expr, Scope(struct_of_arrow(schema), None, {}, {})) == BOOL
    except CepheidError:
        return False


def _inferred(expr: Expr, schema: pa.Schema) -> Kinds | None:
    """None: it cannot be computed."""
    try:
        return of_type(infer(expr, Scope(struct_of_arrow(schema), None, {}, {})))
    except CepheidError:
        return None


def _clashes(expr: Expr, schema: pa.Schema) -> bool:
    """Is it certain that values of these kinds cannot be compared? Of some forms it depends on the values."""
    scope = Scope(struct_of_arrow(schema), None, {}, {})
    if isinstance(expr, In) and isinstance(expr.operand, Field):
        literal = all(isinstance(i, Literal) and i.value is not None for i in expr.items)
        each = [Binary("==", expr.operand, item) for item in expr.items]
        return literal and bool(each) and all(_clash(one, scope) for one in each)
    if not isinstance(expr, Binary) or expr.op not in _COMPARISONS:
        return False
    eager = all(
        isinstance(n, (Field, Literal))
        or (isinstance(n, (Binary, Unary)) and n.op not in ("and", "or", "not"))
        for n in walk(expr)
    )
    return eager and _clash(expr, scope)


def _clash(expr: Expr, scope: Scope) -> bool:
    try:
        infer(expr, scope)
    except CepheidError as mistake:
        return mistake.code == "type_clash"
    return False


def _all(columns: Sequence[Column]) -> Column:
    whole = columns[0]
    for column in columns[1:]:
        whole = whole & column
    return whole


def _any(columns: Sequence[Column]) -> Column:
    whole = columns[0]
    for column in columns[1:]:
        whole = whole | column
    return whole


# In Python, by the evaluator of the local engine.

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def filtered(rows: DataFrame, conditions: Sequence[Condition]) -> DataFrame:
    """The rows for which all conditions hold: those that Spark can test first."""
    left: list[Condition] = []
    for condition in conditions:
        column = spark_condition(condition)
        if column is None:
            left.append(condition)
        else:
            rows = rows.where(column)
    return rows.mapInArrow(_keeping(left), rows.schema) if left else rows


def _keeping(conditions: Sequence[Condition]) -> Task:
    def keep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tests: list[tuple[Test, Fields]] = []
        for condition in conditions:
            test = compile_test([condition.expr])
            test = of_its_type(test) if condition.in_clause else test
            assert test is not None
            tests.append((test, condition.fields))
        with without_stack():
            for batch in batches:
                kept = pa.array([True] * batch.num_rows, pa.bool_())
                for test, fields in tests:
                    answers = [test(at) for at in _moments(batch, fields)]
                    kept = pa.compute.and_(kept, pa.array(answers, pa.bool_()))
                yield batch.filter(kept)

    return keep


def with_value(rows: DataFrame, name: str, expr: Expr, fields: Fields) -> tuple[DataFrame, Kinds]:
    """The rows with a computed column."""
    from pyspark.sql import types as T

    found = spark_value(expr, fields)
    if found is not None:
        return rows.withColumn(name, found[0]), found[1]
    from pyspark.sql.pandas.types import from_arrow_type

    kinds = kinds_of_value(expr, fields)
    schema = T.StructType([*rows.schema.fields, T.StructField(name, from_arrow_type(kinds.arrow))])
    return rows.mapInArrow(_computing(name, expr, fields, kinds), schema), kinds


def _computing(name: str, expr: Expr, fields: Fields, kinds: Kinds) -> Task:
    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        value = compile_value(expr)
        with without_stack():
            for batch in batches:
                cells = [kinds.cell(value(at)) for at in _moments(batch, fields)]
                yield batch.append_column(name, pa.array(cells, kinds.arrow))

    return compute


def _moments(batch: pa.RecordBatch, fields: Fields) -> Iterator[Moment]:
    """What an expression looks at, row by row."""
    names = list(fields)
    columns = [[fields[n].kinds.value(c) for c in batch.column(fields[n].column).to_pylist()] for n in names]
    for values in zip(*columns, strict=True) if names else ((),) * batch.num_rows:
        known = dict(zip(names, values, strict=True))
        target = known.pop("value", None)
        yield moment({name[1:]: value for name, value in known.items()}, target)


def read_by(expr: Expr) -> frozenset[str]:
    return frozenset(name for node in walk(expr) if (name := _field_name(node)) is not None)
