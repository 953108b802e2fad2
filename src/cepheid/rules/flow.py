"""The way of events and facts through the network, and what changes in the working memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cepheid.rules.memory import Cell, Element, Memory, as_now
from cepheid.rules.nodes import EventJoin, NoFactLook
from cepheid.rules.objects import Event, Fact
from cepheid.rules.resolve import CHANGE, EVENT, FACT
from cepheid.rules.working import Working

# Events.


def send_event(working: Working, event: Event, kind: str = EVENT) -> None:
    """An event comes, while facts are as they were just before it."""
    found = working.net.classes.get((kind, event.type))
    if found is None:
        return
    passed = working.passed = found.passed(event, working.journal)
    joins: list[EventJoin] = []
    for node in passed:
        if node.memory is not None:
            until = node.until(event.time)
            if until >= working.clock:
                working.memory(node.memory.number).add((event,), until)
        joins += node.joins
    if len(passed) > 1:
        joins.sort(key=lambda join: -join.child.depth)
    # Deep joins first: what the event itself brings into stored tuples must not meet it twice.
    for join in joins:
        join.on_event(working, event)
    objects = (event,)
    for node in passed:
        for entry in node.entries:
            entry.receive(working, objects)


def retract_event(working: Working, event: Event) -> None:
    working.journal.append((setattr, event, "retracted", event.retracted))
    event.retracted = True
    if event.held is not None:
        held, event.held = event.held, []
        working.journal.append((setattr, event, "held", held))
        for element in held:
            element.memory.remove(element)
        return
    for memory in working.there():
        for element in [e for e in memory.elements() if event in e.objects]:
            memory.remove(element)


# Facts.


def assert_fact(working: Working, cell: Cell) -> None:
    _enter(working, cell)


def update_fact(working: Working, cell: Cell, new: Fact, change: Event) -> None:
    send_event(working, change, CHANGE)
    gone, old = cell.seen_by, cell.now
    working.end_state(cell, new.number)
    _leave(working, cell)
    working.journal.append((setattr, cell, "now", old))
    cell.now = new
    _enter(working, cell)
    for element in list(cell.elements):
        node = element.memory.node
        if node is not None and not node.still_holds(working, element, cell):
            element.memory.remove(element)
    _undo(working, gone, old)


def retract_fact(working: Working, cell: Cell, number: int) -> None:
    gone = cell.seen_by
    working.end_state(cell, number)
    _leave(working, cell)
    for element in list(cell.elements):
        element.memory.remove(element)
    _undo(working, gone, cell.now)


def _leave(working: Working, cell: Cell) -> None:
    """The fact as it was is not there any more."""
    journal = working.journal
    for node in cell.seen_by:
        there = working.facts_of(node)
        there.remove(cell)
        journal.append((there.add, cell, cell.now))
    journal.append((setattr, cell, "seen_by", cell.seen_by))
    cell.seen_by = ()


def _enter(working: Working, cell: Cell) -> None:
    """The fact as it is now has come."""
    found = working.net.classes.get((FACT, cell.type))
    if found is None:
        return
    journal = working.journal
    passed = found.passed(cell.now, working.journal)
    journal.append((setattr, cell, "seen_by", ()))
    cell.seen_by = tuple(passed)
    for node in passed:
        there = working.facts_of(node)
        there.add(cell, cell.now)
        journal.append((there.remove, cell))
    for node in passed:
        for plan, look, index in node.forbids:
            memory = working.memories[plan.number]
            if memory is not None:
                _forbid(working, memory, look, index, cell.now)
    objects = (cell.now,)
    for node in passed:
        for entry in node.entries:
            entry.receive(working, objects)


def _forbid(working: Working, memory: Memory, look: NoFactLook, index: int | None, fact: Fact) -> None:
    """Stored tuples end for which such a fact must not be."""
    ended = []
    found: Iterable[Element] = memory.elements()
    if index is not None and look.fact_key is not None:
        found = memory.indexes[index].table.get(look.fact_key((fact,)), ())
    for element in found:
        worlds = (element.objects[: look.child.width], as_now(element.objects[: look.child.width]))
        if look.forbids(worlds, fact):
            ended.append(element)
    for element in ended:
        memory.remove(element)


def _undo(working: Working, gone: tuple[Any, ...], old: Fact) -> None:
    """A fact that forbade something is gone, or is another one now."""
    for node in gone:
        for entry in node.undone:
            entry.receive(working, (old,))
