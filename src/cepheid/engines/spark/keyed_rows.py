"""Prepared rows brought together by key, in the order of the keys' digests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.local.events import plain
from cepheid.engines.spark.layout import Layout
from cepheid.engines.spark.reading import events_of, one_array
from cepheid.engines.spark.segment import DIGEST, Digests, Mask, Numbers, key_digest
from cepheid.engines.spark.total_order import places
from cepheid.matching.evaluate import compile_value
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.values import dump
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Field
from cepheid.pattern.values import clean
from cepheid.plan.plan import Plan

_REMEMBERED = 1 << 18  # keys
_WORTH_KNOWING = (
    1 << 15
)  # keys of a bucket: to look rows up among many more takes longer than to name them again


class KeyedRows(NamedTuple):
    table: pa.Table  # rows of a key lie together, in total order
    digests: Digests  # of the keys, ascending
    offsets: Numbers  # where the rows of each key begin, and the last one's end

    def of(self, which: Mask) -> KeyedRows:
        """Some of the keys."""
        if which.all():
            return self
        sizes = np.diff(self.offsets)
        rows = pa.array(np.repeat(which, sizes))
        return KeyedRows(
            self.table.filter(rows), self.digests[which], np.concatenate([[0], np.cumsum(sizes[which])])
        )

    def narrowed(self, table: pa.Table, offsets: Numbers) -> KeyedRows:
        """The same keys with fewer rows, without those that have none left."""
        busy = np.diff(offsets) > 0
        if busy.all():
            return KeyedRows(table, self.digests, offsets)
        return KeyedRows(table, self.digests[busy], np.append(offsets[:-1][busy], offsets[-1]))


class KeyReader:
    """Finds the keys of the rows of one bucket. What a key is called is worked out once; the digests are remembered."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        self.plan, self.layout = plan, layout
        self.key_of = [compile_value(e) for e in plan.key]
        self.known: dict[Any, bytes] = {}
        one_plain_column = len(layout.key_fields) == 1 and layout.key_fields[0] is not None
        self.plain = KnownKeys(self._plain_digests) if one_plain_column else None
        columns = dict(zip(layout.fields, layout.field_names(), strict=True))
        fields = [e.path[0] for e in plan.key if isinstance(e, Field) and len(e.path) == 1]
        plain_fields = (
            bool(fields) and len(fields) == len(plan.key) and all(name in columns for name in fields)
        )
        self.own = [columns[name] for name in fields] if plain_fields else None

    def keyed(self, rows: pa.Table) -> KeyedRows:
        if not rows.num_rows:
            return KeyedRows(rows, np.array([], DIGEST), np.zeros(1, np.int64))
        digests, numbers = self._found(rows)
        order = places(rows, self.layout)
        order = order[np.argsort(_narrow(numbers[order], len(digests)), kind="stable")]
        counts = np.bincount(numbers, minlength=len(digests))
        busy = counts > 0
        offsets = np.concatenate([[0], np.cumsum(counts[busy])])
        return KeyedRows(rows.take(order).combine_chunks(), digests[busy], offsets)

    def _found(self, rows: pa.Table) -> tuple[Digests, Numbers]:
        """Keys in the order of their digests, and which of them each row has."""
        if self.plain is not None:
            (name,) = self.layout.key_names()
            return self.plain.found(one_array(rows[name]))
        numbers, firsts = numbered(rows, self.layout.key_names())
        # Two values may be one key: what is the same digest is the same key.
        digests, number_of = np.unique(self._digests(rows.take(firsts)), return_inverse=True)
        return digests, number_of[numbers]

    def digest(self, event: Event) -> Digests:
        """Of the key of one event."""
        return np.array([self._digest(self._values(event))], DIGEST)

    def _digests(self, rows: pa.Table) -> Digests:
        if self.own is None:
            return np.array([self._digest(self._values(e)) for e in events_of(rows, self.layout)], DIGEST)
        columns = [rows[name].to_pylist() for name in self.own]
        known = self.known
        raw: list[Any] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        found = [known.get(key) for key in raw]
        if None in found:
            if len(known) > _REMEMBERED:
                known.clear()
            values = zip(*columns, strict=True)
            found = [
                self._new(key, own) if d is None else d
                for d, key, own in zip(found, raw, values, strict=True)
            ]
        return np.array(found, DIGEST)

    def _new(self, raw: Any, own: tuple[Any, ...]) -> bytes:
        found = self.known[raw] = self._digest(tuple(clean(plain(v)) for v in own))
        return found

    def _plain_digests(self, values: list[Any]) -> list[bytes]:
        """Of keys that are texts or whole numbers."""
        if all(type(value) is str for value in values):  # by far the most; the same texts, sooner
            return [key_digest(f'{{"$t":[{encode_basestring(value)}]}}') for value in values]
        return [self._digest((clean(value),)) for value in values]

    def _digest(self, values: tuple[Any, ...]) -> bytes:
        return key_digest(dump(lookup_key(values, self.plan.inferred_key)))

    def _values(self, event: Event) -> tuple[Any, ...]:
        moment = Moment(event, {})
        return tuple(value(moment) for value in self.key_of)


class KnownKeys:
    """Keys that are one text or one integer: those that came before, in the order of their digests."""

    def __init__(self, digests_of: Callable[[list[Any]], list[bytes]]) -> None:
        self.digests_of = digests_of
        self.values: pa.Array | None = None
        self.digests: Digests = np.array([], DIGEST)

    def found(self, column: pa.Array) -> tuple[Digests, Numbers]:
        """All known keys, and which of them each value of a column is."""
        if self.values is None or len(self.values) > max(_WORTH_KNOWING, 4 * len(column)):
            self.values, self.digests = column.slice(0, 0), np.array([], DIGEST)
        places = pc.index_in(column, self.values)
        found: Numbers = pc.fill_null(places, -1).to_numpy().astype(np.int64)
        if places.null_count:
            unknown = found < 0
            new = column.filter(pa.array(unknown)).dictionary_encode("encode")
            found[unknown] = len(self.values) + new.indices.to_numpy()
            found = self._learn(new.dictionary)[found]
        return self.digests, found

    def _learn(self, values: pa.Array) -> Numbers:
        """New keys among the known. The answer: where each of both is now."""
        own = np.array(self.digests_of(values.to_pylist()), DIGEST)
        digests = np.concatenate([self.digests, own])
        order = np.argsort(digests)
        self.digests = digests[order]
        self.values = pa.concat_arrays([self.values, values]).take(pa.array(order))
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return places


def numbered(rows: pa.Table, names: Sequence[str]) -> tuple[Numbers, Numbers]:
    """A number for each row that tells its key, and the first row of each number."""
    numbers: Numbers = np.zeros(rows.num_rows, np.int64)
    count = 1
    for name in names:
        encoded = pc.dictionary_encode(rows[name].combine_chunks(), null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        own = encoded.indices.to_numpy().astype(np.int64)
        if count > 1:
            _, numbers = np.unique(numbers * len(encoded.dictionary) + own, return_inverse=True)
            count = int(numbers.max()) + 1
        else:
            numbers, count = own, len(encoded.dictionary)
    firsts = np.empty(count, np.int64)
    firsts[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return numbers, firsts


def _narrow(numbers: Numbers, count: int) -> Any:
    """Small numbers in few bits: they are sorted by their digits."""
    return numbers.astype(np.uint16) if count <= 1 << 16 else numbers
