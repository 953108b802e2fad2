"""Kept rows as Python objects, for what is found and for what only Python can do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import ARRIVAL, FIELD, TIME, TYPE
from cepheid.engines.columnar.present import own_fields
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.local.events import Columns, plain
from cepheid.pattern.event import Event


def rows_of(table: pa.Table, rows: Numbers) -> list[dict[str, Any]]:
    """The fields of some rows, as events have them."""
    names = [name for name in table.column_names if name.startswith(FIELD)]
    if not names:
        return [{} for _ in range(len(rows))]
    taken = table.select(names).take(pa.array(rows))
    columns = {name.removeprefix(FIELD): taken[name] for name in names}
    return [{name: plain(value) for name, value in own_fields(row).items()} for row in batch_rows(columns)]


def events_of(table: pa.Table, rows: Numbers, types: list[str], columns: Columns) -> list[Event]:
    """Some rows as events. Of a type that no pattern names only its fields are known."""
    own = table.select([TIME, ARRIVAL, TYPE]).take(pa.array(rows))
    times, arrivals, kinds = (own[name].to_pylist() for name in (TIME, ARRIVAL, TYPE))
    fields = rows_of(table, rows)
    return [
        Event(
            types[kind] if kind >= 0 else "",
            time,
            values,
            tuple(values.get(name) for name in columns.order),
            arrival,
        )
        for kind, time, arrival, values in zip(kinds, times, arrivals, fields, strict=True)
    ]
