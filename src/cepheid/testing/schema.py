"""The schema of events at hand: the fields of each type, as wide as the events need."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.pattern.event import Event
from cepheid.pattern.types import NULL, UNKNOWN, Schema, Type, common, struct_of, type_of


def schema_of(events: Iterable[Event]) -> Schema:
    """
    >>> str(schema_of([Event("A", 0, {"v": 1}), Event("A", 1, {"v": 2.5})]).event("A"))
    'struct<v: float>'
    """
    found: dict[str, dict[str, Type]] = {}
    for event in events:
        fields = found.setdefault(event.type, {})
        for name, value in event.fields.items():
            fields[name] = common(fields.get(name, NULL), type_of(value)) or UNKNOWN
    return Schema(tuple((name, struct_of(fields)) for name, fields in found.items()))
