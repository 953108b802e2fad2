"""State of many keys as a few segments, so that what is read and written is what changes, not what is there.

Each commit writes one segment with the keys that changed. The newest segments are merged with it while they are not
much bigger, so there are about log(n) of them and every key is written again about log(n) times in its life. The
newest segment that holds a key decides; a key that is gone leaves a mark until no older segment holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.engines.network import Entry, Network
from cepheid.engines.spark.segment import (
    NEVER,
    Digests,
    Index,
    Mask,
    Numbers,
    ReadBlock,
    Segment,
    digest,
    digests,
    joined,
    to_rows,
)
from cepheid.matching.shelf import Shelf
from cepheid.matching.snapshot import Kept


@dataclass
class Writes:
    """What a commit changes in the store: indexes by segment, rows by segment and block."""

    indexes: dict[int, bytes] = field(default_factory=dict)
    blocks: dict[tuple[int, int], bytes] = field(default_factory=dict)
    delete_indexes: list[int] = field(default_factory=list)
    delete_blocks: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        """Bytes."""
        return sum(map(len, self.indexes.values())) + sum(map(len, self.blocks.values()))


class Segments:
    """The state of a network's keys that are not in memory. Its streams take it from here, key by key."""

    def __init__(self, streams: Iterable[str]) -> None:
        self.streams = {name: at for at, name in enumerate(streams)}
        self.segments: list[Segment] = []  # the newest first
        self.read: ReadBlock = _no_store
        self.horizon = -NEVER  # so far time will come in this micro-batch
        self.out: set[Entry] = set()  # taken since the last commit
        self.warm: set[Entry] = set()  # written by the last commit, and still in memory
        # The next moment of each stream, or an earlier one of a key taken since; None: to be looked up.
        self.moments: list[int] | None = None

    def __len__(self) -> int:
        """How many keys, those in memory among them."""
        lying = sum(int(np.count_nonzero(s.current & ~s.index.gone)) for s in self.segments)
        return lying + len(self.warm)

    def load(self, indexes: Iterable[tuple[int, bytes]]) -> None:
        """What the store has. No block is read for it."""
        found = sorted(indexes, reverse=True)
        self.segments = [Segment.of(number, Index.unpacked(body)) for number, body in found]
        for at, newer in enumerate(self.segments):
            _pass_over(newer.index.digests, self.segments[at + 1 :])

    def shelf(self, name: str) -> Shelf:
        return StreamShelf(self, name)

    # What is taken.

    def take(self, entry: Entry) -> Kept | None:
        wanted = digest(entry)
        for segment in self.segments:
            row = segment.index.at(wanted)
            if row is not None:
                break
        else:
            return None
        if segment.index.gone[row] or segment.passed_over[row]:
            return None
        (kept,) = self._taken(segment, np.array([row]), entry[0])
        return kept

    def take_due(self, name: str, time: int) -> list[Kept]:
        if self._next(self.streams[name]) >= time:
            return []
        # All that will be due in this micro-batch, so that they are looked for once.
        until = max(time, self.horizon)
        return self._take_each(name, until)

    def take_all(self, name: str) -> list[Kept]:
        return self._take_each(name, None)

    def _take_each(self, name: str, until: int | None) -> list[Kept]:
        found: list[Kept] = []
        for segment in self.segments:
            index = segment.index
            wanted = segment.current & ~index.gone & (index.streams == self.streams[name])
            wanted &= index.moments < until if until is not None else True
            found += self._taken(segment, np.flatnonzero(wanted), name)
        self.moments = None
        return found

    def _taken(self, segment: Segment, rows: Numbers, name: str) -> list[Kept]:
        if not len(rows):
            return []
        found = segment.taken(rows, self.read)
        self.out.update((name, kept.key) for kept in found)
        return found

    # When something is due.

    def next_moment(self, name: str) -> int | None:
        found = self._next(self.streams[name])
        return None if found == NEVER else found

    def _next(self, stream: int) -> int:
        if self.moments is None:
            self.moments = self._first_moments()
        return self.moments[stream]

    def _first_moments(self) -> list[int]:
        first = np.full(len(self.streams), NEVER)
        for segment in self.segments:
            current = segment.current
            np.minimum.at(first, segment.index.streams[current], segment.index.moments[current])
        found: list[int] = first.tolist()
        return found

    # What is written.

    def commit(self, network: Network, touched: Iterable[Entry]) -> Writes:
        """Write what changed, together with the segments that are not much bigger."""
        changed = sorted({*touched, *self.out})
        state = network.kept(changed)
        self._put_away(network, sorted(self.warm.difference(changed)))
        writes = self._written(changed, state)
        self._in_memory(sorted(state), True)
        self.warm, self.out, self.moments = set(state), set(), None
        return writes

    def _put_away(self, network: Network, idle: list[Entry]) -> None:
        """Keys that changed last time and not now leave the memory: open runs of idle keys take little room."""
        network.put_away(idle)
        self._in_memory(idle, False)

    def _in_memory(self, entries: list[Entry], are: bool) -> None:
        """Those the last commit wrote: as long as they are in memory, nobody takes them from here."""
        if entries:
            newest = self.segments[0]
            newest.passed_over[newest.index.found(digests(entries))[1]] = are

    def clear(self) -> Writes:
        """Nothing is kept any more."""
        writes = Writes()
        self._drop(self.segments, writes)
        self.segments, self.warm, self.out, self.moments = [], set(), set(), None
        return writes

    def _written(self, changed: list[Entry], state: dict[Entry, Kept]) -> Writes:
        index, rows = self._own(changed, state)
        writes = Writes()
        if not len(index):
            return writes
        number = max((s.number for s in self.segments), default=0) + 1
        merged = self._not_much_bigger(len(index))
        gone = [s for s in self.segments if s.passed_over.all()]
        self._drop([s for s in self.segments if s in merged or s in gone], writes)
        rest = [s for s in self.segments if s not in merged and s not in gone]
        index, rows = _together([(index, rows), *(self._still_counting(s) for s in merged)])
        index, rows = _without_idle_marks(index, rows, rest)
        self.segments = rest
        if len(index):
            self._put(Segment.of(number, index, rows), writes)
        return writes

    def _own(self, changed: list[Entry], state: dict[Entry, Kept]) -> tuple[Index, pa.Table]:
        """What changed, as rows; a key that is gone leaves a mark if it was written before."""
        own = digests(changed)
        before = _pass_over(own, self.segments)
        kept = [state.get(entry) for entry in changed]
        gone = np.array([k is None for k in kept], np.bool_)
        index = Index(
            own,
            np.array([NEVER if k is None or k.moment is None else k.moment for k in kept], np.int64),
            np.array([self.streams[name] for name, _ in changed], np.int32),
            gone,
        )
        which = np.flatnonzero(before | ~gone)
        return index.rows(which), to_rows([kept[i] for i in which])

    def _not_much_bigger(self, size: int) -> list[Segment]:
        """The newest segments, as long as each is at most twice what is written anyway."""
        merged: list[Segment] = []
        for segment in self.segments:
            own = int(np.count_nonzero(segment.current))
            if own > 2 * size:
                break
            merged.append(segment)
            size += own
        return merged

    def _still_counting(self, segment: Segment) -> tuple[Index, pa.Table]:
        which = np.flatnonzero(segment.current)
        return segment.index.rows(which), segment.rows(which, self.read)

    def _put(self, segment: Segment, writes: Writes) -> None:
        self.segments.insert(0, segment)
        writes.indexes[segment.number] = segment.index.packed()
        writes.blocks.update({(segment.number, at): body for at, body in segment.bodies()})

    def _drop(self, segments: list[Segment], writes: Writes) -> None:
        for segment in segments:
            writes.delete_indexes.append(segment.number)
            writes.delete_blocks += [(segment.number, at) for at in range(segment.block_count)]


