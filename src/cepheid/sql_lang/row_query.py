"""A clause, understood: what a database is asked before and after, and what is matched between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cepheid.errors import CepheidError, Place
from cepheid.pattern.row_pattern import RowNode, variables_of
from cepheid.pattern.row_terms import Condition, Over, RowTerm
from cepheid.sql_lang.aggregate_names import AggregateNames, KeptAggregates
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
    place: Place | None = field(default=None, compare=False, repr=False)  # of the clause
    measured_at: tuple[Place, ...] = field(default=(), compare=False, repr=False)  # of the names of measures
    left: frozenset[str] = frozenset()  # terms that are aggregates of the database, which has the rows after

    def place_of(self, mistake: CepheidError) -> Place | None:
        """Where to look for what made the clause fail while rows were matched."""
        target = self.skip.variable
        return target.place if target is not None and mistake.code.startswith("skip_") else self.place

    @property
    def all_rows(self) -> bool:
        return self.rows is not Rows.ONE

    @property
    def left_calls(self) -> dict[str, Over]:
        """The aggregates that are left to the database, by the name of their term."""
        terms = {name: term for name, term in self.terms.items() if name in self.left}
        return {name: term for name, term in terms.items() if isinstance(term, Over)}

    def keeping_aggregates(self) -> RowQuery:
        """The same with only those aggregates left to the database that cannot be kept while rows are matched."""
        return replace(self, left=frozenset(n for n, over in self.left_calls.items() if not over.function))


def understood(
    clause: Clause,
    dialect: str,
    database: AggregateNames | None = None,
    tables: frozenset[str] | None = None,
) -> RowQuery:
    """Without a database to ask afterwards aggregates are those that can be kept while rows are matched. In a window
    `tables` are the names of the tables of its SELECT."""
    names = database or KeptAggregates(dialect)
    subsets = {name: frozenset({name}) for name in variables_of(clause.pattern)}
    subsets |= {s.name.name: frozenset(m.name for m in s.members) for s in clause.subsets}
    measured = Terms(names, subsets, tables=tables)
    measures = tuple((m.name.written, measured.measure(m.value)) for m in clause.measures)
    terms = {name: term for term, name in measured.names.items()}
    asked = Terms(names, subsets, measured.columns, tables=tables)  # one table of columns for both
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
        clause.place,
        tuple(m.name.place for m in clause.measures),
        frozenset(name for name, term in terms.items() if database and _is_left(term, clause.rows, database)),
    )


def _is_left(term: RowTerm, rows: Rows, database: AggregateNames) -> bool:
    if not isinstance(term, Over) or term.call is None:
        return False
    running = rows is not Rows.ONE and not term.final
    return not (running and term.function) or database.runs(term.call.name)
