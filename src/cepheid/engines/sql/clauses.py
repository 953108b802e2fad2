"""A statement with its clauses replaced, one after the other, by tables of what they find."""

from __future__ import annotations

from typing import Protocol

from cepheid.errors import PatternMistake
from cepheid.sql_lang.aggregate_names import AggregateNames
from cepheid.sql_lang.common_tables import common_tables_before, with_tables
from cepheid.sql_lang.reading import read_statement
from cepheid.sql_lang.row_query import RowQuery, understood
from cepheid.sql_lang.scan import Dialect
from cepheid.sql_lang.source import SqlSource
from cepheid.sql_lang.statement import clauses_of


class Database(Protocol):
    """What runs the SQL around the clauses."""

    dialect: str  # by the name sqlglot has for it
    letters: Dialect

    @property
    def functions(self) -> AggregateNames: ...

    def matched(self, query: RowQuery, table: str, before: str) -> str:
        """Match the rows of a table, given as SQL with what WITH says before it. The answer is the name of a table."""


def without_clauses(text: str, database: Database) -> str:
    """The statement for the database alone. All clauses are read before the first is run."""
    statement = read_statement(text, dialect=database.letters)
    if statement.windows:
        raise PatternMistake(
            "row patterns in windows are not matched so far",
            code="window_pattern",
            place=statement.windows[0].parts.clause.place,
            hint="say it with MATCH_RECOGNIZE and ALL ROWS PER MATCH",
        )
    queries = [understood(clause, database.dialect, database.functions) for _, clause in statement.clauses]
    source = SqlSource(text, dialect=database.letters)
    for query in queries:
        source = _next_replaced(source, query, database)
    return source.text


def _next_replaced(source: SqlSource, query: RowQuery, database: Database) -> SqlSource:
    """The first clause is always the next: inner ones come before those around them."""
    clause, text = clauses_of(source)[0], source.text
    end = clause.table.alias.span.end if clause.table.alias else clause.table.span.end
    tables = common_tables_before(source, clause.span.start)
    table = database.matched(query, text[clause.table.span.start : end], with_tables(tables, ""))
    alias = text[clause.alias.span.start : clause.alias.span.end] if clause.alias else ""
    changed = text[: clause.span.start] + f"{table} {alias}".strip() + text[clause.span.end :]
    return SqlSource(changed, source.name, source.dialect)
