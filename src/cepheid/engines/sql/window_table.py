"""A table of sorted rows in, for each row its match in the frame out: what DuckDB and a Spark task both call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.sql.matched_table import partition_offsets, skipping_of, times_of
from cepheid.errors import EvaluationError
from cepheid.matching.rows.frames import FrameMatches, Frames, match_in_frames
from cepheid.matching.rows.program import RowProgram, compile_rows
from cepheid.matching.rows.terms import MatchedRows, Points
from cepheid.pattern.row_terms import At, RowTerm
from cepheid.sql_lang.asking import made_for_us
from cepheid.sql_lang.clause import Search
from cepheid.sql_lang.window_query import FRAME_END, WindowQuery

MATCHED, GROUP = "__matched", "__group"  # has the row a match, empty or not? Which rows are asked together?


@dataclass(frozen=True)
class Members:
    """The rows of matches, by the group that asks for them."""

    groups: Any
    nth: Any  # from 1
    last: Any
    rows: Any  # of the table


class WindowMatching:
    """A window made ready; `matched` may be called for many tables."""

    def __init__(self, window: WindowQuery) -> None:
        self.window = window
        self.program: RowProgram = compile_rows(window.query.pattern)
        self.skipping = skipping_of(window.query)

    def matched(self, table: pa.Table) -> tuple[pa.Table, Members]:
        """Whole partitions, each in order. Of each row the columns that are not ours, the terms, MATCHED and GROUP."""
        query = self.window.query
        offsets = partition_offsets(table, len(query.partition_by))
        frames = self._frames(table, offsets)
        times = times_of(table) if query.within is not None else None
        found = match_in_frames(
            self.program, query.conditions, table, offsets, frames, self.skipping, times, query.within
        )
        rows = MatchedRows(self.program, table, offsets, found.matches)
        ours = made_for_us(query)
        columns = {name: table[name] for name in table.column_names if name not in ours}
        columns |= {name: _values(rows, term, found, frames) for name, term in query.terms.items()}
        columns[MATCHED] = pa.array(found.of_row >= 0)
        groups, members = _groups(rows, found)
        columns[GROUP] = pa.array(groups)
        return pa.table(columns), members

    def _frames(self, table: pa.Table, offsets: Any) -> Frames:
        ends, seek = np.repeat(offsets[1:], np.diff(offsets)), self.window.search is Search.SEEK
        if not self.window.bounded:
            return Frames(ends, False, seek)
        rows = np.arange(table.num_rows)
        return Frames(rows + np.minimum(_counts(table[FRAME_END]), ends - rows - 1) + 1, True, seek)


def _counts(column: pa.ChunkedArray) -> Any:
    """How many rows further on each frame ends."""
    try:
        counts = pc.cast(column, pa.int64()).combine_chunks()
    except pa.ArrowInvalid:
        counts = None
    if counts is None or counts.null_count or (len(counts) and pc.min(counts).as_py() < 0):
        raise EvaluationError(
            "the end of a frame must be a whole number of rows that is not negative",
            code="bad_frame_end",
            hint="look at what stands before FOLLOWING",
        )
    return counts.to_numpy(zero_copy_only=False)


def _values(rows: MatchedRows, term: RowTerm, found: FrameMatches, frames: Frames) -> pa.Array:
    """For each row of the table; null where there is no match."""
    has = found.of_row >= 0
    if not (isinstance(term, At) and term.shift):
        return rows.value(term, rows.last_points()).take(pa.array(found.of_row, mask=~has))
    # What lies beside a match is seen only within the frame, and each row has its own.
    which, at = found.of_row[has], np.flatnonzero(has)
    points = Points(which, found.matches.sizes[which], at, frames.ends[at])
    return rows.value(term, points).take(pa.array(np.cumsum(has) - 1, mask=~has))


def _groups(rows: MatchedRows, found: FrameMatches) -> tuple[Any, Members]:
    """Rows with the same match are one group, any other is one by itself."""
    matches = found.matches
    alone = len(matches) + np.arange(len(found.of_row))
    groups = np.where(found.of_row >= 0, found.of_row, alone)
    nth = np.arange(len(matches.labels)) - np.repeat(rows.begins, matches.sizes) + 1
    sizes = np.repeat(matches.sizes, matches.sizes)
    return groups, Members(np.repeat(np.arange(len(matches)), matches.sizes), nth, nth == sizes, rows.rows)
