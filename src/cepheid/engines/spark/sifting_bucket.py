"""One bucket of partitioned graphs in a stream: edges that wait for the watermark, a sifter for each partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.segment import DIGEST, NEVER
from cepheid.engines.spark.segments import ColumnState, Segments
from cepheid.engines.spark.sifting_rows import (
    EdgeRow,
    Partition,
    check_rows,
    edge_rows,
    found_table,
    happening_row,
    in_partitions,
    match_row,
    too_late_row,
)
from cepheid.engines.spark.sifting_work import CLOSES, END, HAPPENINGS, START, TIME, TOO_LATE, SiftingWork
from cepheid.engines.spark.table_bucket import TableBucket
from cepheid.errors import InputMistake, TooLate
from cepheid.graph.happenings import Happening
from cepheid.graph.saving import state_of, with_state
from cepheid.graph.sifter import Sifter
from cepheid.matching.values import dump, load
from cepheid.pattern.times import from_microseconds
from cepheid.time.lateness import TooLatePolicy

STREAM = "graphs"  # the only one of the segments
_KEY, _MOMENT, _STATE = "key", "moment", "state"


class Kept(NamedTuple):
    """A graph as it is kept: its partition, when it has something to say without an edge, its sifter."""

    key: str
    moment: int
    state: str


@dataclass
class SiftingBucket(TableBucket):
    time: ClassVar[str] = TIME
    setting: ClassVar[str] = "buckets="

    told: list[dict[str, Any]] = field(default_factory=list)  # in this micro-batch

    @classmethod
    def started(cls, work: SiftingWork, number: int) -> Self:
        return cls(work, number, Segments([STREAM]))

    # Edges that come.

    def _judged(self, rows: pa.Table) -> pa.Table:
        """Whether an edge comes in time is known now; whether there is one for a row to end, when that is due."""
        check_rows(rows, self.work)
        rows = _with_closes(rows, self.work, self.watermark)
        if self.watermark is None:
            return rows
        late = self.times(rows) < self.watermark
        self._too_late(rows.filter(pa.array(late)))
        return rows.filter(pa.array(~late))

    def _too_late(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        keys = zip(*(rows[name].to_pylist() for name in self.work.key_names()), strict=True)
        partitions = list(keys) or [()] * rows.num_rows
        for key, row in zip(partitions, edge_rows(rows, self.work), strict=True):
            reached = from_microseconds(self.watermark or 0).isoformat()
            self._lost(key, row, f"it came when the watermark was {reached.replace('+00:00', 'Z')}")

    def _lost(self, key: tuple[Any, ...], row: EdgeRow, reason: str) -> None:
        """An edge that comes too late is counted, and told or an error."""
        self.counts.too_late += 1
        edge = row.edge
        if self.work.policy is TooLatePolicy.FAIL:
            raise TooLate(
                f"the edge {edge.source} -{edge.label}-> {edge.target} came too late: {reason}",
                hint='raise `disorder`, or say too_late="drop" or too_late="dead_letter"',
            )
        if TOO_LATE in self.work.kinds:
            self.told.append(too_late_row(key, row, reason, self.work))

    # Edges that are due.

    def _certain(self, due: pa.Table | None, reached: int) -> pa.Table | None:
        partitions = {} if due is None else {p.digest: p for p in in_partitions(due, self.work)}
        wanted = np.array(sorted(partitions), DIGEST)
        kept = self._taken(wanted, reached)
        new = {digest: self._sifted(digest, partitions, kept, reached) for digest in {*partitions, *kept}}
        if new:
            self._put(dict(sorted(new.items())))
        told, self.told = self.told, []
        return found_table(told, self.work) if told else None

    def _taken(self, wanted: Any, reached: int) -> dict[bytes, Kept]:
        """Graphs that get edges, and those whose moment has come."""
        taken = self.segments.take_columns_and_due(STREAM, wanted, reached)
        columns = (
            (taken.rows[name].to_pylist() for name in (_KEY, _MOMENT, _STATE)) if len(taken.digests) else ()
        )
        rows = [Kept(*row) for row in zip(*columns, strict=True)]
        return dict(zip(taken.digests.tolist(), rows, strict=True))

    def _sifted(
        self, digest: bytes, partitions: dict[bytes, Partition], kept: dict[bytes, Kept], reached: int
    ) -> Kept:
        before, partition = kept.get(digest), partitions.get(digest)
        if partition is None:
            assert before is not None
            if before.moment >= reached:
                return before  # taken only because it lay beside others
            partition = Partition(digest, tuple(load(before.key)), [])
        watch = self.work.watch
        sifter = Sifter(watch) if before is None else with_state(watch, before.state)
        happenings = [h for row in partition.rows for h in self._fed(sifter, partition.key, row)]
        happenings += sifter.advance(reached)
        self._tell(partition.key, sifter, happenings)
        moment = sifter.next_moment()
        return Kept(dump(list(partition.key)), NEVER if moment is None else moment, state_of(sifter))

    def _fed(self, sifter: Sifter, key: tuple[Any, ...], row: EdgeRow) -> Iterator[Happening]:
        if row.edge.tick < sifter.tick:
            raise InputMistake(
                f"an edge of the stream is of tick {row.edge.tick}, but an earlier one was of tick {sifter.tick}",
                code="ticks_go_back",
                hint="ticks must not become less as time goes on; rows that say that an edge ends have a `time` of "
                "their own, and the tick of that time",
            )
        while self.work.ticks and sifter.tick < row.edge.tick:
            yield from sifter.end_tick()[1]
        if not row.closes:
            yield from sifter.add(row.edge)
            return
        number = sifter.edges.number(row.edge)
        if number is None:
            self._lost(key, row, "it says that an edge ends which is not there")
        elif sifter.edges[number].end != row.time:
            sifter.edges.check_end(number, row.time)
            yield from sifter.close(number, row.time)

    def _tell(self, key: tuple[Any, ...], sifter: Sifter, happenings: list[Happening]) -> None:
        matches = sifter.drain_completed()
        self.counts.matches += len(matches)
        self.told += [match_row(key, match, sifter.edges, self.work) for match in matches]
        wanted = self.work.kinds.intersection(HAPPENINGS)
        others = (h for h in happenings if type(h).__name__.lower() in wanted)
        self.told += [happening_row(key, h, self.work) for h in others]
        sifter.forget_tick()

    def _put(self, kept: dict[bytes, Kept]) -> None:
        columns = list(zip(*kept.values(), strict=True))
        rows = pa.table(
            {
                _KEY: pa.array(columns[0], pa.string()),
                _MOMENT: pa.array(columns[1], pa.int64()),
                _STATE: pa.array(columns[2], pa.large_string()),
            }
        )
        digests = np.array(list(kept), DIGEST)
        moments = np.array(columns[1], np.int64)
        gone = np.zeros(len(kept), np.bool_)
        self.segments.put_columns(STREAM, ColumnState(digests, moments, gone, rows))

    def _next_moment(self) -> int | None:
        return self.segments.next_column_moment(STREAM)


def _with_closes(rows: pa.Table, work: SiftingWork, watermark: int | None) -> pa.Table:
    """Which rows say that an edge ends, and when each is due.

    By its own time a row is about the start of its edge or about its end. Where the time is the start, a row whose edge
    has started before the watermark, but ends after it, can only be about the end.
    """
    starts = rows[START].to_numpy()
    times = rows[TIME].to_numpy()
    ends = pc.fill_null(rows[END], -NEVER).to_numpy() if work.ends else np.full(len(times), -NEVER)
    if work.time_is_start:
        closes = (
            (times < watermark) & (ends >= watermark) if watermark is not None else np.zeros(len(times), bool)
        )
        times = np.where(closes, ends, times)
    else:
        closes = times != starts
        if (closes & (times != ends)).any():
            raise InputMistake(
                "the time of an edge of the stream is neither its start nor its end",
                code="bad_row",
                hint="the time is the start of an edge that begins, and the end of one that ends",
            )
    place = rows.column_names.index(TIME)
    return rows.set_column(place, TIME, pa.array(times)).append_column(CLOSES, pa.array(closes))
