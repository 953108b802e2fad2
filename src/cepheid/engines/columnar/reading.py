"""Reading: pieces of the input by several threads, tested, and only what matching needs is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

import pyarrow as pa

from cepheid.engines.columnar.event_batch import EventBatch
from cepheid.engines.columnar.groups import Group
from cepheid.engines.columnar.kept import FIELD, ORDER
from cepheid.engines.columnar.per_event import TestedBatch
from cepheid.engines.columnar.picking import places
from cepheid.engines.columnar.scan import Batch, Piece, Scan
from cepheid.engines.local.events import Columns


@dataclass
class PieceRead:
    """What a piece held."""

    piece: Piece
    kept: list[list[pa.RecordBatch]]  # of each group
    events: int = 0
    last: int | None = None  # the latest time
    types: set[str] = field(default_factory=set)
    bad: list[int] = field(default_factory=list)  # rows that are no events, in the piece


class PieceReader:
    """Reads a piece for all groups."""

    def __init__(self, groups: Sequence[Group], scan: Scan, columns: Columns) -> None:
        self.groups, self.columns = groups, columns
        own = [columns.time, *([columns.type] if columns.type in scan.types else []), *columns.order]
        self.names = list(dict.fromkeys([*own, *(n for g in groups for n in g.fields)]))
        everything = any(group.bits.sees_all for group in groups)
        self.types = None if everything else frozenset(name for group in groups for name in group.types)

    def read(self, piece: Piece) -> PieceRead:
        found = PieceRead(piece, [[] for _ in self.groups])
        for batch in piece.read(self.names):
            self._take(batch, found)
        return found

    def _take(self, batch: Batch, found: PieceRead) -> None:
        events = EventBatch.of(batch, self.columns, self.types)
        times = events.times
        if not events.good.all():
            found.bad += (events.bad + (batch.first - found.piece.first)).tolist()
            times = times[events.good]
        if not len(times):
            return
        found.events += len(times)
        last = int(times.max())
        found.last = last if found.last is None else max(found.last, last)
        found.types |= events.types
        tested = TestedBatch(events)
        for group, kept in zip(self.groups, found.kept, strict=True):
            kept.append(_kept(group, tested, found.piece, self.columns))


def _kept(group: Group, tested: TestedBatch, piece: Piece, columns: Columns) -> pa.RecordBatch:
    """The rows a group needs, as it keeps them."""
    batch = tested.batch
    bits, wanted = group.bits.look_at(tested)
    rows, kinds = batch.rows, batch.kinds.numbers(group.types)
    if not wanted.all():
        at = places(wanted)
        rows, kinds, bits = rows.take(at), kinds.take(at), [b.take(at) for b in bits]
    arrivals = rows + (piece.before + batch.batch.first - piece.first)
    every = len(rows) == len(batch.times)
    arrays = [pa.array(a) for a in (batch.times if every else batch.times.take(rows), arrivals, kinds, *bits)]
    taken = batch.fields(None if every else rows)
    names = [*columns.order, *group.fields]
    schema = group.schema
    for name, column in zip(names, list(schema)[len(arrays) :], strict=True):
        assert column.name in (FIELD + name, *(f"{ORDER}{i}" for i in range(len(columns.order))))
        values = taken[name]
        arrays.append(values if values.type == column.type else values.cast(column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def read_all(
    scan: Scan, read: Callable[[Piece], PieceRead], pool: Executor, threads: int
) -> Iterator[PieceRead]:
    """What the pieces held, in their order; never more of them in memory than the threads work on."""
    if threads == 1:
        yield from map(read, scan.pieces)
        return
    waiting: deque[Future[PieceRead]] = deque()
    for piece in scan.pieces:
        waiting.append(pool.submit(read, piece))
        if len(waiting) > 2 * threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
