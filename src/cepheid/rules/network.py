"""The network of a set of rules: the chains of all of them, equal beginnings shared; its nodes are the memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

from cepheid.rules.chains import Chain, Discrimination, Keeping, Step, chains_of
from cepheid.rules.closures import INF, places, test_in_two_worlds
from cepheid.rules.discriminations import ClassNode, DiscriminationNode, EventNode, FactNode
from cepheid.rules.handlers import handler_of
from cepheid.rules.memory import Cell, Element, Holders, Index, Memory, Timers, Waiting, as_now
from cepheid.rules.nodes import EventJoin, FactLook, Node, NoFactLook
from cepheid.rules.objects import Event, Fact
from cepheid.rules.productions import Firing, NoEventLook, Production
from cepheid.rules.resolve import CHANGE, EVENT, FACT, ReadyRule

FORGET_AFTER = 1_000  # ended states of facts, before it is asked which of them are of use


class Network:
    def __init__(
        self,
        rules: list[ReadyRule],
        released: Callable[[Event], None] | None = None,
        *,
        retractable: frozenset[str] = frozenset(),
    ) -> None:
        self.clock: float = -INF
        self.traced = bool(retractable)
        self.made: list[Firing] = []  # by the operation at hand
        self.passed: list[Any] = []  # discriminations of the event at hand
        self.timers = Timers()
        self.dates: list[int] = []  # at which something that waits is judged,
        self.due: dict[int, list[Waiting]] = {}  # and what
        self.fired: dict[int, set[Any]] = {}
        self.classes: dict[tuple[str, str], ClassNode] = {}
        self.discriminations: dict[Discrimination, Any] = {}
        self.nodes: list[Node] = []
        self.memories: list[Memory] = []
        self.waits: list[Memory] = []  # of these the ones of tuples that wait for a date
        self.indexes: dict[Any, Any] = {}
        self.roots: dict[tuple[Discrimination, bool], Node] = {}
        self.looks: dict[tuple[int, Any], NoEventLook] = {}
        self.holders = None if released is None else Holders(released)  # only if it is to be told
        self.past: dict[str, list[tuple[Fact, int]]] = defaultdict(list)  # earlier states by type
        self.past_cells: list[Cell] = []
        self.past_limit = FORGET_AFTER
        self.history = False  # does a step look at earlier states?
        for rule in rules:
            for chain in chains_of(rule):
                self._add(chain)
        for node in self.nodes:
            node.settle()
            for memory in filter(None, (node.memory, node.waits)):
                for look in node.absent:
                    look.wants.forbids.append((memory, look, look.index_in(memory)))
        for found in self.discriminations.values():
            if isinstance(found, EventNode):
                found.joins.sort(key=lambda join: -join.child.depth)
        # If it is to be told which events are let go, all of them must be there to be told of.
        self.handlers: dict[str, Any] = {
            type: handler_of(self, type, type in retractable) if released is None else None
            for kind, type in self.classes
            if kind == EVENT
        }

    # Building.

    def memory(self, node: Node | None, kind: type[Element] = Element) -> Memory:
        made = Memory(self.timers, node, self.holders, kind=kind, traced=self.traced)
        self.memories.append(made)
        return made

    def _node(self, parent: Node | None, wants: Any, step: Step | None, label: str) -> Node:
        node = Node(self, len(self.nodes), parent, wants, step, label)
        self.nodes.append(node)
        return node

    def _discrimination(self, wants: Discrimination) -> Any:
        if wants not in self.discriminations:
            kind = FactNode if wants.kind == FACT else EventNode
            node: DiscriminationNode = kind(len(self.discriminations), wants)
            self.discriminations[wants] = node
            self.classes.setdefault((wants.kind, wants.type), ClassNode()).add(node)
        return self.discriminations[wants]

    def _add(self, chain: Chain) -> None:
        node = self._root(chain)
        names = {at: chain.rule.lines[line].name for line, at in chain.at}
        for step, keeping in chain.steps:
            node = self._child(node, step, keeping, names.get(node.width, ""))
        looks = [self._absence(node, absence) for absence in chain.absences]
        if looks and node.waits is None:
            node.waits = self.memory(node, Waiting)
            self.waits.append(node.waits)
        node.productions.append(Production(self, chain, node, looks))

    def _absence(self, node: Node, absence: Any) -> NoEventLook:
        name = (node.number, absence)
        if name not in self.looks:
            wants = self._discrimination(absence.step.wants)
            self.looks[name] = NoEventLook(self, absence, wants, node.width)
        return self.looks[name]

    def _root(self, chain: Chain) -> Node:
        name = (chain.begins, chain.undone)
        if name not in self.roots:
            wants = self._discrimination(chain.begins)
            names = {at: chain.rule.lines[line].name for line, at in chain.at}
            node = self.roots[name] = self._node(None, wants, None, names.get(0, "gone"))
            if chain.undone:
                wants.undone.append(node)
            else:
                wants.entries.append(node)
            if chain.begins.kind == FACT:
                node.facts = ((0, wants),)
            else:
                node.events = (0,)
        return self.roots[name]

    def _child(self, parent: Node, step: Step, keeping: Keeping | None, label: str) -> Node:
        child = parent.children.get(step)
        if child is None:
            wants = self._discrimination(step.wants)
            child = parent.children[step] = self._node(parent, wants, step, label)
            self._connect(parent, step, child, wants)
        if keeping is not None:
            join: EventJoin = child.join
            parent.ask(keeping)
            join.asked.add(keeping.after)
            if join.wants.keep_for(keeping, join):
                join.store_events()
                join.same = False
            if (join.same or join.event_index is not None) and join not in parent.looking_back:
                parent.looking_back.append(join)
        return child

    def _connect(self, parent: Node, step: Step, child: Node, wants: Any) -> None:
        if step.absent:
            child.join = NoFactLook(self, step, wants, child)
            parent.looks.append(child.join)
            child.absent = (*child.absent, child.join)
        elif step.wants.kind == FACT:
            child.join = FactLook(self, step, wants, child)
            parent.looks.append(child.join)
            child.facts = (*child.facts, (child.width - 1, wants))
            test = test_in_two_worlds(tuple(step.fact_tests))
            if test is not None:
                involved = frozenset().union(*map(places, step.fact_tests))
                child.holds = (*child.holds, (involved, test))
        else:
            self._connect_event(parent, step, child, wants)
        self.history = self.history or step.late

    def _connect_event(self, parent: Node, step: Step, child: Node, wants: EventNode) -> None:
        if parent.memory is None:
            parent.memory = self.memory(parent)
        child.events = (*child.events, child.width - 1)
        same = len(parent.events) == 1 and not step.apart and self._begins_alike(parent, step.wants)
        join = child.join = EventJoin(self, step, wants, parent, child, same)
        parent.joins.append(join)
        wants.joins.append(join)

    def _begins_alike(self, node: Node, wants: Discrimination) -> bool:
        while node.parent is not None:
            node = node.parent
        begins = node.wants.wants
        return (begins.kind, begins.type) == (wants.kind, wants.type)

    # Events.

    def event(self, event: Event, kind: str = EVENT) -> None:
        """An event comes, while facts are as they were just before it."""
        found = self.classes.get((kind, event.type))
        if found is None:
            return
        passed = self.passed = found.passed(event)
        joins: list[EventJoin] = []
        for node in passed:
            if node.memory is not None:
                until = node.until(event.time)
                if until >= self.clock:
                    node.memory.add((event,), until)
            joins += node.joins
        if len(passed) > 1:
            joins.sort(key=lambda join: -join.child.depth)
        # Deep joins first: what the event itself brings into stored tuples must not meet it twice.
        for join in joins:
            join.on_event(event)
        objects = (event,)
        for node in passed:
            for entry in node.entries:
                entry.receive(objects)

    def holds(self, event: Event) -> bool:
        return self.holders is not None and event in self.holders.counts

    def retract_event(self, event: Event) -> None:
        event.retracted = True
        if event.held is not None:
            for element in event.held:
                element.memory.remove(element)
            event.held = []
            return
        for memory in self.memories:
            for element in [e for e in memory.elements if event in e.objects]:
                memory.remove(element)

    # Facts.

    def assert_fact(self, cell: Cell) -> None:
        self._enter(cell)

    def update_fact(self, cell: Cell, new: Fact, change: Event) -> None:
        self.event(change, CHANGE)
        gone, old = cell.seen_by, cell.now
        self._end_state(cell, new.number)
        for node in gone:
            node.remove(cell)
        cell.now = new
        self._enter(cell)
        for element in list(cell.elements):
            node = element.memory.node
            if node is not None and not node.still_holds(element, cell):
                element.memory.remove(element)
        self._undo(gone, old)

    def retract_fact(self, cell: Cell, number: int) -> None:
        gone = cell.seen_by
        self._end_state(cell, number)
        for node in gone:
            node.remove(cell)
        cell.seen_by = ()
        for element in list(cell.elements):
            element.memory.remove(element)
        self._undo(gone, cell.now)

    def _enter(self, cell: Cell) -> None:
        found = self.classes.get((FACT, cell.type))
        if found is None:
            return
        passed = found.passed(cell.now)
        cell.seen_by = tuple(passed)
        for node in passed:
            node.add(cell)
        for node in passed:
            for memory, look, index in node.forbids:
                self._forbid(memory, look, index, cell.now)
        objects = (cell.now,)
        for node in passed:
            for entry in node.entries:
                entry.receive(objects)

    def _forbid(self, memory: Memory, look: NoFactLook, index: Index | None, fact: Fact) -> None:
        """Stored tuples end for which such a fact must not be."""
        ended = []
        found: Iterable[Element] = memory.elements
        if index is not None and look.fact_key is not None:
            found = index.table.get(look.fact_key((fact,)), ())
        for element in found:
            worlds = (element.objects[: look.child.width], as_now(element.objects[: look.child.width]))
            if look.forbids(worlds, fact):
                ended.append(element)
        for element in ended:
            memory.remove(element)

    def _undo(self, gone: tuple[Any, ...], old: Fact) -> None:
        """A fact that forbade something is gone, or is another one now."""
        for node in gone:
            for entry in node.undone:
                entry.receive((old,))

    # Earlier states.

    def _end_state(self, cell: Cell, number: int) -> None:
        for fired, numbers in cell.fired:
            fired.discard(numbers)
        cell.fired.clear()
        if not self.history:
            return
        cell.past.append((cell.now, number))
        self.past[cell.type].append((cell.now, number))
        self.past_cells.append(cell)
        if len(self.past_cells) > self.past_limit:
            self.forget()

    def forget(self) -> None:
        """States that ended before the first event of every stored tuple are of no use."""
        firsts = [e.objects[0].number for m in self.memories if m.node is not None for e in m.elements]
        least = min(firsts, default=INF)
        self.past_cells = [c for c in self.past_cells if c.past and c.past[-1][1] >= least]
        for cell in self.past_cells:
            cell.past = [(state, end) for state, end in cell.past if end >= least]
        for states in self.past.values():
            states[:] = [(state, end) for state, end in states if end >= least]
        self.past_limit = max(FORGET_AFTER, 2 * len(self.past_cells))

    # Time.

    def wait(self, element: Waiting, date: int) -> None:
        if date not in self.due:
            self.due[date] = []
            heappush(self.dates, date)
        self.due[date].append(element)

    def next_date(self) -> float:
        """At which something that waits is to be judged."""
        while self.dates and not any(e.alive for e in self.due[self.dates[0]]):
            del self.due[heappop(self.dates)]
        return self.dates[0] if self.dates else INF

    def judge(self, date: int) -> None:
        """Time has passed this date; all operations of that time are done."""
        heappop(self.dates)
        for element in self.due.pop(date):
            if element.alive:
                element.production.judge(element, date)

    def move_to(self, time: float) -> None:
        heap = self.timers.heap
        if heap and heap[0][0] < time:
            self.timers.pass_to(time)
        self.clock = time
