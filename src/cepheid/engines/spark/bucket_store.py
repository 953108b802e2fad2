"""Where a bucket's state is kept between micro-batches, and how the two parts all buckets have lie there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.segments import Writes
from cepheid.errors import SnapshotMistake
from cepheid.matching.snapshot import from_ipc, ipc

STATE_VERSION = 7
# The parts of the map: indexes of segments, their blocks, rows that wait. The head says which there are.
INDEX, BLOCK, WAITING = range(1, 4)
Place = tuple[int, int, int]  # the part, the number of a segment or of waiting rows, the number of a block


class Store(Protocol):
    """A head and a map."""

    def read_head(self) -> str | None: ...
    def write_head(self, text: str) -> None: ...
    def read(self, place: Place) -> bytes: ...
    def put(self, place: Place, body: bytes) -> None: ...
    def delete(self, place: Place) -> None: ...


@dataclass
class Counts:
    """What one micro-batch did in one bucket."""

    events: int = 0
    late: int = 0
    too_late: int = 0
    matches: int = 0
    bytes_written: int = 0
    rebuilt: bool = False


def write_segments(store: Store, writes: Writes) -> int:
    """The answer is how many bytes were written."""
    for segment in writes.delete_indexes:
        store.delete((INDEX, segment, 0))
    for segment, block in writes.delete_blocks:
        store.delete((BLOCK, segment, block))
    for segment, body in writes.indexes.items():
        store.put((INDEX, segment, 0), body)
    for (segment, block), body in writes.blocks.items():
        store.put((BLOCK, segment, block), body)
    return len(writes)


@dataclass
class WaitingBlobs:
    """Rows that wait for the watermark: each micro-batch adds a blob, which goes when none of its rows waits."""

    time: str  # the column with the time
    last: dict[int, int] = field(default_factory=dict)  # number of a blob -> its largest time

    def keep(self, store: Store, first: int | None, fresh: pa.Table | None) -> int:
        """`first`: the least time of all rows that wait; `fresh`: those that came. The answer is bytes written."""
        over = {n for n, last in self.last.items() if first is None or last < first}
        self.last = {n: last for n, last in self.last.items() if n not in over}
        written = 0
        if fresh is not None:
            number = max(self.last, default=0) + 1
            body = ipc(fresh, compressed=True)
            store.put((WAITING, number, 0), body)
            self.last[number] = self._largest(fresh)
            written = len(body)
        for number in over.difference(self.last):
            store.delete((WAITING, number, 0))
        return written

    def load(self, numbers: list[int], store: Store) -> list[pa.Table]:
        """All rows of the blobs, those that no longer wait among them."""
        waiting = {n: from_ipc(store.read((WAITING, n, 0))) for n in sorted(numbers)}
        self.last = {number: self._largest(rows) for number, rows in waiting.items()}
        return list(waiting.values())

    def _largest(self, rows: pa.Table) -> int:
        return int(pc.max(pc.cast(rows[self.time], pa.int64())).as_py())


def check_start(before: Mapping[str, Any], buckets: int, program: str, setting: str = "buckets=") -> None:
    """Refuse state of another version, another number of buckets or another program."""
    if before["version"] != STATE_VERSION:
        raise SnapshotMistake(
            f"the checkpoint holds state of version {before['version']}, this program reads version {STATE_VERSION}",
            code="state_version",
            hint="go on with the release that wrote it, or start with a new checkpoint",
        )
    if before["buckets"] != buckets:
        raise SnapshotMistake(
            f"the checkpoint was started with {setting}{before['buckets']}, now it is {buckets}",
            code="buckets_changed",
            hint=f"say {setting}{before['buckets']}, or start with a new checkpoint",
        )
    if before["program"] != program:
        raise SnapshotMistake(
            "the checkpoint belongs to another program",
            code="other_program",
            hint="a changed pattern cannot go on from the old one's runs: start with a new checkpoint",
        )
