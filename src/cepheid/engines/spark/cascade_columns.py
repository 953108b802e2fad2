"""Columns of several events side by side: whose they are, what a condition that names several events reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.engines.spark.catalyst import to_value
from cepheid.engines.spark.inputs import Input
from cepheid.engines.spark.layout import END, SEQUENCE, TIME, Layout
from cepheid.pattern.expr import Expr, Field, rewrite

if TYPE_CHECKING:
    from pyspark.sql import Column

RANK = "_r"
WHEN, UNTIL = "_when", "_until"  # the instants as conditions see them
_INSTANT = pa.timestamp("us", tz="UTC")
_GREATEST_LONG = 2**63 - 1


@dataclass(frozen=True)
class Carried:
    """The prepared columns that come along with every event of a tuple."""

    layout: Layout
    given: Input

    def names(self) -> list[str]:
        """Without the type: where an event stands says what it is."""
        layout = self.layout
        end = [END] if layout.columns.end is not None else []
        own = [*layout.bit_names(), TIME, *end, *layout.order_names(), *layout.field_names()]
        return [*own, SEQUENCE, RANK]

    def order_kinds(self) -> pa.Schema:
        columns = self.layout.columns.order
        pairs = zip(self.layout.order_names(), columns, strict=True)
        return pa.schema([(name, self.given.kind(column)) for name, column in pairs])


@dataclass(frozen=True)
class Place:
    """The columns of one event among those of a tuple: all of them have its mark before their names."""

    mark: str
    carried: Carried

    def named(self, name: str) -> str:
        return self.mark + name

    def column(self, name: str) -> Column:
        from pyspark.sql import functions as F

        return F.col(self.named(name))

    def renamed(self) -> list[Column]:
        """All columns of prepared rows, for this place; and the instants that conditions may ask for."""
        from pyspark.sql import functions as F

        columns = [F.col(name).alias(self.named(name)) for name in self.carried.names()]
        columns.append(F.timestamp_micros(F.col(TIME)).alias(self.named(WHEN)))
        if self.carried.layout.columns.end is not None:
            columns.append(F.timestamp_micros(F.col(END)).alias(self.named(UNTIL)))
        return columns

    def fields(self) -> dict[str, pa.Field]:
        """What a condition may read of this event: by the user's name, the column and its type."""
        layout = self.carried.layout
        pairs = zip(layout.fields, layout.field_names(), strict=True)
        found = {n: pa.field(self.named(f), self.carried.given.kind(n)) for n, f in pairs}
        found[layout.columns.time] = pa.field(self.named(WHEN), _INSTANT)
        if layout.columns.end is not None:
            found[layout.columns.end] = pa.field(self.named(UNTIL), _INSTANT)
        return found

    def order(self) -> list[Column]:
        """The columns of the user's order, as they are compared."""
        kinds = self.carried.order_kinds()
        marked = pa.schema([field.with_name(self.named(field.name)) for field in kinds])
        return order_columns(marked)


def order_columns(kinds: pa.Schema) -> list[Column]:
    columns = [to_value(Field(None, (name,)), kinds) for name in kinds.names]
    return [column for column in columns if column is not None]


# Conditions.


def side_by_side(expr: Expr, own: Place, others: Mapping[str, Place]) -> Expr:
    """The condition with every field of an event written as the column that holds it in a tuple."""
    tables = {name: place.fields() for name, place in others.items()}
    mine = own.fields()

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Field) or not node.path:
            return None
        table = mine if node.alias is None else tables.get(node.alias, {})
        found = table.get(node.path[0])
        # One that is nowhere keeps its alias: no column, so the condition stays in Python.
        return None if found is None else replace(node, alias=None, path=(found.name, *node.path[1:]))

    return rewrite(expr, change)


def schema_of(places: Sequence[Place]) -> pa.Schema:
    return pa.schema([field for place in places for field in place.fields().values()])


# Time and order.


def later(one: Place, other: Place) -> Column:
    """Is the other event later in the total order?"""
    first, second = one.column(TIME), other.column(TIME)
    after_ties = _below([*one.order(), one.column(SEQUENCE)], [*other.order(), other.column(SEQUENCE)])
    # The first part stands by itself, so that Spark can use it so.
    return (first <= second) & ((first < second) | after_ties)


def _below(before: Sequence[Column], after: Sequence[Column]) -> Column:
    """One list of values before another, nulls first. Where it is null it is not so."""
    one, other = before[0], after[0]
    if len(before) == 1:
        return one < other
    less = (one < other) | (one.isNull() & other.isNotNull())
    return less | (one.eqNullSafe(other) & _below(before[1:], after[1:]))


def at_most(one: Place, other: Place, bound: int) -> Column:
    """Is the other event at most so long after the one?"""
    from pyspark.sql import functions as F

    # A difference that fits nowhere is null, so more than any bound.
    passed = F.try_subtract(other.column(TIME), one.column(TIME))
    return passed <= F.lit(min(bound, _GREATEST_LONG)).cast("bigint")
