"""How many runs the saved words of some keys hold, by state: read off the words, without making the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numba import njit

from cepheid.matching.compiled.kernel.chain_state import W_INDEX, W_WIDTH
from cepheid.matching.compiled.kernel.state import S_HEADER, S_NODES, S_RUNS
from cepheid.matching.compiled.kernel.words import (
    CHAIN,
    COUNTING,
    KIND,
    KIND_STNM,
    NODE_WIDTH,
    POSITIONS,
    R_WIDTH,
    RUN_SAVED,
    RUN_STATE,
)
from cepheid.matching.compiled.tables import Table
from cepheid.plan.automaton import START, Automaton


def open_runs(automaton: Automaton, tables: Table, words: Table, offsets: Table) -> Counter[int]:
    """The runs that `revive` would make. `offsets`: where the words of each key begin, and the last one's end."""
    starts = offsets[:-1][np.diff(offsets) > 0]
    if not len(starts):
        return Counter()
    if tables[CHAIN]:
        return _of_chains(automaton, tables, words, starts)
    counts = np.zeros(automaton.states, np.int64)
    count_states(words, starts, int(tables[R_WIDTH]) - RUN_SAVED, counts)
    return Counter({state: int(counts[state]) for state in np.flatnonzero(counts).tolist()})


@njit(cache=True)
def count_states(words, starts, width, counts):  # type: ignore[no-untyped-def]
    for start in starts:
        first = start + S_HEADER + NODE_WIDTH * words[start + S_NODES] + RUN_STATE - RUN_SAVED
        for run in range(words[start + S_RUNS]):
            counts[words[first + run * width]] += 1


def _spread(first: Table, counts: Table, width: int) -> Table:
    """Where each of some records begins: so many of a width from each place on."""
    ends = np.cumsum(counts)
    found: Table = np.repeat(first - (ends - counts) * width, counts)
    found += np.arange(ends[-1]) * width
    return found


# Chains: a queue of events for each step, and every choice of them in their order is a run.


def _of_chains(automaton: Automaton, tables: Table, words: Table, starts: Table) -> Counter[int]:
    queues = list(_queues(tables, words, starts))
    if not queues:  # one step: nothing waits
        return Counter()
    if tables[COUNTING] or tables[KIND] == KIND_STNM:
        reached = list(_first_ways(queues))
        if not tables[COUNTING]:  # a run is where its way ends
            after = [*reached[1:], 0]
            reached = [here - on for here, on in zip(reached, after, strict=True)]
        counts = reached
    else:
        counts = list(_ways(queues))
    states = _chain_states(automaton)
    return Counter({state: count for state, count in zip(states, counts, strict=False) if count})


def _queues(tables: Table, words: Table, starts: Table) -> Iterator[tuple[Table, Table]]:
    """Of each step the events that wait: which key each is of, and its number in the key's order."""
    steps = int(tables[POSITIONS]) - 1
    at = starts + S_HEADER + steps
    for step in range(steps):
        lengths = words[starts + S_HEADER + step]
        if lengths.sum():
            indexes = words[_spread(at, lengths, W_WIDTH) + W_INDEX]
            yield np.repeat(np.arange(len(starts)), lengths), indexes
        else:
            yield np.zeros(0, np.int64), np.zeros(0, np.int64)
        at = at + lengths * W_WIDTH


def _ways(queues: list[tuple[Table, Table]]) -> Iterator[int]:
    """Every choice: those that end with an event are all that end before it in the queue before."""
    ways = [1] * len(queues[0][0])  # whole numbers of Python: of long queues there are many
    before = queues[0]
    yield len(ways)
    for queue in queues[1:]:
        sums = [0]
        for count in ways:
            sums.append(sums[-1] + count)
        places = _places(before, queue)
        firsts = before[0].searchsorted(queue[0])  # where the key begins
        ways = [sums[p] - sums[f] for p, f in zip(places.tolist(), firsts.tolist(), strict=True)]
        before = queue
        yield sum(ways)


def _first_ways(queues: list[tuple[Table, Table]]) -> Iterator[int]:
    """How many starts come so far, if each takes the first event that comes."""
    at = queues[0]
    yield len(at[0])
    for queue in queues[1:]:
        places = _places(queue, at, right=True)
        there = places < len(queue[0])
        there[there] = queue[0][places[there]] == at[0][there]
        at = at[0][there], queue[1][places[there]]
        yield len(at[0])


def _places(some: tuple[Table, Table], wanted: tuple[Table, Table], right: bool = False) -> Table:
    """Where events would stand in a queue: by their key, then by their number."""
    most = max((int(part[1].max()) for part in (some, wanted) if len(part[1])), default=0) + 1
    own, others = some[0] * most + some[1], wanted[0] * most + wanted[1]
    found: Table = own.searchsorted(others, side="right" if right else "left")
    return found


def _chain_states(automaton: Automaton) -> list[int]:
    """The state after each step."""
    states, state = [], START
    for position in range(len(automaton.positions)):
        edge = next((e for e in automaton.out[state] if e.position == position), None)
        if edge is None:
            break
        state = edge.target
        states.append(state)
    return states
