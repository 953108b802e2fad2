"""A session's state as JSON and back: every object once, everything else by number.

What follows from the rules (nodes, indexes, timers) is not written but made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cepheid.errors import SnapshotMistake
from cepheid.matching.values import decode, encode
from cepheid.rules.closures import INF
from cepheid.rules.memory import Cell, Element, Waiting
from cepheid.rules.objects import Event, Fact
from cepheid.rules.resolve import FACT

if TYPE_CHECKING:
    from cepheid.rules.session import RuleSession

VERSION = 2


# --- writing ------------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self) -> None:
        self.shapes: dict[tuple[str, ...], int] = {}  # type and names of fields
        self.cells: dict[Cell, int] = {}
        self.things: dict[Any, int] = {}
        self.rows: list[Any] = []

    def cell(self, cell: Cell) -> int:
        return self.cells.setdefault(cell, len(self.cells))

    def thing(self, thing: Any) -> int:
        """Its number; the thing itself is written once."""
        if thing not in self.things:
            row = self._fact(thing) if isinstance(thing, Fact) else self._event(thing)
            self.things[thing] = len(self.rows)
            self.rows.append(row)
        return self.things[thing]

    def _fact(self, fact: Fact) -> list[Any]:
        return [self.cell(fact.cell), *self._common(fact)]

    def _event(self, event: Event) -> list[Any]:
        about = [event.retracted, None if event.fact is None else self.thing(event.fact)]
        return [about, *self._common(event)]

    def _common(self, thing: Any) -> list[Any]:
        shape = self.shapes.setdefault((thing.type, *thing.fields), len(self.shapes))
        values = [encode(v) for v in thing.fields.values()]
        return [shape, encode(thing.identity), thing.number, thing.time, *values]


def state_of(session: RuleSession) -> bytes:
    working, writer = session.working, _Writer()
    cells = [(writer.cell(c), writer.thing(c.now), _past(c, writer)) for c in session._cells.values()]
    ended = sorted((pair for states in working.past.values() for pair in states), key=lambda pair: pair[1])
    past = [[writer.thing(state), end] for state, end in ended if _gone(session, state)]
    memories = [
        [] if memory is None else [_element(e, writer) for e in memory.in_order()]
        for memory in working.memories
    ]
    whole = {
        "version": VERSION,
        "rules": session.program.fingerprint,
        "clock": session.clock,
        "number": session.number,
        "firings": session.firings,
        "named": [[kind, event, n] for (kind, event), n in session._named.items()],
        "skipped": [[*what, n] for what, n in session.skipped.items()],
        "cells": cells,
        "past": past,
        "memories": memories,
        "fired": [[rule, sorted(numbers)] for rule, numbers in working.fired.items() if numbers],
        "counts": _counts(session),
        "shapes": list(writer.shapes),
        "things": writer.rows,
    }
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def _past(cell: Cell, writer: _Writer) -> list[Any]:
    return [[writer.thing(state), end] for state, end in cell.past]


def _gone(session: RuleSession, state: Fact) -> bool:
    """Earlier states of facts that are still there are written with them."""
    return session._cells.get((state.type, state.identity)) is not state.cell


def _element(element: Element, writer: _Writer) -> list[Any]:
    things = [writer.thing(t) for t in element.objects]
    until = None if element.until == INF else element.until
    if not isinstance(element, Waiting):
        return [until, things]
    at = element.production.node.productions.index(element.production)
    looks = element.production.looks
    return [until, things, at, [[date, looks.index(look)] for date, look in element.absences]]


def _counts(session: RuleSession) -> list[list[int]]:
    working = session.working
    counts = [[working.count_of(counter) for counter in kind] for kind in _counters(session)]
    return [*counts, [0 if memory is None else memory.most for memory in working.memories]]


def _counters(session: RuleSession) -> Iterator[list[int]]:
    network = session.program.network
    yield [found.count for found in network.classes.values()]
    yield [d.count for d in network.discriminations.values()]
    yield [node.count for node in network.nodes if node.count is not None]
    yield [p.count for node in network.nodes for p in node.productions]
    yield [join.count for node in network.nodes for join in node.joins]


# --- reading ------------------------------------------------------------------------------------------------------


def put_state(session: RuleSession, state: bytes) -> None:
    """Into a session that is as new."""
    whole = _read(state)
    if whole["rules"] != session.program.fingerprint:
        raise SnapshotMistake(
            "the snapshot belongs to other rules",
            hint="changed rules cannot go on from the old ones' memory: start anew",
        )
    session.clock, session.number, session.firings = whole["clock"], whole["number"], whole["firings"]
    session._named = {(kind, event): n for kind, event, n in whole["named"]}
    session.skipped.update({(action, reason): n for action, reason, n in whole["skipped"]})
    session.working.clock = -INF if session.clock is None else session.clock
    _Reader(session, whole).read()
    _put_counts(session, whole["counts"])


def _read(state: bytes) -> Any:
    try:
        whole = json.loads(state)
        version = whole["version"]
    except (ValueError, TypeError, KeyError):
        raise SnapshotMistake("this is not a snapshot of a session of rules, or it is damaged") from None
    if version != VERSION:
        raise SnapshotMistake(
            f"the snapshot has version {version}, this program reads version {VERSION}",
            hint="restore it with the release that wrote it, or start without it",
        )
    return whole


class _Reader:
    def __init__(self, session: RuleSession, whole: Any) -> None:
        self.session, self.working, self.whole = session, session.working, whole
        self.cells: dict[int, Cell] = {}
        self.things: list[Any] = []

    def read(self) -> None:
        for row in self.whole["things"]:
            self.things.append(self._thing(row))
        for number, now, past in self.whole["cells"]:
            self._put_cell(self.cells[number], self.things[now], past)
        for thing, end in self.whole["past"]:
            self._put_past(self.things[thing], end)
        for number, elements in enumerate(self.whole["memories"]):
            for until, things, *waits in elements:
                objects = tuple(self.things[t] for t in things)
                element = self.working.memory(number).add(objects, INF if until is None else until)
                if waits:
                    self._put_waiting(element, *waits)
        self._put_fired()

    def _thing(self, row: list[Any]) -> Any:
        about, shape, identity, number, time, *values = row
        kind, *names = self.whole["shapes"][shape]
        fields = dict(zip(names, map(decode, values), strict=True))
        if not isinstance(about, list):
            return self._fact(Fact(kind, decode(identity), fields, number, time), about)
        retracted, fact = about
        event = Event(kind, decode(identity), fields, number, time, retracted=retracted)
        if fact is not None:
            event.fact = self.things[fact]
        elif kind in self.session.program.retractable:
            event.held = []
        return event

    def _fact(self, fact: Fact, cell: int) -> Fact:
        fact.cell = self.cells.setdefault(cell, Cell(fact))
        return fact

    def _put_cell(self, cell: Cell, now: Fact, past: list[Any]) -> None:
        cell.now, cell.born = now, len(self.session._cells)
        self.session._cells[cell.type, cell.identity] = cell
        found = self.working.net.classes.get((FACT, cell.type))
        if found is not None:
            cell.seen_by = tuple(found.passed(now, []))
            for node in cell.seen_by:
                self.working.facts_of(node).add(cell, now)
        for thing, end in past:
            self._put_past(self.things[thing], end)

    def _put_past(self, state: Fact, end: int) -> None:
        state.cell.past.append((state, end))
        self.working.past[state.type].append((state, end))
        self.working.past_cells.append(state.cell)

    def _put_waiting(self, element: Element, production: int, absences: list[Any]) -> None:
        node = element.memory.node
        assert node is not None
        assert isinstance(element, Waiting)
        element.production = node.productions[production]
        element.absences = [(date, element.production.looks[look]) for date, look in absences]
        self.working.wait(element, element.absences[0][0])

    def _put_fired(self) -> None:
        by_number = {cell.now.number: cell for cell in self.session._cells.values()}
        for rule, all_numbers in self.whole["fired"]:
            fired = self.working.fired.setdefault(rule, set())
            for numbers in map(tuple, all_numbers):
                fired.add(numbers)
                for number in numbers:
                    by_number[number].fired.append((fired, numbers))


def _put_counts(session: RuleSession, counts: list[list[int]]) -> None:
    working = session.working
    for kind, values in zip(_counters(session), counts, strict=False):
        for counter, value in zip(kind, values, strict=True):
            working.counts[counter] = value
    for number, most in enumerate(counts[-1]):
        if most:
            working.memory(number).most = most
