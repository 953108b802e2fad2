"""A window with a row pattern, understood: what is matched over an inner query, and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.sql_lang.clause import Clause, Rows, Search, SqlText
from cepheid.sql_lang.row_query import RowQuery

FRAME_END = "__e"  # how many rows further on the frame of a row ends


@dataclass(frozen=True)
class WindowQuery:
    """The measures of the query are those that are asked for, by the names of their columns in the answer."""

    query: RowQuery
    search: Search
    bounded: bool  # does the column FRAME_END say where frames end? Otherwise with the partition
    aggregates: tuple[tuple[str, str], ...] = ()  # names, and SQL over the rows of a match
    arguments: tuple[str, ...] = ()  # columns of the inner query that the aggregates need


def window_query(
    clause: Clause, query: RowQuery, columns: dict[str, str], search: Search, frame_end: str | None
) -> WindowQuery:
    """`columns` gives the name of the column for each SQL text the query asks for."""
    by_name = {name: columns[text] for name, text in query.columns.items()}
    if frame_end is not None:
        by_name[FRAME_END] = columns[frame_end]
    order = tuple(
        replace(item, value=SqlText(columns[item.value.text], item.value.place)) for item in clause.order_by
    )
    return WindowQuery(
        replace(
            query,
            partition_by=tuple(columns[part.text] for part in clause.partition_by),
            order_by=order,
            columns=by_name,
            measures=(),
            rows=Rows.ALL,
        ),
        search,
        frame_end is not None,
    )
