"""The network of a set of rules: the chains of all of them, equal beginnings shared.

It is built once and does not change: what its nodes keep is in the working memory of each session.
"""

from __future__ import annotations

from typing import Any

from cepheid.rules.chains import Chain, Discrimination, Keeping, Step, chains_of
from cepheid.rules.closures import places, test_in_two_worlds
from cepheid.rules.discriminations import ClassNode, DiscriminationNode, EventNode, FactNode
from cepheid.rules.dispatch import handler_of
from cepheid.rules.handlers import Binding
from cepheid.rules.memory import Element, MemoryPlan, Waiting
from cepheid.rules.nodes import EventJoin, FactLook, Node, NoFactLook
from cepheid.rules.productions import NoEventLook, Production
from cepheid.rules.resolve import EVENT, FACT, ReadyRule


class Network:
    def __init__(self, rules: list[ReadyRule], retractable: frozenset[str] = frozenset()) -> None:
        """`retractable`: types of events that some rule retracts."""
        self.traced = bool(retractable)
        self.classes: dict[tuple[str, str], ClassNode] = {}
        self.discriminations: dict[Discrimination, Any] = {}
        self.nodes: list[Node] = []
        self.memories: list[MemoryPlan] = []
        self.waits: list[int] = []  # numbers of those with tuples that wait for a date
        self.counters = 0
        self.roots: dict[tuple[Discrimination, bool], Node] = {}
        self.looks: dict[tuple[int, Any], NoEventLook] = {}
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
        self.handlers: dict[str, Binding | None] = {
            type: handler_of(self, type, type in retractable) for kind, type in self.classes if kind == EVENT
        }

    # Building.

    def memory(self, node: Node | None, kind: type[Element] = Element) -> MemoryPlan:
        made = MemoryPlan(len(self.memories), node, kind, self.traced)
        self.memories.append(made)
        return made

    def counter(self) -> int:
        self.counters += 1
        return self.counters - 1

    def _node(self, parent: Node | None, wants: Any, step: Step | None, label: str) -> Node:
        node = Node(self, len(self.nodes), parent, wants, step, label)
        self.nodes.append(node)
        return node

    def _discrimination(self, wants: Discrimination) -> Any:
        if wants not in self.discriminations:
            kind = FactNode if wants.kind == FACT else EventNode
            node: DiscriminationNode = kind(len(self.discriminations), wants, self.counter())
            self.discriminations[wants] = node
            kind_and_type = (wants.kind, wants.type)
            if kind_and_type not in self.classes:
                self.classes[kind_and_type] = ClassNode(self.counter())
            self.classes[kind_and_type].add(node)
        return self.discriminations[wants]

    def _add(self, chain: Chain) -> None:
        node = self._root(chain)
        names = {at: chain.rule.lines[line].name for line, at in chain.at}
        for step, keeping in chain.steps:
            node = self._child(node, step, keeping, names.get(node.width, ""))
        looks = [self._absence(node, absence) for absence in chain.absences]
        if looks and node.waits is None:
            node.waits = self.memory(node, Waiting)
            self.waits.append(node.waits.number)
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
            child.join = NoFactLook(step, wants, child)
            parent.looks.append(child.join)
            child.absent = (*child.absent, child.join)
        elif step.wants.kind == FACT:
            child.join = FactLook(step, wants, child)
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
