"""State of many keys as a few segments, so that what is read and written is what changes, not what is there.

Each commit writes one segment with the keys that changed. The newest segments are merged with it while they are not
much bigger, so there are about log(n) of them and every key is written again about log(n) times in its life. The
newest segment that holds a key decides; a key that is gone leaves a mark until no older segment holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from cepheid.engines.network import Entry
from cepheid.engines.spark.segment import (
    DIGEST,
    NEVER,
    ROWS,
    Digests,
    Index,
    Mask,
    Numbers,
    ReadBlock,
    Segment,
    digests,
    joined,
    to_rows,
    together,
)
from cepheid.matching.shelf import Shelf
from cepheid.matching.snapshot import Kept


class Keeper(Protocol):
    """Who has keys in memory: a network of matchers, or sessions of rules."""

    def kept(self, entries: Iterable[Entry]) -> dict[Entry, Kept]: ...
    def put_away(self, entries: Iterable[Entry]) -> None: ...


class Columns(NamedTuple):
    """State of some keys as the kernel left it."""

    digests: Digests
    rows: pa.Table


NO_COLUMNS = Columns(np.array([], DIGEST), ROWS.empty_table())


class ColumnState(NamedTuple):
    """State of some keys as the kernel leaves it, in the order of their digests."""

    digests: Digests
    moments: Numbers
    gone: Mask
    rows: pa.Table


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
    """The state of keys that are not in memory. The reference matcher takes it from here key by key, the kernel in
    columns of many keys: a key is either one's or the other's."""

    def __init__(self, streams: Iterable[str]) -> None:
        names = list(streams)
        self.streams = {name: at for at, name in enumerate(names)}  # the reference matcher's rows
        self.columns = {name: at for at, name in enumerate(names, len(names))}  # the kernel's
        self.segments: list[Segment] = []  # the newest first
        self.unsaved: list[Segment] = []  # newer than those, and not written yet
        self.read: ReadBlock = _no_store
        self.horizon = -NEVER  # so far time will come in this micro-batch
        self.out: set[Entry] = set()  # taken since the last commit
        self.warm: set[Entry] = set()  # written by the last commit, and still in memory
        # The next moment of each stream, or an earlier one of a key taken since; None: to be looked up.
        self.moments: list[int] | None = None

    def _digests(self, entries: list[Entry]) -> Digests:
        return digests([key for _, key in entries], [self.streams[name] for name, _ in entries])

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
        (wanted,) = self._digests([entry])
        for segment in self._all:
            row = segment.index.at(wanted)
            if row is not None:
                break
        else:
            return None
        if segment.index.gone[row] or segment.passed_over[row]:
            return None
        if segment.index.streams[row] != self.streams[entry[0]]:
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
        for segment in self._all:
            found += self._taken(segment, segment.due(self.streams[name], until), name)
        self.moments = None
        return found

    def _taken(self, segment: Segment, rows: Numbers, name: str) -> list[Kept]:
        if not len(rows):
            return []
        found = segment.taken(rows, self.read)
        self.out.update((name, kept.key) for kept in found)
        return found

    # The kernel's keys.

    def take_columns(self, name: str, wanted: Digests) -> Columns:
        """The state of those among some keys that have any."""
        return self._take_columns([(s, s.held(self.columns[name], wanted)) for s in self._all])

    def take_columns_and_due(self, name: str, wanted: Digests, until: int) -> Columns:
        """Those, and all whose moment is before `until`. Where that is most of a segment, the whole of it: what lies
        together need not be picked, and nothing is left that would be merged. Others only see that time passes."""
        number = self.columns[name]
        some_due = self._next(number) < until
        places = []
        for segment in self._all:
            rows = segment.held(number, wanted)
            rows = _merged(rows, segment.due(number, until), len(segment.index)) if some_due else rows
            every = segment.due(number, None) if len(rows) else rows
            places.append((segment, every if 2 * len(rows) > len(every) else rows))
        return self._take_columns(places)

    def take_columns_due(self, name: str, until: int | None) -> Columns:
        """Of all whose moment is before `until`; None: of all."""
        number = self.columns[name]
        if until is not None and self._next(number) >= until:
            return NO_COLUMNS
        return self._take_columns([(s, s.due(number, until)) for s in self._all])

    def _take_columns(self, places: list[tuple[Segment, Numbers]]) -> Columns:
        places = [(segment, rows) for segment, rows in places if len(rows)]
        if not places:
            return NO_COLUMNS
        self.moments = None
        for segment, rows in places:
            segment.passed_over[rows] = True
        found = np.concatenate([segment.index.digests[rows] for segment, rows in places])
        return Columns(found, together([segment.rows(rows, self.read) for segment, rows in places]))

    def of_reference(self, name: str, wanted: Digests) -> Mask:
        """Which of some keys are the reference matcher's, and not in its memory."""
        found = np.zeros(len(wanted), np.bool_)
        for segment in self._all:
            if self.streams[name] not in segment.streams:
                continue
            rows = segment.held(self.streams[name], wanted)
            if len(rows):
                found |= np.isin(wanted, segment.index.digests[rows])
        return found

    def has_columns(self, name: str) -> bool:
        return any(len(s.due(self.columns[name], None)) for s in self._all)

    def has_columns_of(self, name: str, wanted: Digests) -> bool:
        return any(len(s.held(self.columns[name], wanted)) for s in self._all)

    def digests_of(self, name: str, keys: list[str]) -> Digests:
        return self._digests([(name, key) for key in keys])

    def put_columns(self, name: str, state: ColumnState) -> None:
        """What the kernel keeps from now on. Those that are gone leave marks."""
        if not len(state.digests):
            return
        streams = np.full(len(state.digests), self.columns[name], np.int32)
        index = Index(state.digests, np.where(state.gone, NEVER, state.moments), streams, state.gone)
        _pass_over(index.digests, self.unsaved)  # in those that are written it is done when this is
        self.unsaved.insert(0, Segment.of(0, index, state.rows))
        self.moments = None

    @property
    def _all(self) -> list[Segment]:
        return [*self.unsaved, *self.segments]

    # When something is due.

    def next_moment(self, name: str) -> int | None:
        found = self._next(self.streams[name])
        return None if found == NEVER else found

    def next_column_moment(self, name: str) -> int | None:
        found = self._next(self.columns[name])
        return None if found == NEVER else found

    def _next(self, stream: int) -> int:
        if self.moments is None:
            self.moments = self._first_moments()
        return self.moments[stream]

    def _first_moments(self) -> list[int]:
        first = np.full(2 * len(self.streams), NEVER)
        for segment in self._all:
            current = segment.current
            np.minimum.at(first, segment.index.streams[current], segment.index.moments[current])
        found: list[int] = first.tolist()
        return found

    # What is written.

    def commit(self, network: Keeper, touched: Iterable[Entry]) -> Writes:
        """Write what changed, together with the segments that are not much bigger."""
        changed = sorted({*touched, *self.out})
        state = network.kept(changed)
        self._put_away(network, sorted(self.warm.difference(changed)))
        writes = self._written(changed, state)
        self._in_memory(sorted(state), True)
        self.warm, self.out, self.moments = set(state), set(), None
        return writes

    def commit_columns(self) -> Writes:
        """The same where there is no reference matcher."""
        writes = self._written([], {})
        self.moments = None
        return writes

    def _put_away(self, network: Keeper, idle: list[Entry]) -> None:
        """Keys that changed last time and not now leave the memory: open runs of idle keys take little room."""
        network.put_away(idle)
        self._in_memory(idle, False)

    def _in_memory(self, entries: list[Entry], are: bool) -> None:
        """Those the last commit wrote: as long as they are in memory, nobody takes them from here."""
        if entries:
            newest = self.segments[0]
            newest.passed_over[newest.index.found(self._digests(entries))[1]] = are

    def clear(self) -> Writes:
        """Nothing is kept any more."""
        writes = Writes()
        self._drop(self.segments, writes)
        self.segments, self.unsaved = [], []
        self.warm, self.out, self.moments = set(), set(), None
        return writes

    def _written(self, changed: list[Entry], state: dict[Entry, Kept]) -> Writes:
        index, rows = self._own(changed, state)
        before = _pass_over(index.digests, self.segments)
        writes = Writes()
        size = int(np.count_nonzero(before | ~index.gone))  # a key that came and went was never written
        if not size:
            return writes
        merged = self._not_much_bigger(size)
        gone = [s for s in self.segments if s.passed_over.all()]
        dropped = [s for s in self.segments if s in merged or s in gone]
        rest = [s for s in self.segments if s not in dropped]
        # The number of one that is dropped is taken again: what is overwritten need not be deleted.
        number = max((s.number for s in rest), default=0) + 1
        if merged:
            index, rows = _in_order([(index, rows), *(self._still_counting(s) for s in merged)])
        index, rows = _without_idle_marks(index, rows, rest)
        self.segments = rest
        if len(index):
            self._put(Segment.of(number, index, rows), writes)
        self._drop(dropped, writes)
        return writes

    def _own(self, changed: list[Entry], state: dict[Entry, Kept]) -> tuple[Index, pa.Table]:
        """What changed, as rows; a key that is gone has a mark."""
        parts = [self._still_counting(segment) for segment in self.unsaved]
        parts += [self._of_reference(changed, state)] if changed or not parts else []
        self.unsaved = []
        return parts[0] if len(parts) == 1 else _alive_first(parts)

    def _of_reference(self, changed: list[Entry], state: dict[Entry, Kept]) -> tuple[Index, pa.Table]:
        kept = [state.get(entry) for entry in changed]
        index = Index(
            self._digests(changed),
            np.array([NEVER if k is None or k.moment is None else k.moment for k in kept], np.int64),
            np.array([self.streams[name] for name, _ in changed], np.int32),
            np.array([k is None for k in kept], np.bool_),
        )
        index, order = index.ordered()
        return index, to_rows([kept[i] for i in order])

    def _not_much_bigger(self, size: int) -> list[Segment]:
        """The newest segments, as long as each is at most twice what is written anyway. Some have nothing left."""
        merged: list[Segment] = []
        for segment in self.segments:
            own = int(np.count_nonzero(segment.current))
            if own > 2 * size:
                break
            merged += [segment] if own else []
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
            blocks = [(segment.number, at) for at in range(segment.block_count)]
            writes.delete_blocks += [place for place in blocks if place not in writes.blocks]
            writes.delete_indexes += [segment.number] if segment.number not in writes.indexes else []


