"""SQL over pandas, polars and Arrow: DuckDB runs the statement, its MATCH_RECOGNIZE clauses are matched here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.engines.sql.clauses import without_clauses
from cepheid.engines.sql.matched_table import RowMatching
from cepheid.errors import InputMistake
from cepheid.sql_lang.asking import ARRIVAL, KEY, ORDER, made_for_us, order_text, shown, wanted
from cepheid.sql_lang.row_query import RowQuery
from cepheid.sql_lang.scan import STANDARD


def run_locally(text: str, frames: dict[str, Any]) -> pa.Table:
    import duckdb

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
        self.found = 0

    def table(self, text: str) -> pa.Table:
        import duckdb

        try:
            return self.connection.sql(text).to_arrow_table()
        except duckdb.Error as problem:
            raise InputMistake(str(problem), code="database", hint=None) from problem

    def matched(self, query: RowQuery, table: str, before: str) -> str:
        rows = self.table(f"{before}{_rows_in_order(query, table)}")
        found = RowMatching(query).matched(rows)
        return self._named(query, found, rows.column_names)

    def _named(self, query: RowQuery, found: pa.Table, given: list[str]) -> str:
        """A table with what comes out of the clause."""
        self.found += 1
        raw, name = f"__cepheid_found_{self.found}", f"__cepheid_{self.found}"
        self.connection.register(raw, found)
        own = [c for c in given if c not in made_for_us(query)]
        columns = shown(query, own, self.dialect, _quoted)
        self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {', '.join(columns)} FROM {raw}")
        return name


def _rows_in_order(query: RowQuery, table: str) -> str:
    columns = [*wanted(query), f"row_number() OVER () AS {ARRIVAL}"]
    if query.within is not None:
        columns.append(f"({query.order_by[0].value.text}) AS {ORDER}")
    inner = f"SELECT {', '.join(columns)} FROM {table}"
    keys = [f"{KEY}{i} NULLS FIRST" for i in range(len(query.partition_by))]
    order = [*keys, *(order_text(item) for item in query.order_by), ARRIVAL]
    # What orders rows may be a column that is not asked for, so all of it stands in one query.
    return f"{inner} ORDER BY {', '.join(order)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
