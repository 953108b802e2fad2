"""Which stages and guards an edge may be part of: by its label, and by its target where only one will do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from cepheid.graph.edges import Edge, Edges, key_of
from cepheid.graph.finding import ReadyStage
from cepheid.graph.threads import ReadyPattern

StageOf = tuple[int, int]  # pattern, stage
GuardOf = tuple[int, int, int]  # pattern, piece, guard


class _Places:
    """Of anything that has the clauses of a stage. Each is told once, in the order they were put in.

    Where a clause asks for one value, that value is what is looked up: of an edge that says something else of its node,
    by the edges of that label which the node has already. So it does not matter how many others ask for other values.
    """

    def __init__(self) -> None:
        self.free: defaultdict[str, dict[Any, None]] = defaultdict(
            dict
        )  # by label: no clause asks for one value
        self.told: defaultdict[tuple[str, Any], dict[Any, frozenset[str]]] = defaultdict(
            dict
        )  # with all its labels
        self.labels: defaultdict[str, dict[str, None]] = defaultdict(
            dict
        )  # that are looked up for an edge's label

    def put(self, stage: ReadyStage, place: Any) -> None:
        labels = frozenset(clause.label for clause in stage.own)
        asked = next((clause for clause in stage.own if clause.constant is not None), None)
        if asked is None:
            for label in labels:
                self.free[label][place] = None
            return
        self.told[asked.label, key_of(asked.constant)][place] = labels
        for label in labels:
            self.labels[label][asked.label] = None

    def of(self, edge: Edge, edges: Edges) -> list[Any]:
        """An edge that is in the graph already."""
        found = dict(self.free.get(edge.label, ()))
        for label in self.labels.get(edge.label, ()):
            for number in edges.leaving(edge.source, label):
                for place, labels in self.told.get((label, key_of(edges[number].target)), {}).items():
                    if edge.label in labels:
                        found[place] = None
        return list(found)


class WatchList:
    """All that sifters of the same patterns have in common. It is never changed."""

    def __init__(self, patterns: Sequence[ReadyPattern]) -> None:
        self.patterns = [p for p in patterns if not p.pattern.private]
        self.joins = [_joins(pattern) for pattern in self.patterns]
        self._stages, self._guards = _Places(), _Places()
        for number, pattern in enumerate(self.patterns):
            for at, stage in enumerate(pattern.stages):
                self._stages.put(stage, (number, at))
            for place, guard in _guards(number, pattern):
                self._guards.put(guard, place)

    def stages(self, edge: Edge, edges: Edges) -> list[StageOf]:
        return self._stages.of(edge, edges)

    def guards(self, edge: Edge, edges: Edges) -> list[GuardOf]:
        return self._guards.of(edge, edges)


def _guards(number: int, pattern: ReadyPattern) -> Iterator[tuple[GuardOf, ReadyStage]]:
    for piece, rules in enumerate(pattern.rules):
        for at, guard in enumerate(rules.guards):
            yield (number, piece, at), guard.stage


def _joins(pattern: ReadyPattern) -> dict[tuple[int, int], tuple[str, ...]]:
    """By slot and stage: variables that a thread there surely has, and that the stage finds by itself."""
    found = {}
    for slot, bound in zip(range(len(pattern.program.slots)), pattern.program.bound, strict=True):
        for stage in pattern.program.slots[slot].stages:
            found[slot, stage] = tuple(sorted(bound & pattern.stages[stage].finds))
    return found
