"""A statement with its row patterns replaced, one after the other, by tables of what they find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cepheid.sql_lang.aggregate_names import AggregateNames
from cepheid.sql_lang.common_tables import common_tables_before, with_tables
from cepheid.sql_lang.read_windowed_select import windowed_selects
from cepheid.sql_lang.reading import read_statement
from cepheid.sql_lang.row_query import RowQuery, understood
from cepheid.sql_lang.scan import Dialect
from cepheid.sql_lang.source import SqlSource
from cepheid.sql_lang.statement import FoundClause, clauses_of
from cepheid.sql_lang.window_query import WindowQuery
from cepheid.sql_lang.windowed_select import WindowedSelect


class Database(Protocol):
    """What runs the SQL around the row patterns. Tables are told by their names."""

    dialect: str  # by the name sqlglot has for it
    letters: Dialect

    @property
    def functions(self) -> AggregateNames: ...

    def matched(self, query: RowQuery, table: str, before: str) -> str:
        """Match the rows of a table, given as SQL with what WITH says before it: a table of what is found."""

    def columns(self, query: str) -> list[str]:
        """The names of the columns of a query."""

    def rows(self, query: str, names: Sequence[str]) -> str:
        """A table of the rows of a query, with other names for its columns."""

    def windowed(self, query: WindowQuery, table: str) -> str:
        """A table that has for each row of another what is asked over a window, too."""

    def quoted(self, name: str) -> str: ...


def without_clauses(text: str, database: Database) -> str:
    """The statement for the database alone. All row patterns are read before the first is run."""
    source = SqlSource(text, dialect=database.letters)
    statement = read_statement(text, dialect=database.letters)
    queries = [understood(clause, database.dialect, database.functions) for _, clause in statement.clauses]
    selects = len(windowed_selects(source, database.dialect)) if statement.windows else 0
    for _ in range(len(queries) + selects):
        clause = next(iter(clauses_of(source)), None) if queries else None
        select = next(iter(windowed_selects(source, database.dialect)), None) if selects else None
        # What ends first contains none of the others.
        if clause is not None and (select is None or clause.span.end <= select.span.end):
            source = _without_clause(source, clause, queries.pop(0), database)
        else:
            assert select is not None
            source = _without_windows(source, select, database)
            selects -= 1
    return source.text


def _without_clause(source: SqlSource, clause: FoundClause, query: RowQuery, database: Database) -> SqlSource:
    text = source.text
    end = clause.table.alias.span.end if clause.table.alias else clause.table.span.end
    tables = common_tables_before(source, clause.span.start)
    table = database.matched(query, text[clause.table.span.start : end], with_tables(tables, ""))
    alias = text[clause.alias.span.start : clause.alias.span.end] if clause.alias else ""
    changed = text[: clause.span.start] + f"{table} {alias}".strip() + text[clause.span.end :]
    return SqlSource(changed, source.name, source.dialect)


def _without_windows(source: SqlSource, select: WindowedSelect, database: Database) -> SqlSource:
    tables = common_tables_before(source, select.span.start)
    inner = with_tables(tables, select.inner())
    names = database.columns(inner)
    widths = select.widths(len(names), lambda query: len(database.columns(with_tables(tables, query))))
    table = database.rows(inner, select.names(len(names)))
    for window in select.windows:
        if window.query.measures or window.aggregates:
            table = database.windowed(window, table)
    outer = select.outer(table, widths, names, database.quoted)
    changed = source.text[: select.span.start] + outer + source.text[select.span.end :]
    return SqlSource(changed, source.name, source.dialect)
