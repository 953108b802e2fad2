"""A key's state from the kernel as a partition of the reference matcher, which goes on where the kernel gives up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cepheid.matching.compiled.kernel.chain_state import W_WIDTH
from cepheid.matching.compiled.kernel.state import (
    S_EVICTED,
    S_FIRST_STEP,
    S_FURTHEST,
    S_GIVEN,
    S_HEADER,
    S_HISTORY,
    S_INDEX,
    S_MATCHED,
    S_NODES,
    S_NOW,
    S_RANK_NOW,
    S_RECENT,
    S_RUNS,
    S_VIOLATED_AT,
)
from cepheid.matching.compiled.kernel.words import (
    BLOCK_WORDS,
    CHAIN,
    CLOSURES,
    COUNTING,
    ENDED,
    MASK,
    NEVER,
    NODE_BEFORE,
    NODE_INDEX,
    NODE_POSITION,
    NODE_RANK,
    NODE_ROW,
    NODE_WIDTH,
    POSITIONS,
    R_BLOCKED,
    R_COUNTS,
    R_MARKS,
    R_SCOPES,
    R_WEIGHT,
    R_WIDTH,
    RUN_AWAITED,
    RUN_BLOCKED_ACCEPTS,
    RUN_CLOSED,
    RUN_NODE,
    RUN_PATH,
    RUN_SAVED,
    RUN_START,
    RUN_STATE,
    SCOPES,
)
from cepheid.matching.compiled.tables import Table, components_of
from cepheid.matching.counting import CountingPartition
from cepheid.matching.every import EveryPartition
from cepheid.matching.partition import Partition
from cepheid.matching.run import Run, Taken
from cepheid.matching.stnm import NextMatchPartition
from cepheid.pattern.event import Event
from cepheid.plan.automaton import START


def revive(partition: Partition, tables: Table, words: Table, events: list[Event]) -> None:
    """Fills a new partition with a key's state. The events are those the state was saved with, in their order."""
    reader = _ChainReader if tables[CHAIN] else _Reader
    reader(partition, tables, words, events).read()


class _Reader:
    def __init__(self, partition: Partition, tables: Table, words: Table, events: list[Event]) -> None:
        self.partition, self.events = partition, events
        self.t, self.words = tables.tolist(), words.tolist()
        self.at = S_HEADER
        self.components = {i: c for c, i in components_of(partition.plan.automaton).items()}

    def read(self) -> None:
        words, partition = self.words, self.partition
        partition.index, partition.rank = words[S_INDEX], words[S_RANK_NOW]
        partition.time = None if words[S_NOW] == -NEVER else words[S_NOW]
        partition.evicted = words[S_EVICTED]
        self.nodes = self._nodes()
        partition.runs = [self._run() for _ in range(words[S_RUNS])]
        furthest = [self._run() for _ in range(words[S_FURTHEST])]
        partition.furthest = {run.start: run for run in furthest}
        for absence, row in self._rows(S_RECENT, 2):
            partition.recent[absence].append(self.events[row])
        partition.matched = {start for (start,) in self._rows(S_MATCHED, 1)}
        history = list(self._rows(S_HISTORY, 4))
        given = list(self._rows(S_GIVEN, 3))
        first_step = list(self._rows(S_FIRST_STEP, 3))
        if isinstance(partition, NextMatchPartition):
            self._next_match(partition, history, given)
        if isinstance(partition, EveryPartition):
            partition.first_step = [self._seen(row, index, rank) for row, index, rank in first_step]
            partition.violated_at = words[S_VIOLATED_AT]

    def _next_match(self, partition: NextMatchPartition, history: list[Any], given: list[Any]) -> None:
        partition.history = [self._seen(row, index, rank) for row, index, rank, _ in history]
        partition.owner = {index: owner for _, index, _, owner in history if owner}
        for start, one, two in given:
            text = f"{one % 2**64:016x}{two % 2**64:016x}"
            partition.given.setdefault(start, set()).add(text)

    def _seen(self, row: int, index: int, rank: int) -> Any:
        event = self.events[row]
        return self.partition.tests.look_at(event), Taken(-1, event, index, rank)

    def _rows(self, counter: int, width: int) -> Iterator[tuple[int, ...]]:
        for _ in range(self.words[counter]):
            yield tuple(self.words[self.at : self.at + width])
            self.at += width

    def _nodes(self) -> list[tuple[int, Taken]]:
        found = []
        for _ in range(self.words[S_NODES]):
            node = self.words[self.at : self.at + NODE_WIDTH]
            self.at += NODE_WIDTH
            event = self.events[node[NODE_ROW]]
            taken = Taken(node[NODE_POSITION], event, node[NODE_INDEX], node[NODE_RANK])
            found.append((node[NODE_BEFORE], taken))
        return found

    def _run(self) -> Run:
        t = self.t
        width = t[R_WIDTH] - RUN_SAVED
        own = [0] * RUN_SAVED + self.words[self.at : self.at + width]
        self.at += width
        taken = self._chain(own[RUN_NODE])
        binds: dict[str, tuple[Event, ...]] = {}
        for one in taken:
            alias = self.partition.plan.automaton.positions[one.position].step.alias
            if alias is not None:
                binds[alias] = (*binds.get(alias, ()), one.event)
        marks = own[t[R_MARKS] : t[R_MARKS] + len(self.components)]
        by_index = {one.index: one for one in taken}
        # The way it came is a number there: copies that came the same way have the same one.
        path: list[tuple[int, int]] = [(0, own[RUN_PATH])]
        if own[RUN_AWAITED] != NEVER:
            path.append((-1, own[RUN_AWAITED]))
        return Run(
            own[RUN_START],
            own[RUN_STATE],
            taken,
            binds,
            {i: n for i, n in enumerate(own[t[R_COUNTS] : t[R_COUNTS] + t[CLOSURES]]) if n},
            _closed(own[RUN_CLOSED], t[CLOSURES]),
            self._blocked(own),
            {
                self.components[i]: by_index[self.nodes[node][1].index]
                for i, node in enumerate(marks)
                if node >= 0
            },
            dict(enumerate(own[t[R_SCOPES] : t[R_SCOPES] + t[SCOPES]])),
            tuple(path),
            weight=own[t[R_WEIGHT]] if t[COUNTING] else 1,
        )

    def _chain(self, node: int) -> tuple[Taken, ...]:
        found: list[Taken] = []
        while node >= 0:
            before, taken = self.nodes[node]
            found.append(taken)
            node = before
        return tuple(reversed(found))

    def _blocked(self, own: list[int]) -> frozenset[int]:
        t = self.t
        words = own[t[R_BLOCKED] : t[R_BLOCKED] + t[BLOCK_WORDS]]
        bases = {MASK * i + bit for i, word in enumerate(words) for bit in _bits(word)}
        accepts = {-1 - number for number in _bits(own[RUN_BLOCKED_ACCEPTS])}
        return frozenset(bases | accepts)


