"""One segment: the state of some keys, in the order of their digests.

The rows lie in blocks, each a value of its own in the store; beside them lies a small index of all rows. The index
tells where a key is and when it is due, so that of a big segment only the blocks are read that are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.matching.snapshot import Kept, from_ipc, ipc

BLOCK = 4096  # rows: each block is a call to Spark's store
NEVER = 2**63 - 1

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Digests = npt.NDArray[np.bytes_]
ReadBlock = Callable[[int, int], bytes]  # by the number of the segment and of the block

_WIDTH = 16
DIGEST = f"S{_WIDTH}"
_INDEX = pa.schema(
    [
        ("digest", pa.binary(_WIDTH)),
        ("moment", pa.int64()),
        ("stream", pa.int32()),
        ("gone", pa.bool_()),
    ]
)
# What the reference matcher keeps of a key is text; what the kernel keeps are other columns beside it
# (`kernel_state.py`). A mark that a key is gone has neither.
ROWS = pa.schema([("key", pa.string()), ("moment", pa.int64()), ("body", pa.large_string())])


def digests(keys: list[str], streams: list[int]) -> Digests:
    """What stands for keys of streams."""
    return of_stream(np.array([key_digest(key) for key in keys], DIGEST), np.array(streams, np.int64))


def key_digest(key: str) -> bytes:
    """112 bits: two keys never have the same. The last two bytes are the stream's."""
    return blake2b(key.encode(), digest_size=_WIDTH - 2).digest() + b"\0\0"


def of_stream(keys: Digests, stream: int | Numbers) -> Digests:
    """The same keys in a stream, in the same order: in another stream they are others."""
    lanes = keys.view(np.uint8).reshape(-1, _WIDTH).copy()
    lanes[:, -2] = np.asarray(stream) // 256
    lanes[:, -1] = np.asarray(stream) % 256
    found: Digests = lanes.view(DIGEST).reshape(-1)
    return found


@dataclass(frozen=True)
class Index:
    """What a segment's rows are, without their state. Sorted by digest."""

    digests: Digests
    moments: Numbers  # when a row is to be looked at; NEVER if it is not
    streams: npt.NDArray[np.int32]  # which stream of the program a row belongs to
    gone: Mask

    def __len__(self) -> int:
        return len(self.digests)

    def ordered(self) -> tuple[Index, Numbers]:
        """The same in order, and the order."""
        order = np.argsort(self.digests, kind="stable")
        return self.rows(order), order

    def rows(self, which: Any) -> Index:
        return Index(self.digests[which], self.moments[which], self.streams[which], self.gone[which])

    def at(self, wanted: bytes) -> int | None:
        """The row of a digest."""
        row = int(self.digests.searchsorted(wanted))
        return row if row < len(self.digests) and self.digests[row] == wanted.rstrip(b"\0") else None

    def found(self, wanted: Digests) -> tuple[Mask, Numbers]:
        """Which of some digests are here, and the rows of those."""
        places = self.digests.searchsorted(wanted)
        held = places < len(self.digests)
        held[held] = self.digests[places[held]] == wanted[held]
        return held, places[held]

    def packed(self) -> bytes:
        lanes = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(_WIDTH), len(self), [None, pa.py_buffer(self.digests.tobytes())]
        )
        columns = [lanes, pa.array(self.moments), pa.array(self.streams), pa.array(self.gone)]
        return ipc(pa.table(columns, schema=_INDEX), compressed=True)

    @classmethod
    def unpacked(cls, body: bytes) -> Index:
        table = from_ipc(body).combine_chunks()
        lanes = table["digest"].chunk(0) if len(table) else pa.array([], pa.binary(_WIDTH))
        raw = lanes.buffers()[1]
        at = lanes.offset * _WIDTH
        found = np.frombuffer(raw, DIGEST, len(lanes), at) if len(lanes) else np.array([], DIGEST)
        return cls(found, table["moment"].to_numpy(), table["stream"].to_numpy(), table["gone"].to_numpy())


def joined(parts: list[Index]) -> Index:
    return Index(
        np.concatenate([p.digests for p in parts]),
        np.concatenate([p.moments for p in parts]),
        np.concatenate([p.streams for p in parts]),
        np.concatenate([p.gone for p in parts]),
    )


@dataclass(eq=False)
class Segment:
    """An index, and the blocks that have been read or written."""

    number: int
    index: Index
    passed_over: Mask  # rows whose key has its state elsewhere: in memory, or in a newer segment
    blocks: dict[int, pa.Table] = field(default_factory=dict)

    @classmethod
    def of(cls, number: int, index: Index, rows: pa.Table | None = None) -> Segment:
        found = cls(number, index, np.zeros(len(index), np.bool_))
        if rows is not None:
            found.blocks = {at: rows.slice(at * BLOCK, BLOCK) for at in range(found.block_count)}
        return found

    @cached_property
    def streams(self) -> frozenset[int]:
        """Of which streams it has rows, or had when it was written."""
        return frozenset(np.unique(self.index.streams).tolist())

    @property
    def block_count(self) -> int:
        return -(-len(self.index) // BLOCK)

    @property
    def current(self) -> Mask:
        """The rows that count, marks among them."""
        return ~self.passed_over

    def bodies(self) -> Iterator[tuple[int, bytes]]:
        return ((at, ipc(rows, compressed=True)) for at, rows in self.blocks.items())

    def block(self, at: int, read: ReadBlock) -> pa.Table:
        if at not in self.blocks:
            self.blocks[at] = from_ipc(read(self.number, at))
        return self.blocks[at]

    def rows(self, which: Numbers, read: ReadBlock) -> pa.Table:
        """Some rows, by their places in ascending order."""
        if not len(which):
            return ROWS.empty_table()
        blocks, starts = np.unique(which // BLOCK, return_index=True)
        ends = [*starts[1:], len(which)]
        parts = [
            _some(self.block(int(at), read), which[start:end] - at * BLOCK)
            for at, start, end in zip(blocks, starts, ends, strict=True)
        ]
        return together(parts)

    def due(self, stream: int, until: int | None) -> Numbers:
        """The rows of a stream whose moment is before `until`; None: all."""
        wanted = self.current & ~self.index.gone & (self.index.streams == stream)
        wanted &= self.index.moments < until if until is not None else True
        return np.flatnonzero(wanted)

    def held(self, stream: int, wanted: Digests) -> Numbers:
        """The rows of a stream that have the state of some keys, in ascending order."""
        _, rows = self.index.found(wanted)
        counts = self.current[rows] & ~self.index.gone[rows] & (self.index.streams[rows] == stream)
        return np.sort(rows[counts])

    def taken(self, which: Numbers, read: ReadBlock) -> list[Kept]:
        """The state of some rows, which from now on is elsewhere."""
        self.passed_over[which] = True
        return to_kept(self.rows(which, read))


def together(parts: list[pa.Table]) -> pa.Table:
    """Rows of several segments: some may lack the kernel's columns."""
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="default")


def _some(rows: pa.Table, which: Numbers) -> pa.Table:
    return rows if len(which) == rows.num_rows else rows.take(which)


def to_kept(rows: pa.Table) -> list[Kept]:
    columns = (rows[name].to_pylist() for name in ROWS.names)
    return [Kept(*row) for row in zip(*columns, strict=True)]


def to_rows(kept: list[Kept | None]) -> pa.Table:
    """A row for each; None for a mark."""
    columns = zip(*(k or (None, None, None) for k in kept), strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(list(columns) or [(), (), ()], ROWS, strict=True)]
    return pa.table(arrays, schema=ROWS)
