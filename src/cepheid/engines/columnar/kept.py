"""The rows that matching needs, as they are kept: their own columns first, then the fields."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.instants import Numbers

# Prepared columns; a field of the user's has FIELD before its name, so that no name can clash.
TIME, ARRIVAL, TYPE, BITS, ORDER, FIELD = "t", "n", "y", "p", "o", "f:"
OF_TYPE = {b"cepheid": b"type"}  # marks the field that TYPE has numbers for
PARTS = 64  # that rows are spread over when they are too many for the memory


def table_of(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches, schema)


class KeptRows:
    """Rows in memory; beyond a limit, in files, each with some of the keys."""

    def __init__(
        self, schema: pa.Schema, limit: int, part_of: Callable[[pa.Table], Numbers], may_spill: bool
    ) -> None:
        self.schema, self.limit, self.part_of, self.may_spill = schema, limit, part_of, may_spill
        self.batches: list[pa.RecordBatch] = []
        self.size = 0
        self._folder: Path | None = None
        self._writers: dict[int, Any] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        self.batches.append(batch)
        self.size += batch.nbytes
        if self.size > self.limit and self.may_spill:
            self._spill()

    def parts(self) -> Iterator[pa.Table]:
        """All rows, a part at a time; the rows of a key are in one part."""
        if self._folder is None:
            batches, self.batches = self.batches, []  # so that they are not kept twice
            yield table_of(batches, self.schema)
            return
        self._spill()
        for writer in self._writers.values():
            writer.close()
        for number in sorted(self._writers):
            yield self._read(number)

    def close(self) -> None:
        """Nothing is left behind."""
        for writer in self._writers.values():
            with suppress(pa.ArrowException, OSError):
                writer.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def spilled(self) -> bool:
        return self._folder is not None

    def _spill(self) -> None:
        if not self.batches:
            return
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="cepheid-"))
        table = table_of(self.batches, self.schema).combine_chunks()
        self.batches, self.size = [], 0
        part = self.part_of(table)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=PARTS))
        rows = table.take(pa.array(order))
        first = 0
        for number, end in enumerate(ends.tolist()):
            if end > first:
                self._writer(number).write_table(rows.slice(first, end - first))
            first = end

    def _writer(self, number: int) -> Any:
        if number not in self._writers:
            self._writers[number] = pa.ipc.new_file(self._path(number), self.schema)
        return self._writers[number]

    def _path(self, number: int) -> str:
        assert self._folder is not None
        return str(self._folder / f"{number}.arrow")

    def _read(self, number: int) -> pa.Table:
        with pa.OSFile(self._path(number)) as file:
            return pa.ipc.open_file(file).read_all()