@dataclass(frozen=True)
class StreamShelf:
    """The keys of one stream."""

    segments: Segments
    name: str

    def __bool__(self) -> bool:
        return bool(self.segments.segments or self.segments.unsaved)

    def take(self, key: str) -> Kept | None:
        return self.segments.take((self.name, key))

    def take_due(self, time: int) -> list[Kept]:
        return self.segments.take_due(self.name, time)

    def take_all(self) -> list[Kept]:
        return self.segments.take_all(self.name)

    def next_moment(self) -> int | None:
        return self.segments.next_moment(self.name)


def _merged(one: Numbers, other: Numbers, size: int) -> Numbers:
    """Places that are among some or others, in ascending order."""
    found = np.zeros(size, np.bool_)
    found[one] = found[other] = True
    return np.flatnonzero(found)


def _pass_over(changed: Digests, segments: list[Segment]) -> Mask:
    """Rows of these keys no longer count. The answer: which keys have any."""
    held = np.zeros(len(changed), np.bool_)
    for segment in segments:
        here, rows = segment.index.found(changed)
        segment.passed_over[rows] = True
        held |= here
    return held


def _in_order(parts: list[tuple[Index, pa.Table]]) -> tuple[Index, pa.Table]:
    index, order = joined([index for index, _ in parts]).ordered()
    return index, together([rows for _, rows in parts]).take(order).combine_chunks()


def _alive_first(parts: list[tuple[Index, pa.Table]]) -> tuple[Index, pa.Table]:
    """A key that went from one matcher to the other in one micro-batch is gone in one part, alive in the other."""
    both = joined([index for index, _ in parts])
    order = np.lexsort((both.gone, both.digests))
    first = np.ones(len(order), np.bool_)
    first[1:] = both.digests[order[1:]] != both.digests[order[:-1]]
    order = order[first]
    return both.rows(order), together([rows for _, rows in parts]).take(order).combine_chunks()


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
