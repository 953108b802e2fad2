"""The entrance of the network: which tests of a single object does it pass? Each test is asked once an object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.pattern.expr import Binary, Expr, Field, Literal
from cepheid.rules.chains import Discrimination, Keeping
from cepheid.rules.closures import EXACT, INF, Test, test_of
from cepheid.rules.keys import Key, key_of
from cepheid.rules.memory import Cell, MemoryPlan, Objects
from cepheid.rules.objects import Fact


class DiscriminationNode:
    """Objects of one type that pass the same tests."""

    def __init__(self, number: int, wants: Discrimination, count: int) -> None:
        self.number, self.wants, self.count = number, wants, count
        self.whole_test: Test | None = test_of(tuple(wants.tests))
        self.test = self.whole_test  # what is still to be asked after a value was looked up
        self.entries: list[Any] = []  # nodes of chains that begin here


class FactNode(DiscriminationNode):
    """Facts as they are now; a session has them all, and by the values that joins ask for."""

    def __init__(self, number: int, wants: Discrimination, count: int) -> None:
        super().__init__(number, wants, count)
        self.tables: list[Key] = []
        self.named: dict[tuple[Expr, ...], int] = {}
        self.undone: list[Any] = []  # nodes of chains that begin when a fact is gone
        self.forbids: list[Any] = []  # (memory of tuples, absence, index): a new fact may end them

    def table(self, exprs: tuple[Expr, ...]) -> int | None:
        """The place of the table by these values."""
        if not exprs:
            return None
        if exprs not in self.named:
            key = key_of(exprs)
            assert key is not None
            self.named[exprs] = len(self.tables)
            self.tables.append(key)
        return self.named[exprs]


class FactMemory:
    """The facts of one node in one session."""

    __slots__ = ("members", "tables")

    def __init__(self, node: FactNode) -> None:
        self.members: dict[Cell, Fact] = {}
        self.tables = [FactTable(key) for key in node.tables]

    def add(self, cell: Cell, state: Fact) -> None:
        keys = [table.key((state,)) for table in self.tables]  # first what may fail
        self.members[cell] = state
        for table, key in zip(self.tables, keys, strict=True):
            table.add(cell, state, key)

    def remove(self, cell: Cell) -> None:
        state = self.members.pop(cell)
        for table in self.tables:
            table.remove(cell, state)


class FactTable:
    __slots__ = ("facts", "key", "plain")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.plain = True  # all keys are texts or whole numbers
        self.facts: dict[Any, dict[Cell, Fact]] = {}

    def add(self, cell: Cell, state: Fact, key: Any) -> None:
        if key is not None:
            if key.__class__ is not str and key.__class__ is not int:
                self.plain = False
            self.facts.setdefault(key, {})[cell] = state

    def remove(self, cell: Cell, state: Fact) -> None:
        key = self.key((state,))
        if key is not None:
            found = self.facts[key]
            del found[cell]
            if not found:
                del self.facts[key]


class EventNode(DiscriminationNode):
    """Events, of which only those are stored that a join may still ask for."""

    def __init__(self, number: int, wants: Discrimination, count: int) -> None:
        super().__init__(number, wants, count)
        self.joins: list[Any] = []
        self.memory: MemoryPlan | None = None
        self.keep: float = -1  # how long, at most, anybody asks for
        self.asked: list[tuple[Any, float]] = []  # (who, for how long)

    def ask(self, who: Any, keep: float) -> None:
        self.asked.append((who, keep))
        self.keep = max(self.keep, keep)

    def until(self, time: int) -> float:
        return INF if self.keep == INF else time + self.keep

    def keep_for(self, keeping: Keeping, who: Any) -> bool:
        """Must events be stored for this join?"""
        if keeping.before < 0:
            return False
        self.ask(who, keeping.before)
        return True


class Constants:
    """Discriminations that ask one field for equality with constants of one kind."""

    def __init__(self, name: str, kind: type) -> None:
        self.name, self.kind = name, kind
        self.nodes: dict[Any, list[DiscriminationNode]] = {}
        self.tests: dict[Any, Test | None] = {}

    def add(self, value: Any, test: Expr, node: DiscriminationNode) -> None:
        self.nodes.setdefault(value, []).append(node)
        self.tests[value] = test_of([test])

    def find(self, thing: Any) -> Sequence[DiscriminationNode]:
        value = thing.fields.get(self.name)
        if value is None:
            return ()
        given = value.__class__
        if given is self.kind or (given is float and self.kind is int):
            return self.nodes.get(value, ())
        # Of another kind: compared one by one, so that a clash of types is told.
        return [
            n for v, test in self.tests.items() if test is not None and test((thing,)) for n in self.nodes[v]
        ]


class ClassNode:
    """All discriminations of one type. Equalities with a constant are looked up, other tests are asked."""

    def __init__(self, count: int) -> None:
        self.count = (
            count  # of objects that came; if there is one discrimination, of those that did not pass it
        )
        self.nodes: list[DiscriminationNode] = []
        self.plain: list[DiscriminationNode] = []
        self.constants: dict[tuple[str, type], Constants] = {}

    @property
    def counters(self) -> list[int]:
        """Together they tell what came."""
        return [self.count, *(node.count for node in self.nodes if len(self.nodes) == 1)]

    def add(self, node: DiscriminationNode) -> None:
        self.nodes.append(node)
        found = min(filter(None, map(constant_of, node.wants.tests)), default=None, key=repr)
        if found is None:
            self.plain.append(node)
            return
        name, value, test = found
        node.test = test_of([t for t in node.wants.tests if t is not test])
        kind = (name, value.__class__)
        if kind not in self.constants:
            self.constants[kind] = Constants(*kind)
        self.constants[kind].add(value, test, node)

    def passed(self, thing: Any, counted: Any) -> list[Any]:
        """The discriminations that an object passes."""
        objects: Objects = (thing,)
        result = [node for node in self.plain if node.test is None or node.test(objects)]
        for constants in self.constants.values():
            for node in constants.find(thing):
                if node.test is None or node.test(objects):
                    result.append(node)
        for node in result:
            counted.append(node.count)
        if not result or len(self.nodes) > 1:
            counted.append(self.count)
        return result


def constant_of(test: Expr) -> tuple[str, Any, Expr] | None:
    """`field == literal`, of a text or a whole number."""
    if not isinstance(test, Binary) or test.op != "==" or not isinstance(test.left, Field):
        return None
    if len(test.left.path) != 1 or not isinstance(test.right, Literal):
        return None
    value = test.right.value
    if value.__class__ is str or (value.__class__ is int and abs(value) < EXACT):
        return test.left.path[0], value, test
    return None
