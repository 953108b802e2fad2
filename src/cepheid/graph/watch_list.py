"""Which stages and guards an edge may be part of: by its label, and by its target where only one will do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cepheid.graph.edges import Edge, Edges, key_of
from cepheid.graph.finding import ReadyStage
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.expr import Expr
from cepheid.pattern.text import expr_text

StageOf = tuple[int, int]  # pattern, stage
GuardOf = tuple[int, int, int]  # pattern, piece, guard


class Group(NamedTuple):
    """Stages, or guards, that find threads in the same way: all at once, by these variables."""

    number: int
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Alike:
    """Stages, or guards, that ask the same of the edges of their own node: what is found for one is found for all.

    Those of which something is known only when a time is over are `apart`; each has a group of its own.
    """

    stage: ReadyStage
    labels: frozenset[str]
    begins: list[StageOf] = field(default_factory=list)  # stages that a thread may begin with
    groups: dict[Group, set[tuple[int, int]]] = field(
        default_factory=dict
    )  # with slots or pieces of patterns
    apart: list[Any] = field(default_factory=list)  # StageOf or GuardOf


class _Places:
    """Of anything that has the clauses of a stage. Each is told once, in the order they were put in.

    Where a clause asks for one value, that value is what is looked up: of an edge that says something else of its node,
    by the edges of that label which the node has already. So it does not matter how many others ask for other values.
    """

    def __init__(self) -> None:
        self.alike: dict[Any, Alike] = {}
        self.free: defaultdict[str, list[Alike]] = defaultdict(list)  # by label: no clause asks for one value
        self.told: defaultdict[tuple[str, Any], list[Alike]] = defaultdict(list)
        self.labels: defaultdict[str, dict[str, None]] = defaultdict(dict)  # looked up for an edge's label

    def put(self, stage: ReadyStage) -> Alike:
        """Those that ask for the same."""
        asks = stage.anchor, *((c.label, c.bind, _text(c.clause.test)) for c in stage.own)
        known = self.alike.get(asks)
        if known is None:
            known = self.alike[asks] = Alike(stage, frozenset(clause.label for clause in stage.own))
            self._look_up(known)
        return known

    def _look_up(self, new: Alike) -> None:
        asked = next((clause for clause in new.stage.own if clause.constant is not None), None)
        if asked is None:
            for label in new.labels:
                self.free[label].append(new)
            return
        self.told[asked.label, key_of(asked.constant)].append(new)
        for label in new.labels:
            self.labels[label][asked.label] = None

    def of(self, edge: Edge, edges: Edges) -> list[Alike]:
        """Of an edge that is in the graph already: those for which its node has edges of all labels."""
        found = dict.fromkeys(self.free.get(edge.label, ()))
        for label in self.labels.get(edge.label, ()):
            for number in edges.leaving(edge.source, label):
                for alike in self.told.get((label, key_of(edges[number].target)), ()):
                    if edge.label in alike.labels:
                        found[alike] = None
        return [a for a in found if all(edges.leaving(edge.source, label) for label in a.labels)]


def _text(test: Expr | None) -> str:
    """1 and true are different values, though Python has them equal."""
    return "" if test is None else expr_text(test)


class WatchList:
    """All that sifters of the same patterns have in common. It is never changed."""

    def __init__(self, patterns: Sequence[ReadyPattern]) -> None:
        self.patterns = [p for p in patterns if not p.pattern.private]
        self._numbers = 0
        self._stages, self._guards = _Places(), _Places()
        # By pattern and stage; by pattern, piece and guard.
        self.stage_groups = [self._of_stages(n, p) for n, p in enumerate(self.patterns)]
        self.guard_groups = [self._of_guards(n, p) for n, p in enumerate(self.patterns)]

    def stages(self, edge: Edge, edges: Edges) -> list[Alike]:
        return self._stages.of(edge, edges)

    def guards(self, edge: Edge, edges: Edges) -> list[Alike]:
        return self._guards.of(edge, edges)

    def _of_stages(self, number: int, pattern: ReadyPattern) -> list[Group]:
        groups = []
        for at, stage in enumerate(pattern.stages):
            slot, alike = pattern.slot_of[at], self._stages.put(stage)
            # Variables that a thread there surely has, and that the stage finds by itself.
            names = tuple(sorted(pattern.program.bound[slot] & stage.finds))
            if pattern.remembered(at):
                alike.apart.append((number, at))
                groups.append(self._new(names))
                continue
            if pattern.begun_in(slot):
                alike.begins.append((number, at))
            groups.append(self._shared(alike, names, (number, slot)))
        return groups

    def _of_guards(self, number: int, pattern: ReadyPattern) -> list[list[Group]]:
        groups: list[list[Group]] = []
        for piece, rules in enumerate(pattern.rules):
            groups.append([])
            for at, guard in enumerate(rules.guards):
                alike = self._guards.put(guard.stage)
                if guard.stage.waits:
                    alike.apart.append((number, piece, at))
                    groups[-1].append(self._new(guard.keys))
                else:
                    groups[-1].append(self._shared(alike, guard.keys, (number, piece)))
        return groups

    def _shared(self, alike: Alike, names: tuple[str, ...], owner: tuple[int, int]) -> Group:
        """One in which no other of its owner is: a thread is in it once."""
        for group, owners in alike.groups.items():
            if group.names == names and owner not in owners:
                owners.add(owner)
                return group
        new = self._new(names)
        alike.groups[new] = {owner}
        return new

    def _new(self, names: tuple[str, ...]) -> Group:
        self._numbers += 1
        return Group(self._numbers, names)
