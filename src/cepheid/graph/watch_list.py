"""Which stages and guards an edge may be part of: by its label, and by its target where only one will do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from cepheid.graph.edges import Edge, key_of
from cepheid.graph.finding import ReadyStage
from cepheid.graph.threads import ReadyPattern

StageOf = tuple[int, int]  # pattern, stage
GuardOf = tuple[int, int, int]  # pattern, piece, guard


class _Places:
    """Of anything that has the clauses of a stage. Each is told once, in the order they were put in."""

    def __init__(self) -> None:
        self.any: defaultdict[str, dict[Any, None]] = defaultdict(dict)
        self.one: defaultdict[tuple[str, Any], dict[Any, None]] = defaultdict(dict)

    def put(self, stage: ReadyStage, place: Any) -> None:
        for clause in stage.own:
            if clause.constant is None:
                self.any[clause.label][place] = None
            else:
                self.one[clause.label, key_of(clause.constant)][place] = None

    def of(self, edge: Edge) -> list[Any]:
        one = self.one.get((edge.label, key_of(edge.target)))
        some = self.any.get(edge.label)
        if one is None or some is None:
            return list(one or some or ())
        return list({**one, **some})


class WatchList:
    def __init__(self, patterns: Sequence[ReadyPattern]) -> None:
        self._stages, self._guards = _Places(), _Places()
        for number, pattern in enumerate(patterns):
            for at, stage in enumerate(pattern.stages):
                self._stages.put(stage, (number, at))
            for place, guard in _guards(number, pattern):
                self._guards.put(guard, place)

    def stages(self, edge: Edge) -> list[StageOf]:
        return self._stages.of(edge)

    def guards(self, edge: Edge) -> list[GuardOf]:
        return self._guards.of(edge)


def _guards(number: int, pattern: ReadyPattern) -> Iterator[tuple[GuardOf, ReadyStage]]:
    for piece, rules in enumerate(pattern.rules):
        for at, guard in enumerate(rules.guards):
            yield (number, piece, at), guard.stage