@dataclass(frozen=True)
class StreamShelf:
    """The keys of one stream."""

    segments: Segments
    name: str

    def __bool__(self) -> bool:
        return bool(self.segments.segments)

    def take(self, key: str) -> Kept | None:
        return self.segments.take((self.name, key))

    def take_due(self, time: int) -> list[Kept]:
        return self.segments.take_due(self.name, time)

    def take_all(self) -> list[Kept]:
        return self.segments.take_all(self.name)

    def next_moment(self) -> int | None:
        return self.segments.next_moment(self.name)


def _pass_over(changed: Digests, segments: list[Segment]) -> Mask:
    """Rows of these keys no longer count. The answer: which keys have any."""
    held = np.zeros(len(changed), np.bool_)
    for segment in segments:
        here, rows = segment.index.found(changed)
        segment.passed_over[rows] = True
        held |= here
    return held


def _together(parts: list[tuple[Index, pa.Table]]) -> tuple[Index, pa.Table]:
    index, order = joined([index for index, _ in parts]).ordered()
    return index, pa.concat_tables([rows for _, rows in parts]).take(order).combine_chunks()


def _without_idle_marks(index: Index, rows: pa.Table, older: list[Segment]) -> tuple[Index, pa.Table]:
    """A mark counts only while an older segment holds its key."""
    needed = ~index.gone
    for segment in older:
        needed |= segment.index.found(index.digests)[0]
    return (index, rows) if needed.all() else (index.rows(needed), rows.filter(pa.array(needed)))


def _no_store(segment: int, block: int) -> bytes:
    raise AssertionError(
        f"block {block} of segment {segment} is wanted, and there is no store to read it from"
    )
