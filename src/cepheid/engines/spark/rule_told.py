"""What rules told, as rows of a DataFrame, and back: values as text that keeps their type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from cepheid.engines.rules.told import Object, Told
from cepheid.matching.values import dump, load
from cepheid.pattern.times import from_microseconds

SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("rule", pa.string()),
        ("firing", pa.int64()),
        ("event", pa.bool_()),
        ("reason", pa.string()),
        *((name, pa.string()) for name in ("key", "id", "fields", "before", "objects")),
    ]
)
SPARK_SCHEMA = (
    "time timestamp, kind string, name string, rule string, firing bigint, event boolean, reason string, "
    "key string, id string, fields string, before string, objects string"
)
_PLAIN = ("kind", "name", "rule", "firing", "event", "reason")
_AT_ONCE = 1000


def row_of(told: Told) -> dict[str, Any]:
    """Times are microseconds in it, as inside."""
    return {
        **{name: getattr(told, name) for name in _PLAIN},
        "time": from_microseconds(told.time),
        "key": dump(told.key),
        "id": dump(told.id),
        "fields": dump(told.fields),
        "before": None if told.before is None else dump(told.before),
        "objects": dump({name: asdict(thing) for name, thing in told.objects.items()}),
    }


def told_from(row: dict[str, Any]) -> Told:
    """With times as dates."""
    objects = {
        name: Object(**{**thing, "time": from_microseconds(thing["time"])})
        for name, thing in load(row["objects"]).items()
    }
    return Told(
        **{name: row[name] for name in _PLAIN},
        time=row["time"],
        key=load(row["key"]),
        id=load(row["id"]),
        fields=load(row["fields"]),
        before=None if row["before"] is None else load(row["before"]),
        objects=objects,
    )


def batches_of(told: Iterable[Told]) -> Iterator[pa.RecordBatch]:
    waiting: list[dict[str, Any]] = []
    for one in told:
        waiting.append(row_of(one))
        if len(waiting) >= _AT_ONCE:
            yield pa.RecordBatch.from_pylist(waiting, schema=SCHEMA)
            waiting = []
    if waiting:
        yield pa.RecordBatch.from_pylist(waiting, schema=SCHEMA)
