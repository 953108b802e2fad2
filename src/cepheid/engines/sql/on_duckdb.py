"""SQL over pandas, polars and Arrow: DuckDB runs the statement, its MATCH_RECOGNIZE clauses are matched here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cepheid.engines.sql.clauses import without_clauses
from cepheid.engines.sql.duckdb_functions import DuckDBFunctions
from cepheid.engines.sql.matched_table import RowMatching
from cepheid.engines.sql.window_table import GROUP, MATCHED, Members, WindowMatching
from cepheid.errors import InputMistake, SetupMistake
from cepheid.sql_lang.asking import ARRIVAL, KEY, ORDER, made_for_us, order_text, shown, wanted
from cepheid.sql_lang.clause import Rows
from cepheid.sql_lang.database_aggregates import kept_columns, one_by_one, with_aggregates
from cepheid.sql_lang.row_query import RowQuery
from cepheid.sql_lang.scan import STANDARD
from cepheid.sql_lang.window_functions import LAST, NTH
from cepheid.sql_lang.window_query import WindowQuery

_ID = "__id"  # of a row of an inner query


def run_locally(text: str, frames: dict[str, Any]) -> pa.Table:
    try:
        import duckdb
    except ImportError:
        raise SetupMistake(
            "SQL over frames and files is run by DuckDB, which is not installed",
            code="no_duckdb",
            hint="pip install 'cepheid[duckdb]'",
        ) from None
    with duckdb.connect() as connection:
        for name, frame in frames.items():
            connection.register(name, frame)
        database = _DuckDB(connection)
        return database.table(without_clauses(text, database))


class _DuckDB:
    dialect = "duckdb"
    letters = STANDARD

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.functions = DuckDBFunctions(connection)
        self.made = 0

    def table(self, text: str) -> pa.Table:
        with _in_our_words():
            return self.connection.sql(text).to_arrow_table()

    def matched(self, query: RowQuery, table: str, before: str) -> str:
        rows = self.table(f"{before}{_rows_in_order(query, table)}")
        found = self._register(RowMatching(query).matched(rows))
        own = [c for c in rows.column_names if c not in made_for_us(query)]
        columns = ", ".join(shown(query, own, self.dialect, self.quoted))
        if query.left:
            found = f"({self._with_aggregates(query, found, kept_columns(query, own, self.quoted))})"
        return self._create(f"SELECT {columns} FROM {found}")

    def columns(self, query: str) -> list[str]:
        with _in_our_words():
            return list(self.connection.sql(query).columns)

    def rows(self, query: str, names: Sequence[str]) -> str:
        return self._create(
            f"SELECT *, row_number() OVER () AS {_ID} FROM ({query}\n) AS q ({', '.join(names)})"
        )

    def windowed(self, query: WindowQuery, table: str) -> str:
        rows = self.table(_rows_in_order(replace(query.query, rows=Rows.ONE), table, _ID))
        answer, members = WindowMatching(query).matched(rows)
        found = self._register(answer)
        columns = [f"r.* EXCLUDE ({_ID})"]
        columns += [f"CASE WHEN {MATCHED} THEN ({text}) END AS {name}" for name, text in query.query.measures]
        columns += [name for name, _ in query.aggregates]
        joined = f"{table} AS r JOIN {found} AS f USING ({_ID})"
        if query.aggregates:
            joined += f" JOIN ({self._aggregated(query, table, found, rows, members)}) AS a USING ({GROUP})"
        return self._create(f"SELECT {', '.join([*columns, _ID])} FROM {joined}")

    def _aggregated(
        self, query: WindowQuery, table: str, found: str, rows: pa.Table, members: Members
    ) -> str:
        """For each group its aggregates: over the rows of the match, and one row more without a number."""
        numbers = {GROUP: members.groups, NTH: members.nth, LAST: members.last}
        ids = rows[_ID].take(pa.array(members.rows))
        inside = self._register(pa.table({**{n: pa.array(v) for n, v in numbers.items()}, _ID: ids}))
        one_more = f"SELECT DISTINCT {GROUP}, NULL AS {NTH}, NULL AS {LAST}, NULL AS {_ID} FROM {found}"
        records = f"(SELECT {GROUP}, {NTH}, {LAST}, {_ID} FROM {inside} UNION ALL {one_more}) AS g"
        aggregates = ", ".join(f"{sql} AS {name}" for name, sql in query.aggregates)
        return f"SELECT {GROUP}, {aggregates} FROM {records} LEFT JOIN {table} AS r USING ({_ID}) GROUP BY {GROUP}"

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def _register(self, table: pa.Table) -> str:
        self.made += 1
        name = f"__cepheid_found_{self.made}"
        self.connection.register(name, table)
        return name

    def _create(self, query: str) -> str:
        """A table with the rows of a query."""
        self.made += 1
        name = f"__cepheid_{self.made}"
        with _in_our_words():
            self.connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
        return name

    def _with_aggregates(self, query: RowQuery, raw: str, kept: list[str]) -> str:
        import duckdb

        text = with_aggregates(query, raw, kept, self.functions)
        try:
            self.connection.sql(text)  # only looked at
        except duckdb.Error as problem:
            raise self._at_its_place(query, raw, problem) from problem
        return text

    def _at_its_place(self, query: RowQuery, raw: str, problem: Exception) -> InputMistake:
        import duckdb

        for alone, call in one_by_one(query):
            try:
                self.connection.sql(with_aggregates(alone, raw, [], self.functions))
            except duckdb.Error as own:
                return InputMistake(str(own).split("\n\nLINE")[0], code="database", place=call.place)
        return InputMistake(str(problem), code="database")


@contextmanager
def _in_our_words() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as problem:
        raise InputMistake(str(problem), code="database", hint=None) from problem


def _rows_in_order(query: RowQuery, table: str, *more: str) -> str:
    columns = [*more, *wanted(query), f"row_number() OVER () AS {ARRIVAL}"]
    if query.within is not None:
        columns.append(f"({query.order_by[0].value.text}) AS {ORDER}")
    inner = f"SELECT {', '.join(columns)} FROM {table}"
    keys = [f"{KEY}{i} NULLS FIRST" for i in range(len(query.partition_by))]
    order = [*keys, *(order_text(item) for item in query.order_by), ARRIVAL]
    # What orders rows may be a column that is not asked for, so all of it stands in one query.
    return f"{inner} ORDER BY {', '.join(order)}"
