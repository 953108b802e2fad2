"""Batches of columns that were made on the way: in a file without a name, so that they need no memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import finalize

import pyarrow as pa

from cepheid.engines.columnar.scan import Batch, Piece, Scan


@dataclass(frozen=True)
class _Spooled:
    """Where a batch lies in the file."""

    first: int
    rows: int
    schema: pa.Schema
    at: int
    size: int


class Spool:
    """The file goes when nobody holds it any more."""

    def __init__(self) -> None:
        self.batches: list[_Spooled] = []
        self.rows = 0
        self._file = tempfile.TemporaryFile(prefix="cepheid-")  # noqa: SIM115
        self._lock = Lock()  # several threads read
        finalize(self, self._file.close)

    def add(self, batch: pa.RecordBatch) -> None:
        text = batch.serialize()
        at = self._file.tell()
        self._file.write(text)
        self.batches.append(_Spooled(self.rows, batch.num_rows, batch.schema, at, text.size))
        self.rows += batch.num_rows

    def scan(
        self,
        types: Mapping[str, pa.DataType],
        unfit: Mapping[str, str],
        done: int,
        coded: Mapping[str, pa.Array] | None = None,
    ) -> Scan:
        """The batches as pieces, with columns of these types; some hold the numbers of values."""
        values = coded or {}

        def column(batch: pa.RecordBatch, name: str) -> pa.Array:
            if name in values:
                return values[name].take(batch.column(name))
            return _typed(batch, name, types[name])

        return Scan(types, tuple(self._piece(b, tuple(types), column, done) for b in self.batches), unfit)

    def _piece(
        self,
        spooled: _Spooled,
        all_names: tuple[str, ...],
        column: Callable[[pa.RecordBatch, str], pa.Array],
        done: int,
    ) -> Piece:
        def read(names: Sequence[str] | None) -> Iterator[Batch]:
            batch = self._read(spooled)
            wanted = all_names if names is None else names
            yield Batch(spooled.first, spooled.rows, {name: column(batch, name) for name in wanted})

        return Piece("", spooled.first, spooled.first, spooled.rows, done, read)

    def _read(self, spooled: _Spooled) -> pa.RecordBatch:
        with self._lock:
            self._file.seek(spooled.at)
            text = self._file.read(spooled.size)
        return pa.ipc.read_record_batch(pa.py_buffer(text), spooled.schema)


def _typed(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    """Where no row of the batch had a value, its type was not known."""
    at = batch.schema.get_field_index(name)
    if at < 0:
        return pa.nulls(batch.num_rows, kind)
    values = batch.column(at)
    return values if values.type == kind else values.cast(kind)
