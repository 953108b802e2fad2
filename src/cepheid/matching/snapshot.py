"""Snapshots: Arrow IPC with a version. Events are kept once, with the fields runs need; runs refer to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from cepheid.errors import SnapshotMistake
from cepheid.matching.run import Run, Taken
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event

VERSION = 1

_EVENTS = pa.schema(
    [
        ("type", pa.string()),
        ("time", pa.int64()),
        ("seq", pa.int64()),
        ("end", pa.int64()),
        ("late", pa.bool_()),
        ("passed", pa.string()),  # bits of any number
        ("order", pa.string()),
        ("fields", pa.string()),
    ]
)
_TAKEN = pa.struct(
    [("position", pa.int32()), ("event", pa.int64()), ("index", pa.int64()), ("rank", pa.int64())]
)
_PAIR = pa.struct([("one", pa.int64()), ("two", pa.int64())])
_RUNS = pa.schema(
    [
        ("partition", pa.int64()),
        ("role", pa.string()),
        ("start", pa.int64()),
        ("state", pa.int64()),
        ("taken", pa.list_(_TAKEN)),
        ("counts", pa.list_(_PAIR)),
        ("closed", pa.list_(pa.int64())),
        ("blocked", pa.list_(pa.int64())),
        ("marks", pa.list_(pa.struct([("part", pa.string()), ("taken", pa.int64())]))),
        ("scopes", pa.list_(_PAIR)),
        ("path", pa.list_(_PAIR)),
        ("late", pa.bool_()),
        ("weight", pa.string()),  # a whole number of any size
    ]
)
_PARTITIONS = pa.schema([("key", pa.string()), ("state", pa.string())])


@dataclass
class EventTable:
    """Every event once; runs refer to them by number."""

    needed: frozenset[str] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    kept: list[Event] = field(default_factory=list)  # keeps ids of Python objects valid while writing

    def number(self, event: Event) -> int:
        if id(event) not in self.numbers:
            self.numbers[id(event)] = len(self.rows)
            self.kept.append(event)
            self.rows.append(self._row(event))
        return self.numbers[id(event)]

    def _row(self, event: Event) -> dict[str, Any]:
        fields = {k: v for k, v in event.fields.items() if self.needed is None or k in self.needed}
        return {
            "type": event.type,
            "time": event.time,
            "seq": event.seq,
            "end": event.end,
            "late": event.late,
            "passed": None if event.passed is None else f"{event.passed:x}",
            "order": dump(event.order),
            "fields": dump(fields),
        }


def events_table(events: EventTable) -> bytes:
    """The events alone, for state that has no runs."""
    return ipc(pa.Table.from_pylist(events.rows, _EVENTS))


def read_events(table: pa.Table | bytes) -> list[Event]:
    if isinstance(table, bytes):
        table = pa.ipc.open_stream(table).read_all()
    return [
        Event(
            row["type"],
            row["time"],
            load(row["fields"]),
            load(row["order"]),
            row["seq"],
            row["end"],
            late=row["late"],
            passed=None if row["passed"] is None else int(row["passed"], 16),
        )
        for row in table.to_pylist()
    ]


def taken_row(taken: Taken, events: EventTable) -> dict[str, int]:
    return {
        "position": taken.position,
        "event": events.number(taken.event),
        "index": taken.index,
        "rank": taken.rank,
    }


def read_taken(row: dict[str, int], events: list[Event]) -> Taken:
    return Taken(row["position"], events[row["event"]], row["index"], row["rank"])


def run_row(run: Run, partition: int, role: str, events: EventTable) -> dict[str, Any]:
    places = {id(t): i for i, t in enumerate(run.taken)}
    return {
        "partition": partition,
        "role": role,
        "start": run.start,
        "state": run.state,
        "taken": [taken_row(t, events) for t in run.taken],
        "counts": _pairs(run.counts.items()),
        "closed": sorted(run.closed),
        "blocked": sorted(run.blocked),
        "marks": [{"part": dump(part), "taken": places[id(t)]} for part, t in run.marks.items()],
        "scopes": _pairs(run.scopes.items()),
        "path": _pairs(run.path),
        "late": run.late,
        "weight": str(run.weight),
    }


def read_run(row: dict[str, Any], events: list[Event], aliases: list[str | None]) -> Run:
    taken = tuple(read_taken(t, events) for t in row["taken"])
    binds: dict[str, tuple[Event, ...]] = {}
    for t in taken:
        alias = aliases[t.position]
        if alias is not None:
            binds[alias] = (*binds.get(alias, ()), t.event)
    return Run(
        row["start"],
        row["state"],
        taken,
        binds,
        dict(_read_pairs(row["counts"])),
        frozenset(row["closed"]),
        frozenset(row["blocked"]),
        {load(m["part"]): taken[m["taken"]] for m in row["marks"]},
        dict(_read_pairs(row["scopes"])),
        tuple(_read_pairs(row["path"])),
        row["late"],
        int(row["weight"]),
    )


def _pairs(items: Any) -> list[dict[str, int]]:
    return [{"one": a, "two": b} for a, b in items]


def _read_pairs(rows: list[dict[str, int]]) -> list[tuple[int, int]]:
    return [(r["one"], r["two"]) for r in rows]


def pack(
    fingerprint: str, events: EventTable, runs: list[dict[str, Any]], partitions: list[dict[str, Any]]
) -> bytes:
    """Three tables in one Arrow file."""
    tables = {
        "events": pa.Table.from_pylist(events.rows, _EVENTS),
        "runs": pa.Table.from_pylist(runs, _RUNS),
        "partitions": pa.Table.from_pylist(partitions, _PARTITIONS),
    }
    return pack_sections({name: ipc(table) for name, table in tables.items()}, fingerprint)


def unpack(state: bytes, fingerprint: str) -> dict[str, pa.Table]:
    sections = unpack_sections(state, fingerprint)
    return {name: pa.ipc.open_stream(body).read_all() for name, body in sections.items()}


def pack_sections(sections: dict[str, bytes], fingerprint: str) -> bytes:
    meta = {"cepheid.version": str(VERSION), "cepheid.plan": fingerprint}
    table = pa.table(
        {"section": list(sections), "body": pa.array(list(sections.values()), pa.large_binary())}
    )
    return ipc(table.replace_schema_metadata(meta))


def unpack_sections(state: bytes, fingerprint: str) -> dict[str, bytes]:
    try:
        table = pa.ipc.open_stream(state).read_all()
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


def ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    result: bytes = sink.getvalue().to_pybytes()
    return result
