"""Snapshots: Arrow IPC with a version. A partition is one row, which can be kept as it is until its key is needed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from cepheid.errors import SnapshotMistake
from cepheid.matching.run import Run, Taken
from cepheid.matching.values import decode, encode
from cepheid.pattern.event import Event

VERSION = 1

_KEPT = pa.schema([("key", pa.string()), ("moment", pa.int64()), ("body", pa.string())])


class Kept(NamedTuple):
    """A partition as text: its key, when it must be looked at again, everything else."""

    key: str
    moment: int | None
    body: str


@dataclass
class EventTable:
    """Every event once; runs refer to them by number."""

    needed: frozenset[str] | None = None
    rows: list[list[Any]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    kept: list[Event] = field(default_factory=list)  # keeps ids of Python objects valid while writing

    def number(self, event: Event) -> int:
        if id(event) not in self.numbers:
            self.numbers[id(event)] = len(self.rows)
            self.kept.append(event)
            self.rows.append(self._row(event))
        return self.numbers[id(event)]

    def _row(self, event: Event) -> list[Any]:
        fields = {k: v for k, v in event.fields.items() if self.needed is None or k in self.needed}
        return [
            event.type,
            event.time,
            event.seq,
            event.end,
            event.late,
            event.passed,
            event.rank,
            encode(event.order),
            encode(fields),
        ]


def events_text(events: EventTable) -> str:
    return to_json(events.rows)


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_events(rows: list[list[Any]]) -> list[Event]:
    return [
        Event(kind, time, decode(fields), decode(order), seq, end, late=late, passed=passed, rank=rank)
        for kind, time, seq, end, late, passed, rank, order, fields in rows
    ]


def taken_row(taken: Taken, events: EventTable) -> list[int]:
    return [taken.position, events.number(taken.event), taken.index, taken.rank]


def read_taken(row: list[int], events: list[Event]) -> Taken:
    position, event, index, rank = row
    return Taken(position, events[event], index, rank)


def run_row(run: Run, events: EventTable) -> list[Any]:
    places = {id(t): i for i, t in enumerate(run.taken)}
    return [
        run.start,
        run.state,
        [taken_row(t, events) for t in run.taken],
        list(run.counts.items()),
        sorted(run.closed),
        sorted(run.blocked),
        [[part, places[id(t)]] for part, t in run.marks.items()],
        list(run.scopes.items()),
        run.path,
        run.late,
        run.weight,
    ]


def read_run(row: list[Any], events: list[Event], aliases: list[str | None]) -> Run:
    start, state, taken_rows, counts, closed, blocked, marks, scopes, path, late, weight = row
    taken = tuple(read_taken(t, events) for t in taken_rows)
    binds: dict[str, tuple[Event, ...]] = {}
    for t in taken:
        alias = aliases[t.position]
        if alias is not None:
            binds[alias] = (*binds.get(alias, ()), t.event)
    return Run(
        start,
        state,
        taken,
        binds,
        dict(counts),
        frozenset(closed),
        frozenset(blocked),
        {_part(part): taken[at] for part, at in marks},
        dict(scopes),
        tuple((edge, index) for edge, index in path),
        late,
        weight,
    )


def _part(part: list[Any]) -> Any:
    """A component as it was before JSON made lists of its tuples."""
    return tuple(_part(p) if isinstance(p, list) else p for p in part)


def kept_table(rows: Iterable[Kept]) -> bytes:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return ipc(pa.table([pa.array(c, f.type) for c, f in zip(columns, _KEPT, strict=True)], schema=_KEPT))


def read_kept(body: bytes) -> list[Kept]:
    table = from_ipc(body)
    return [Kept(*row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]


def pack_sections(sections: dict[str, bytes], fingerprint: str) -> bytes:
    meta = {"cepheid.version": str(VERSION), "cepheid.plan": fingerprint}
    table = pa.table(
        {"section": list(sections), "body": pa.array(list(sections.values()), pa.large_binary())}
    )
    return ipc(table.replace_schema_metadata(meta))


def unpack_sections(state: bytes, fingerprint: str) -> dict[str, bytes]:
    try:
        table = from_ipc(state)
    except (pa.ArrowInvalid, OSError) as problem:
        raise SnapshotMistake("this is not a snapshot, or it is damaged", hint=str(problem)) from None
    meta = table.schema.metadata or {}
    version = int(meta.get(b"cepheid.version", b"0"))
    if version != VERSION:
        raise SnapshotMistake(
            f"the snapshot has version {version}, this program reads version {VERSION}",
            hint="restore it with the release that wrote it, or start without it",
        )
    if meta.get(b"cepheid.plan", b"").decode() != fingerprint:
        raise SnapshotMistake(
            "the snapshot belongs to another program",
            hint="a changed pattern cannot go on from the old one's runs: start anew",
        )
    return dict(zip(table["section"].to_pylist(), table["body"].to_pylist(), strict=True))


def from_ipc(body: bytes) -> pa.Table:
    return pa.ipc.open_stream(body, options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()


def ipc(table: pa.Table, *, compressed: bool = False) -> bytes:
    sink = pa.BufferOutputStream()
    # Without threads: small pieces cost more to hand over than to compress.
    options = pa.ipc.IpcWriteOptions(compression="lz4" if compressed else None, use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    result: bytes = sink.getvalue().to_pybytes()
    return result
