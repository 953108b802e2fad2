"""Rows of a stream as edges, and what a sifter tells as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cepheid.engines.graph.values import plain_value
from cepheid.engines.local.arrow_values import python_values
from cepheid.engines.local.events import plain
from cepheid.engines.spark.keyed_rows import numbered
from cepheid.engines.spark.segment import key_digest
from cepheid.engines.spark.sifting_work import (
    CLOSES,
    END,
    LABEL,
    MATCH,
    SOURCE,
    START,
    TICK,
    TIME,
    TOO_LATE,
    SiftingWork,
)
from cepheid.errors import InputMistake
from cepheid.graph.batch import GraphMatch
from cepheid.graph.edges import Edge, Edges
from cepheid.graph.happenings import Excluded, Expired, Happening
from cepheid.matching.values import dump
from cepheid.pattern.times import from_microseconds


class EdgeRow(NamedTuple):
    """An edge that comes, or ends."""

    time: int
    closes: bool
    edge: Edge


class Partition(NamedTuple):
    """The rows of one graph, in the order in which they are fed: the same however they came."""

    digest: bytes
    key: tuple[Any, ...]
    rows: list[EdgeRow]


def in_partitions(table: pa.Table, work: SiftingWork) -> list[Partition]:
    numbers, firsts = numbered(table, work.key_names())
    columns = [table.take(firsts)[name].to_pylist() for name in work.key_names()]
    keys = list(zip(*columns, strict=True)) if columns else [()]
    digests = [digest_of(key) for key in keys]
    found = {digest: Partition(digest, key, []) for digest, key in zip(digests, keys, strict=True)}
    for number, row in zip(numbers.tolist(), edge_rows(table, work), strict=True):
        found[digests[number]].rows.append(row)
    for partition in found.values():
        partition.rows.sort(key=_order)
    return list(found.values())


def digest_of(key: tuple[Any, ...]) -> bytes:
    """Without the zeros at its end, as numpy gives it back; -0.0 is 0.0."""
    text = dump([value + 0.0 if isinstance(value, float) else value for value in key])
    return key_digest(text).rstrip(b"\0")


def _order(row: EdgeRow) -> tuple[Any, ...]:
    edge = row.edge
    return row.time, edge.tick, row.closes, edge.label, dump([edge.source, edge.target, edge.end])


def edge_rows(table: pa.Table, work: SiftingWork) -> Iterator[EdgeRow]:
    sources = python_values("source", table[SOURCE].combine_chunks())
    targets = [
        python_values(name, table[column].combine_chunks())
        for name, column in zip(work.targets, work.target_names(), strict=True)
    ]
    nothing = [None] * table.num_rows
    columns = (
        table[TIME].to_pylist(),
        table[CLOSES].to_pylist(),
        sources,
        table[LABEL].to_pylist(),
        zip(*targets, strict=True),
        table[START].to_pylist(),
        table[END].to_pylist() if work.ends else nothing,
        table[TICK].to_pylist() if work.ticks else nothing,
    )
    for time, closes, source, label, values, start, end, tick in zip(*columns, strict=True):
        node, target = plain_value(source, "source"), _one_target(values)
        yield EdgeRow(time, closes, Edge(node, label, target, start, end, tick or 0, tick or 0))


def _one_target(values: tuple[Any, ...]) -> Any:
    return plain_value(next((v for v in values if plain(v) is not None), None), "target")


def check_rows(table: pa.Table, work: SiftingWork) -> None:
    """What every edge must have, and what its end must be."""
    for name, what in ((TIME, "time"), (START, "start"), (SOURCE, "source"), (LABEL, "label")):
        if table[name].null_count:
            raise InputMistake(f"an edge of the stream has no {what}", code="bad_row", hint=_HINT)
    if work.ticks and table[TICK].null_count:
        raise InputMistake("an edge of the stream has no tick", code="bad_row", hint=_HINT)
    filled = np.sum([table[name].is_valid().to_numpy() for name in work.target_names()], axis=0)
    if (filled != 1).any():
        what = "no target" if (filled == 0).any() else "two targets"
        raise InputMistake(f"an edge of the stream has {what}", code="bad_row", hint=_HINT)
    if work.ends:
        known = table.filter(table[END].is_valid())
        if (known[END].to_numpy() < known[START].to_numpy()).any():
            raise InputMistake("an edge of the stream ends before it starts", code="bad_row", hint=_HINT)


_HINT = "leave such rows out with `where` before they are sifted"


# What is told.


def match_row(key: tuple[Any, ...], match: GraphMatch, edges: Edges, work: SiftingWork) -> dict[str, Any]:
    stages = [[name, interval.start] for name, interval in match.intervals]
    own = [[[e.source, e.label, e.target, e.start] for e in map(edges.__getitem__, n)] for n in match.edges]
    identity = [MATCH, match.pattern, list(key), sorted(match.binds.items()), stages, own]
    return {
        **_named(key, work),
        "kind": MATCH,
        "id": _id(identity),
        "pattern": match.pattern,
        "bindings": _texts(match.binds),
        "intervals": [
            {"stage": name, "start": from_microseconds(i.start), "end": _time(i.end)}
            for name, i in match.intervals
        ],
        "first": _time(match.first),
        "last": _time(match.last),
        "decided": _time(match.decided),
    }


def happening_row(key: tuple[Any, ...], happening: Happening, work: SiftingWork) -> dict[str, Any]:
    """Of a thread that ends. Threads of a partition have the same numbers however its edges came."""
    kind = type(happening).__name__.lower()
    return {
        **_named(key, work),
        "kind": kind,
        "id": _id([kind, happening.pattern, list(key), happening.thread]),
        "pattern": happening.pattern,
        "bindings": _texts(happening.binds),
        "stage": happening.stage if isinstance(happening, Expired) else None,
        "reason": _texts_in_one(happening),
    }


def too_late_row(key: tuple[Any, ...], row: EdgeRow, reason: str, work: SiftingWork) -> dict[str, Any]:
    edge = row.edge
    told = [TOO_LATE, list(key), edge.source, edge.label, edge.target, edge.start, edge.end]
    values = {"source": edge.source, "label": edge.label, "target": edge.target, "start": _time(edge.start)}
    if edge.end is not None:
        values["end"] = _time(edge.end)
    return {
        **_named(key, work),
        "kind": TOO_LATE,
        "id": _id(told),
        "bindings": _texts(values),
        "reason": reason,
    }


def found_table(rows: Iterable[dict[str, Any]], work: SiftingWork) -> pa.Table:
    made = list(rows)
    columns = [pa.array([row.get(f.name) for row in made], f.type) for f in work.schema]
    return pa.table(columns, schema=work.schema)


def _named(key: tuple[Any, ...], work: SiftingWork) -> dict[str, Any]:
    return dict(zip((name for name, _ in work.keys), key, strict=True))


def _texts_in_one(happening: Happening) -> str | None:
    """What ended the thread: what must not be, or the match of another alternative."""
    by = happening.by.binds if isinstance(happening, Excluded) else getattr(happening, "by", None)
    return None if by is None else ", ".join(f"{name} = {value}" for name, value in _texts(by))


def _texts(binds: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, value_text(value)) for name, value in binds.items()]


def value_text(value: Any) -> str:
    """
    >>> value_text(True), value_text(2.0), value_text("x"), value_text(from_microseconds(0))
    ('true', '2.0', 'x', '1970-01-01T00:00:00Z')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (datetime, date)):
        return value.isoformat().replace("+00:00", "Z")
    return value.hex() if isinstance(value, bytes) else str(value)


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)


def _id(told: list[Any]) -> str:
    return blake2b(dump(told).encode(), digest_size=16).hexdigest()
