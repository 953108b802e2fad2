"""Classes of trends as plain data, for snapshots. Numbers of any size go as hexadecimal text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from cepheid.matching.run import Run
from cepheid.matching.snapshot import EventTable, read_taken, taken_row
from cepheid.matching.values import decode, encode
from cepheid.pattern.event import Event
from cepheid.trends.measures import Totals
from cepheid.trends.sums import Sum

_SUM, _NUMBER, _VALUE = "sum", "number", "value"
Binds = dict[str, tuple[Event, ...]]


def class_row(ways: tuple[Run, ...], totals: Totals, events: EventTable) -> list[Any]:
    return [[_way_row(way, events) for way in ways], totals_row(totals)]


def read_class(row: list[Any], events: list[Event]) -> tuple[tuple[Run, ...], Totals]:
    ways, totals = row
    return tuple(_read_way(way, events) for way in ways), read_totals(totals)


def group_row(binds: Binds, totals: Totals, event: Event, when: int, events: EventTable) -> list[Any]:
    return [_binds_row(binds, events), totals_row(totals), events.number(event), when]


def read_group(row: list[Any], events: list[Event]) -> tuple[Binds, Totals, Event, int]:
    binds, totals, event, when = row
    return _read_binds(binds, events), read_totals(totals), events[event], when


def _way_row(way: Run, events: EventTable) -> list[Any]:
    return [
        way.state,
        [taken_row(t, events) for t in way.taken],
        _binds_row(way.binds, events),
        list(way.counts.items()),
        sorted(way.closed),
        sorted(way.blocked),
        [[part, taken_row(t, events)] for part, t in way.marks.items()],
        list(way.scopes.items()),
    ]


def _read_way(row: list[Any], events: list[Event]) -> Run:
    state, taken, binds, counts, closed, blocked, marks, scopes = row
    return Run(
        0,
        state,
        tuple(read_taken(t, events) for t in taken),
        _read_binds(binds, events),
        dict(counts),
        frozenset(closed),
        frozenset(blocked),
        {tuple(map(tuple, part)): read_taken(t, events) for part, t in marks},
        dict(scopes),
    )


def _binds_row(binds: Binds, events: EventTable) -> list[Any]:
    return [[name, [events.number(e) for e in own]] for name, own in binds.items()]


def _read_binds(row: list[Any], events: list[Event]) -> Binds:
    return {name: tuple(events[i] for i in own) for name, own in row}


def totals_row(totals: Totals) -> list[Any]:
    return [_part_row(part) for part in totals]


def read_totals(row: list[Any]) -> Totals:
    return tuple(_read_part(part) for part in row)


def _part_row(part: Any) -> list[Any]:
    if isinstance(part, Sum):
        return [_SUM, hex(part.values), hex(part.whole), hex(part.binary), str(part.decimal), part.kinds]
    if isinstance(part, int) and not isinstance(part, bool):
        return [_NUMBER, hex(part)]
    return [_VALUE, encode(part)]


def _read_part(row: list[Any]) -> Any:
    kind, *rest = row
    if kind == _SUM:
        values, whole, binary, decimal, kinds = rest
        return Sum(int(values, 16), int(whole, 16), int(binary, 16), Decimal(decimal), kinds)
    return int(rest[0], 16) if kind == _NUMBER else decode(rest[0])
