"""A table of sorted rows in, a table of matches out: what DuckDB and a Spark task both call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.sql.all_matched import all_matched, all_matched_fields
from cepheid.errors import CepheidError, InputMistake
from cepheid.matching.rows.aggregates import result_type
from cepheid.matching.rows.found import (
    NEVER,
    PAST_LAST,
    TO_FIRST,
    TO_LAST,
    TO_NEXT,
    Matches,
    OpenEnds,
    Skipping,
)
from cepheid.matching.rows.match import match_rows
from cepheid.matching.rows.program import RowProgram, compile_rows
from cepheid.matching.rows.terms import MatchedRows, Points
from cepheid.pattern.row_terms import At, MatchNumber, Over, RowTerm, furthest
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

    def matched(self, table: pa.Table, first_group: int = 0) -> pa.Table:
        """Whole partitions, each in order. Out come the kept columns of each row that is shown, and the terms.

        If aggregates are left to the database, all rows of the matches come out.
        """
        try:
            return self._matched(table, first_group)
        except CepheidError as mistake:
            mistake.place = mistake.place or self.query.place_of(mistake)
            raise

    def _matched(self, table: pa.Table, first_group: int) -> pa.Table:
        _check_names(self.query, table.column_names)
        offsets = partition_offsets(table, len(self.query.partition_by))
        rows = MatchedRows(self.program, table, offsets, self._found(table, offsets))
        if self.query.left:
            return all_matched(self.query, rows, self._kept(table), first_group)
        return self._answer(rows)

    def matched_so_far(self, table: pa.Table, offsets: Any, ends: OpenEnds) -> tuple[pa.Table, Matches]:
        """What is certain of partitions of which more rows may come: the same columns, and the matches they are of."""
        found = self._found(table, offsets, ends)
        found = self._measured(MatchedRows(self.program, table, offsets, found))
        return self._answer(MatchedRows(self.program, table, offsets, found, ends.counts)), found

    def _found(self, table: pa.Table, offsets: Any, ends: OpenEnds | None = None) -> Matches:
        within = self.query.within
        times = times_of(table) if within is not None else None
        return match_rows(
            self.program, self.query.conditions, table, offsets, self.skipping, times, within, ends=ends
        )

    def _measured(self, rows: MatchedRows) -> Matches:
        """Without the matches whose measures look at rows that are not there yet, and those after them."""
        found = rows.matches
        if not furthest(self.query.terms.values(), 1):
            return found
        points, _ = self._points(rows)
        asks = np.zeros(len(found), np.bool_)
        for term in self.query.terms.values():
            asks[points.matches[rows.asks(term, points)]] = True
        waits = found.waits.copy()
        waiting, first = np.unique(found.partitions[asks], return_index=True)
        waits[waiting] = found.starts[asks][first]
        settled = np.full(len(waits), NEVER)
        settled[waiting] = np.flatnonzero(asks)[first]
        return found.only(np.arange(len(found)) < settled[found.partitions], waits)

    def _answer(self, rows: MatchedRows) -> pa.Table:
        table, found = rows.table, rows.matches
        kept = self._kept(table)
        points, shown = self._points(rows)
        columns = {name: kept[name].take(pa.array(shown)) for name in kept.column_names}
        columns |= {name: rows.value(term, points) for name, term in self.query.terms.items()}
        columns[MATCH] = pa.array(points.matches)  # a table without columns has no rows
        answer = pa.table(columns)
        if self.query.rows is Rows.ALL_WITH_UNMATCHED:
            return self._with_unmatched(answer, shown, rows, found, kept)
        return answer

    def _kept(self, table: pa.Table) -> pa.Table:
        return table.drop_columns(
            [n for n in table.column_names if n in self.query.columns or n in (ORDER, ARRIVAL)]
        )

    def _points(self, rows: MatchedRows) -> tuple[Points, Any]:
        """Where values are wanted, and the row of the table that stands there."""
        found = rows.matches
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


def _check_names(query: RowQuery, names: list[str]) -> None:
    """A column of the table with a name of ours would be lost."""
    ours = {*query.terms, MATCH, UNMATCHED, *(n for n, _ in all_matched_fields(query, {}))} - {*query.columns}
    taken = next((n for i, n in enumerate(names) if n in ours or n in names[:i]), None)
    if taken is not None:
        raise InputMistake(
            f"two columns are called `{taken}`: the table has another, or the name is one of those used inside",
            code="reserved_column",
            hint="rename it in a subquery that MATCH_RECOGNIZE reads",
        )


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
    if pa.types.is_floating(one.type):  # and so is NaN
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(one), pc.is_nan(other)), False))
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
