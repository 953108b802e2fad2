"""What a database is asked around a clause: rows in order with the columns that are needed, then the measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlglot
from sqlglot import exp

from cepheid.errors import PatternMistake
from cepheid.sql_lang.clause import OrderItem, Rows
from cepheid.sql_lang.row_query import RowQuery

KEY, ORDER, ARRIVAL, MATCH, UNMATCHED = "__k", "__o", "__s", "__match", "__unmatched"
Quoted = Callable[[str], str]


def wanted(query: RowQuery) -> list[str]:
    """The columns to ask for, as SQL: all of the table if its rows are shown, and those that are made for us."""
    keys = [f"({text}) AS {KEY}{i}" for i, text in enumerate(query.partition_by)]
    made = [f"({text}) AS {name}" for name, text in query.columns.items()]
    return [*(["*"] if query.all_rows else []), *keys, *made]


def made_for_us(query: RowQuery) -> set[str]:
    """Names of columns that are none of the table's: exactly these, for a table may have others that begin so."""
    keys = (f"{KEY}{i}" for i in range(len(query.partition_by)))
    return {*query.columns, *keys, ORDER, ARRIVAL}


def order_text(item: OrderItem) -> str:
    """Null is the least of all, unless it is said where nulls go: every database does then the same."""
    first = not item.descending if item.nulls_first is None else item.nulls_first
    return f"({item.value.text}) {'DESC' if item.descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"


def shown(query: RowQuery, input_columns: Sequence[str], dialect: str, quoted: Quoted) -> list[str]:
    """What comes out of a clause, as SQL over a table of matches: the partition, the order, the measures, the rest."""
    keys = [column_name(text, dialect) or text for text in query.partition_by]
    parts = [f"{KEY}{i} AS {quoted(name)}" for i, name in enumerate(keys)]
    measures = [f"{_measure(query, text)} AS {quoted(name)}" for name, text in query.measures]
    _check_names(query, [*keys, *(input_columns if query.all_rows else ())])
    if not query.all_rows:
        return [*parts, *measures]
    taken = {name.lower() for name in keys}
    ordered: list[str] = []
    for item in query.order_by:
        name = column_name(item.value.text, dialect)
        found = next((c for c in input_columns if name is not None and c.lower() == name.lower()), None)
        if found is not None and found.lower() not in taken:
            taken.add(found.lower())
            ordered.append(quoted(found))
    rest = [quoted(c) for c in input_columns if c.lower() not in taken]
    return [*parts, *ordered, *measures, *rest]


def _check_names(query: RowQuery, columns: Sequence[str]) -> None:
    """A table with two columns of one name could not be asked for either, and the databases do not mind the case."""
    seen = {name.lower(): "a column that the clause shows" for name in columns}
    for i, (name, _) in enumerate(query.measures):
        if name.lower() in seen:
            raise PatternMistake(
                f"the measure `{name}` has the name of {seen[name.lower()]}",
                code="duplicate_column",
                place=query.measured_at[i] if query.measured_at else None,
                hint="give it another name",
            )
        seen[name.lower()] = "another measure"


def _measure(query: RowQuery, text: str) -> str:
    """A row that is in no match has no measures, whatever is said of nulls."""
    if query.rows is not Rows.ALL_WITH_UNMATCHED:
        return f"({text})"
    return f"CASE WHEN {UNMATCHED} THEN NULL ELSE ({text}) END"


def column_name(text: str, dialect: str) -> str | None:
    """If the expression is nothing but a column."""
    found = sqlglot.parse_one(text, read=dialect)
    return str(found.name) if isinstance(found, exp.Column) else None
