"""What the kernel keeps of keys, as columns of a segment: words packed into bytes, and the events they refer to.

What all events of a key have in common is kept once, and the names of types as numbers: offsets of short texts are
most of what such a column takes, and no compression helps with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.spark.layout import TYPE, Layout
from cepheid.engines.spark.reading import one_array
from cepheid.engines.spark.segment import NEVER, ROWS
from cepheid.matching.compiled.compiled_plan import Answers, type_numbers
from cepheid.matching.compiled.kernel.entrance import V_ROWS, V_WORDS
from cepheid.matching.compiled.packed_words import WordRoom, pack, unpack
from cepheid.matching.compiled.tables import Table
from cepheid.plan.plan import Plan

WORDS, EVENTS, OF_KEY = "words", "events", "of_key"
_UNPACKED = WordRoom()
_CODE = "_c"  # beside an event's columns: the number of its type; -1: it is none of the plan's


@dataclass(frozen=True)
class KeptColumns:
    """Which columns of events are kept otherwise."""

    key: str | None  # the column that is the key, if there is one
    types: pa.Array  # the names that have numbers

    @classmethod
    def of(cls, layout: Layout, plan: Plan) -> KeptColumns:
        one_column = len(layout.key_fields) == 1 and layout.key_fields[0] is not None
        return cls(layout.key_names()[0] if one_column else None, pa.array(type_numbers(plan), pa.string()))


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


def read_state(rows: pa.Table, which: Table, keys: int, columns: KeptColumns) -> KernelState:
    """The state in some rows of segments; `which` of all keys each belongs to, in ascending order. The words count
    until the next state is read."""
    bodies = one_array(rows[WORDS])
    packed = np.frombuffer(bodies.buffers()[2] or b"", np.uint8)
    starts = np.frombuffer(bodies.buffers()[1], np.int32, len(bodies) + 1, bodies.offset * 4)
    words = unpack(packed, starts.astype(np.int64), _UNPACKED)
    events = one_array(rows[EVENTS])
    offsets = events.offsets.to_numpy().astype(np.int64)
    table = _read_events(rows, events.flatten(), np.diff(offsets), columns)
    return KernelState(words.words, _spread(words.offsets, which, keys), table, _spread(offsets, which, keys))


def _read_events(rows: pa.Table, flat: pa.StructArray, counts: Table, columns: KeptColumns) -> pa.Table:
    table = pa.table(flat.flatten(), [f.name for f in flat.type])
    if columns.key is not None:
        each = one_array(rows[OF_KEY]).take(pa.array(np.repeat(np.arange(len(counts)), counts)))
        table = _replaced(table, columns.key, each)
    if TYPE not in table.column_names:
        return table
    codes = table[_CODE].to_numpy()
    names = columns.types.take(pa.array(codes, mask=codes < 0))
    if names.null_count:
        names = pc.coalesce(names, table[TYPE])
    return _replaced(table, TYPE, names).drop_columns([_CODE])


def _replaced(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def _spread(offsets: Table, which: Table, keys: int) -> Table:
    """Where the things of every key begin, also of those that have none."""
    sizes = np.zeros(keys + 1, np.int64)
    sizes[which + 1] = np.diff(offsets)
    return np.cumsum(sizes)


def written_state(
    answers: Answers, table: pa.Table, kinds: Table, gone: npt.NDArray[np.bool_], columns: KeptColumns
) -> pa.Table:
    """The rows of a segment for all keys of an answer; those that are gone have null. `kinds` are numbers of types."""
    packed = pack(answers.saved_words, answers.saved[:, V_WORDS])
    offsets = answers.saved[:, V_ROWS]
    nulls = pa.array(gone)
    struct = _written_events(table, answers.saved_rows, kinds, columns)
    events = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), struct, mask=nulls)
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
    found = pa.table([*nothing, words, events], [*ROWS.names, WORDS, EVENTS])
    if columns.key is None:
        return found
    none = np.diff(offsets) == 0
    firsts = np.append(answers.saved_rows, 0)[offsets[:-1]]
    return found.append_column(OF_KEY, table[columns.key].take(pa.array(firsts, mask=none)))


def _written_events(table: pa.Table, which: Table, kinds: Table, columns: KeptColumns) -> pa.StructArray:
    taken = {}
    places = pa.array(which)
    codes = kinds[which]
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name == columns.key or (name == TYPE and (codes >= 0).all()):
            taken[name] = pa.nulls(len(which), column.type)
        else:
            taken[name] = one_array(column.take(places))
    if TYPE in taken:
        taken[_CODE] = pa.array(codes.astype(np.int32))
    return pa.StructArray.from_arrays(list(taken.values()), list(taken))
