"""The partitions of a bucket that are not done: the rows from where each waits on, and what it needs of those before.

A partition waits at the first row from which a match is not decided. Rows before it are dropped, but for those that
PREV may look at. How many matches there were, and whether rows were dropped, is kept only if the statement asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.spark.keyed_rows import KeyedRows
from cepheid.engines.spark.partition_rows import concatenated
from cepheid.engines.spark.reading import one_array
from cepheid.engines.spark.segment import DIGEST, NEVER
from cepheid.engines.spark.segments import Columns, ColumnState, Segments
from cepheid.engines.sql.matched_table import RowMatching, times_of
from cepheid.matching.rows.found import Matches, OpenEnds
from cepheid.matching.rows.program import START
from cepheid.pattern.row_terms import MatchNumber, furthest

STREAM = "rows"  # the only one of the segments
_COUNT, _CUT, _START, _ROWS = "count", "cut", "start", "rows"


@dataclass(frozen=True)
class _Gathered:
    """Partitions in the order of their digests, with all their rows that are known."""

    rows: KeyedRows
    ends: OpenEnds


class OpenPartitions:
    def __init__(self, matching: RowMatching, segments: Segments) -> None:
        self.matching, self.segments = matching, segments
        query = matching.query
        terms = [*query.terms.values(), *(t for c in query.conditions.values() for t in c.terms.values())]
        self.back = furthest(terms, -1)
        self.numbered = any(isinstance(term, MatchNumber) for term in terms)
        self.anchored = bool((matching.program.ops == START).any())

    def on_rows(self, fresh: KeyedRows | None, reached: int) -> tuple[pa.Table, int] | None:
        """New rows, behind all that came before, and the time before which none comes any more. The answer is what
        became certain, and of how many matches it is; None if nothing was looked at."""
        wanted = np.array([], DIGEST) if fresh is None else fresh.digests
        taken = self.segments.take_columns_and_due(STREAM, wanted, reached)
        if not len(wanted) and not len(taken.digests):
            return None
        gathered = _gathered(fresh, taken, reached)
        rows = gathered.rows
        answer, found = self.matching.matched_so_far(rows.table, rows.offsets, gathered.ends)
        self._keep(gathered, found)
        return answer, len(found)

    def next_look(self) -> int | None:
        return self.segments.next_column_moment(STREAM)

    # What is kept.

    def _keep(self, gathered: _Gathered, found: Matches) -> None:
        rows, ends = gathered.rows, gathered.ends
        begins, stops = rows.offsets[:-1], rows.offsets[1:]
        first = np.maximum(begins, found.waits - self.back)
        counts = ends.counts + np.bincount(found.partitions, minlength=len(begins))
        cut = ends.cut | (first > begins)
        gone = first == stops
        gone &= (counts == 0) if self.numbered else True
        gone &= ~cut if self.anchored else True
        kept = {
            _COUNT: pa.array(counts),
            _CUT: pa.array(cut),
            _START: pa.array(found.waits - first),
            _ROWS: _lists(rows.table, first, stops, gone),
        }
        moments = self._moments(gathered, found)
        self.segments.put_columns(STREAM, ColumnState(rows.digests, moments, gone, pa.table(kept)))

    def _moments(self, gathered: _Gathered, found: Matches) -> Any:
        """When a partition is decided without a further row: its match would last too long."""
        rows, within = gathered.rows, self.matching.query.within
        moments = np.full(len(rows.digests), NEVER)
        if within is None:
            return moments
        waiting = found.waits < rows.offsets[1:]
        moments[waiting] = times_of(rows.table)[found.waits[waiting]] + within
        moments[moments < gathered.ends.reached] = NEVER  # it waits for a row, as NEXT does
        return moments


def _gathered(fresh: KeyedRows | None, taken: Columns, reached: int) -> _Gathered:
    digests = taken.digests if fresh is None else np.concatenate([taken.digests, fresh.digests])
    digests = np.unique(digests)
    size = len(digests)
    counts, starts, cut = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.bool_)
    tables, numbers = [], []
    if len(taken.digests):
        which = np.searchsorted(digests, taken.digests)
        lists = one_array(taken.rows[_ROWS])
        tables.append(_table(lists))
        numbers.append(np.repeat(which, np.diff(lists.offsets.to_numpy())))
        counts[which] = taken.rows[_COUNT].to_numpy()
        starts[which] = taken.rows[_START].to_numpy()
        cut[which] = taken.rows[_CUT].to_numpy()
    if fresh is not None:
        tables.append(fresh.table)
        numbers.append(np.repeat(np.searchsorted(digests, fresh.digests), np.diff(fresh.offsets)))
    of_row = np.concatenate(numbers)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=size))])
    table = concatenated(tables).take(np.argsort(of_row, kind="stable")).combine_chunks()
    ends = OpenEnds(offsets[:-1] + starts, cut, counts, reached)
    return _Gathered(KeyedRows(table, digests, offsets), ends)


def _lists(table: pa.Table, first: Any, stops: Any, gone: Any) -> pa.Array:
    """For each partition its rows from one on, as a list; null if it is gone."""
    sizes = stops - first
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(first, sizes)
    columns = [one_array(column.take(rows)) for column in table.columns]
    struct = pa.StructArray.from_arrays(columns, fields=list(table.schema))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), struct, mask=pa.array(gone))


def _table(lists: pa.ListArray) -> pa.Table:
    flat = lists.flatten()
    return pa.table(flat.flatten(), schema=pa.schema(list(flat.type)))
