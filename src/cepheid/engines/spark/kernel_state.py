"""What the kernel keeps of keys, as columns of a segment: words packed into bytes, and the events they refer to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engines.spark.reading import one_array
from cepheid.engines.spark.segment import NEVER, ROWS
from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.entrance import V_ROWS, V_WORDS
from cepheid.matching.compiled.packed_words import pack, unpack
from cepheid.matching.compiled.tables import Table

WORDS, EVENTS = "words", "events"


class KernelState(NamedTuple):
    """State of some keys, as the kernel is given it."""

    words: Table
    word_offsets: Table
    events: pa.Table
    event_offsets: Table

    def of(self, key: int) -> tuple[Table, pa.Table]:
        """The words and the events of one key."""
        first, end = self.event_offsets[key : key + 2]
        words = self.words[self.word_offsets[key] : self.word_offsets[key + 1]]
        return words, self.events.slice(first, end - first)


def no_state(keys: int, schema: pa.Schema) -> KernelState:
    none = np.zeros(keys + 1, np.int64)
    return KernelState(none[:0], none, schema.empty_table(), none)


def gone_state(keys: int) -> tuple[Table, npt.NDArray[np.bool_], pa.Table]:
    """Of keys that the kernel has no longer: moments, marks that they are gone, and nothing else."""
    rows = pa.table([pa.nulls(keys, field.type) for field in ROWS], schema=ROWS)
    return np.full(keys, NEVER), np.ones(keys, np.bool_), rows


def read_state(rows: pa.Table, which: Table, keys: int) -> KernelState:
    """The state in some rows of segments; `which` of all keys each belongs to, in ascending order."""
    bodies = one_array(rows[WORDS])
    packed = np.frombuffer(bodies.buffers()[2] or b"", np.uint8)
    starts = np.frombuffer(bodies.buffers()[1], np.int32, len(bodies) + 1, bodies.offset * 4)
    words = unpack(packed, starts.astype(np.int64))
    events = one_array(rows[EVENTS])
    flat = events.flatten()
    table = pa.table(flat.flatten(), [f.name for f in flat.type])
    return KernelState(
        words.words,
        _spread(words.offsets, which, keys),
        table,
        _spread(events.offsets.to_numpy().astype(np.int64), which, keys),
    )


def _spread(offsets: Table, which: Table, keys: int) -> Table:
    """Where the things of every key begin, also of those that have none."""
    sizes = np.zeros(keys + 1, np.int64)
    sizes[which + 1] = np.diff(offsets)
    return np.cumsum(sizes)


def written_state(answers: Answers, table: pa.Table, gone: npt.NDArray[np.bool_]) -> pa.Table:
    """The rows of a segment for all keys of an answer; those that are gone have null."""
    packed = pack(answers.saved_words, answers.saved[:, V_WORDS])
    kept = table.take(answers.saved_rows).combine_chunks()
    columns = [one_array(column) for column in kept.columns]
    struct = pa.StructArray.from_arrays(columns, kept.column_names)
    nulls = pa.array(gone)
    events = pa.ListArray.from_arrays(pa.array(answers.saved[:, V_ROWS].astype(np.int32)), struct, mask=nulls)
    words = pa.Array.from_buffers(
        pa.binary(),
        len(gone),
        [
            pa.array(~gone).buffers()[1],
            pa.py_buffer(packed.offsets.astype(np.int32)),
            pa.py_buffer(packed.body),
        ],
    )
    nothing = [pa.nulls(len(gone), field.type) for field in ROWS]
    return pa.table([*nothing, words, events], [*ROWS.names, WORDS, EVENTS])
