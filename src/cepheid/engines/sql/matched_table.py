"""A table of sorted rows in, a table of matches out: what DuckDB and a Spark task both call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import InputMistake
from cepheid.matching.rows.aggregates import result_type
from cepheid.matching.rows.found import PAST_LAST, TO_FIRST, TO_LAST, TO_NEXT, Matches, Skipping
from cepheid.matching.rows.match import match_rows
from cepheid.matching.rows.program import RowProgram, compile_rows
from cepheid.matching.rows.terms import MatchedRows, Points
from cepheid.pattern.row_terms import At, MatchNumber, Over, RowTerm
from cepheid.sql_lang.asking import ARRIVAL, KEY, MATCH, ORDER, UNMATCHED
from cepheid.sql_lang.clause import AfterMatch, Rows
from cepheid.sql_lang.row_query import RowQuery

_MODES = {
    AfterMatch.PAST_LAST_ROW: PAST_LAST,
    AfterMatch.TO_NEXT_ROW: TO_NEXT,
    AfterMatch.TO_FIRST: TO_FIRST,
    AfterMatch.TO_LAST: TO_LAST,
}


class RowMatching:
    """A query made ready; `matched` may be called for many tables."""

    def __init__(self, query: RowQuery) -> None:
        self.query = query
        self.program: RowProgram = compile_rows(query.pattern)
        self.skipping = skipping_of(query)

    def matched(self, table: pa.Table) -> pa.Table:
        """Whole partitions, each in order. Out come the kept columns of each row that is shown, and the terms."""
        offsets = partition_offsets(table, len(self.query.partition_by))
        times = times_of(table) if self.query.within is not None else None
        found = match_rows(
            self.program, self.query.conditions, table, offsets, self.skipping, times, self.query.within
        )
        rows = MatchedRows(self.program, table, offsets, found)
        points, shown = self._points(rows, found)
        kept = table.drop_columns(
            [n for n in table.column_names if n in self.query.columns or n in (ORDER, ARRIVAL)]
        )
        columns = {name: kept[name].take(pa.array(shown)) for name in kept.column_names}
        columns |= {name: rows.value(term, points) for name, term in self.query.terms.items()}
        columns[MATCH] = pa.array(points.matches)  # a table without columns has no rows
        answer = pa.table(columns)
        if self.query.rows is Rows.ALL_WITH_UNMATCHED:
            return self._with_unmatched(answer, shown, rows, found, kept)
        return answer

    def _points(self, rows: MatchedRows, found: Matches) -> tuple[Points, Any]:
        """Where values are wanted, and the row of the table that stands there."""
        if not self.query.all_rows:
            return rows.last_points(), found.starts
        steps = np.arange(len(found.labels)) - np.repeat(rows.begins, found.sizes) + 1
        matches = np.repeat(np.arange(len(found)), found.sizes)
        visible = ~self.program.excluded[found.labels]
        empty = (
            np.flatnonzero(found.sizes == 0)
            if self.query.rows is not Rows.ALL_OMIT_EMPTY
            else np.zeros(0, int)
        )
        matches = np.concatenate([matches[visible], empty])
        counted = np.concatenate([steps[visible], np.zeros(len(empty), np.int64)])
        shown = np.concatenate([rows.rows[visible], found.starts[empty]])
        order = np.argsort(matches, kind="stable")
        return Points(matches[order], counted[order]), shown[order]

    def _with_unmatched(
        self, answer: pa.Table, shown: Any, rows: MatchedRows, found: Matches, kept: pa.Table
    ) -> pa.Table:
        free = np.ones(kept.num_rows, np.bool_)
        free[rows.rows] = False
        free[found.starts] = False  # of an empty match too
        others = kept.take(pa.array(np.flatnonzero(free)))
        nothing = {name: pa.nulls(others.num_rows, answer[name].type) for name in self.query.terms}
        columns = {name: [answer[name], others[name]] for name in kept.column_names}
        columns |= {name: [answer[name], nothing[name]] for name in self.query.terms}
        columns[MATCH] = [answer[MATCH], pa.nulls(others.num_rows, pa.int64())]
        joined = pa.table({name: _joined(parts) for name, parts in columns.items()})
        unmatched = np.concatenate([np.zeros(answer.num_rows, np.bool_), np.ones(others.num_rows, np.bool_)])
        joined = joined.append_column(UNMATCHED, pa.array(unmatched))
        order = np.argsort(np.concatenate([shown, np.flatnonzero(free)]), kind="stable")
        return joined.take(pa.array(order))


def _joined(parts: list[Any]) -> pa.ChunkedArray:
    chunks = [c for part in parts for c in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
    return pa.chunked_array(chunks, chunks[0].type) if chunks else parts[0]


def partition_offsets(table: pa.Table, keys: int) -> Any:
    """Where partitions begin: at the first row, and where any column of the key changes."""
    rows = table.num_rows
    changed = np.zeros(rows, np.bool_)
    changed[:1] = True
    for i in range(keys):
        column = table[f"{KEY}{i}"].combine_chunks()
        if rows > 1:
            changed[1:] |= ~_same(column.slice(1), column.slice(0, rows - 1))
    return np.append(np.flatnonzero(changed), rows)


def _same(one: pa.Array, other: pa.Array) -> Any:
    """Null is a key like any other."""
    equal = pc.fill_null(pc.equal(one, other), False)
    both_null = pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(equal, both_null).to_numpy(zero_copy_only=False)


def times_of(table: pa.Table) -> Any:
    """Microseconds of the first column of ORDER BY."""
    column = table[ORDER].combine_chunks()
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = pc.cast(column, pa.timestamp("us", kind.tz))
    elif pa.types.is_date(kind):
        column = pc.cast(column, pa.timestamp("us"))
    else:
        raise InputMistake(
            "WITHIN needs a time: the first column of ORDER BY is none",
            code="within_without_time",
            hint="order by a timestamp or a date",
        )
    return pc.fill_null(pc.cast(column, pa.int64()), 0).to_numpy()


def term_type(term: RowTerm, kinds: dict[str, pa.DataType]) -> pa.DataType:
    """What a term's values are, given the types of the columns."""
    if isinstance(term, MatchNumber):
        return pa.int64()
    if isinstance(term, At):
        return pa.string() if term.column is None else kinds[term.column]
    assert isinstance(term, Over)
    if term.column is None:
        return pa.int64()
    return result_type(term.function, kinds[term.column])


def skipping_of(query: RowQuery) -> Skipping:
    name = query.skip.variable.name if query.skip.variable else ""
    shown = f"{query.skip.to.value.removeprefix('to ').upper()} {name}".strip()
    return Skipping(_MODES[query.skip.to], query.subsets.get(name, frozenset()), shown)