class _ChainReader(_Reader):
    """Runs of a chain are not kept: they are every choice of events, or for `stnm` the first that come."""

    def read(self) -> None:
        words, partition = self.words, self.partition
        partition.index, partition.rank = words[S_INDEX], words[S_RANK_NOW]
        partition.time = None if words[S_NOW] == -NEVER else words[S_NOW]
        partition.evicted = words[S_EVICTED]
        lengths = words[S_HEADER : S_HEADER + self.t[POSITIONS] - 1]
        self.at = S_HEADER + len(lengths)
        queues = [self._queue(p, count) for p, count in enumerate(lengths)]
        starts = queues[0] if queues else []
        if isinstance(partition, NextMatchPartition):
            partition.runs = [self._chain_run(self._first_way(start, queues)) for start in starts]
            waiting = {taken.index: taken for queue in queues for taken in queue}
            partition.history = [self._again(waiting[index]) for index in sorted(waiting)]
        elif isinstance(partition, CountingPartition):
            partition.runs = list(self._weighted(queues))
        else:
            partition.runs = [self._chain_run(w) for start in starts for w in self._ways([start], queues)]

    def _queue(self, p: int, count: int) -> list[Taken]:
        found = []
        for _ in range(count):
            row, index, rank, matched = self.words[self.at : self.at + W_WIDTH]
            self.at += W_WIDTH
            found.append(Taken(p, self.events[row], index, rank))
            if matched:
                self.partition.matched.add(index)
        return found

    def _first_way(self, start: Taken, queues: list[list[Taken]]) -> list[Taken]:
        way = [start]
        for queue in queues[1:]:
            later = bisect_right(queue, way[-1].index, key=_index)
            if later == len(queue):
                break
            way.append(queue[later])
        return way

    def _ways(self, way: list[Taken], queues: list[list[Taken]]) -> Iterator[list[Taken]]:
        """Those that went on before the one that stayed, as the partition keeps them."""
        if len(way) < len(queues):
            queue = queues[len(way)]
            for taken in queue[bisect_right(queue, way[-1].index, key=_index) :]:
                yield from self._ways([*way, taken], queues)
        yield way

    def _weighted(self, queues: list[list[Taken]]) -> Iterator[Run]:
        """One run for all of a start that got equally far. Their numbers: see `kernel/chain_counts.py`."""
        steps = len(queues)
        growth = [[int(i == j) for j in range(steps)] for i in range(steps)]  # since the event at hand
        rows: dict[int, list[int]] = {}
        events = sorted((taken for queue in queues for taken in queue), key=lambda t: (-t.index, t.position))
        for taken in events:
            if taken.position == 0:
                rows[taken.index] = list(growth[0])
            else:
                above, own = growth[taken.position - 1], growth[taken.position]
                growth[taken.position - 1] = [x + y for x, y in zip(above, own, strict=True)]
        for start in queues[0] if queues else []:
            way = self._first_way(start, queues)
            for reached in range(len(way), 0, -1):
                yield replace(self._chain_run(way[:reached]), weight=rows[start.index][reached - 1])

    def _again(self, taken: Taken) -> Any:
        return self.partition.tests.look_at(taken.event), replace(taken, position=-1)

    def _chain_run(self, way: list[Taken]) -> Run:
        moves = self.partition.moves
        run = Run(way[0].index, START, (), {}, {})
        for taken in way:
            edge = next(e for e in moves.automaton.out[run.state] if e.position == taken.position)
            run = moves.extended(run, edge, taken)
        return run


def _index(taken: Taken) -> int:
    return taken.index


def _closed(word: int, closures: int) -> frozenset[int]:
    if closures > ENDED:  # none of them is a greedy one with `until`
        return _bits(word)
    return frozenset(i if i < ENDED else -1 - (i - ENDED) for i in _bits(word))


def _bits(word: int) -> frozenset[int]:
    return frozenset(i for i in range(MASK) if (word >> i) & 1)
