"""A clause, understood: what a database is asked before and after, and what is matched between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.pattern.row_pattern import RowNode, variables_of
from cepheid.pattern.row_terms import Condition, RowTerm
from cepheid.sql_lang.clause import Clause, OrderItem, Rows, Skip
from cepheid.sql_lang.expressions import Terms


@dataclass(frozen=True)
class RowQuery:
    """All expressions are in the dialect of the database."""

    pattern: RowNode
    conditions: Mapping[str, Condition]  # of those variables that have one
    subsets: Mapping[str, frozenset[str]]  # what each variable or subset stands for
    partition_by: tuple[str, ...]
    order_by: tuple[OrderItem, ...]
    columns: Mapping[str, str]  # expressions over one row, by the name of their column: asked before
    terms: Mapping[str, RowTerm]  # what the measures need of each match, by name
    measures: tuple[tuple[str, str], ...]  # names, and expressions over the terms: asked after
    rows: Rows
    skip: Skip
    within: int | None

    @property
    def all_rows(self) -> bool:
        return self.rows is not Rows.ONE


def understood(clause: Clause, dialect: str, tables: frozenset[str] | None = None) -> RowQuery:
    """In a window `tables` are the names of the tables of its SELECT."""
    subsets = {name: frozenset({name}) for name in variables_of(clause.pattern)}
    subsets |= {s.name.name: frozenset(m.name for m in s.members) for s in clause.subsets}
    measured = Terms(dialect, subsets, tables=tables)
    measures = tuple((m.name.written, measured.measure(m.value)) for m in clause.measures)
    terms = {name: term for term, name in measured.names.items()}
    asked = Terms(dialect, subsets, measured.columns, tables=tables)  # one table of columns for both
    conditions = {d.variable.name: asked.condition(d.condition, d.variable.name) for d in clause.define}
    return RowQuery(
        clause.pattern,
        conditions,
        subsets,
        tuple(part.text for part in clause.partition_by),
        clause.order_by,
        {name: text for text, name in measured.columns.items()},
        terms,
        measures,
        clause.rows,
        clause.skip,
        clause.within,
    )
