"""Open runs of a key, a list of units: what an event does to them, and the end of their windows."""

from __future__ import annotations

import numpy as np

from cepheid.forecast.kernel.jit import compiled
from cepheid.forecast.kernel.words import (
    COMPLETED,
    ENDED,
    K_COUNT,
    K_HEAD,
    K_INDEX,
    K_MASK,
    K_OLDEST,
    K_RANK,
    K_TAIL,
    N_DEPTH,
    N_FREE,
    N_FREES,
    N_OUTCOMES,
    O_INDEX,
    O_RUN,
    O_TIME,
    O_WHAT,
    U_DEPTH,
    U_EVENT,
    U_MASK,
    U_NEXT,
    U_PARENT,
    U_PLACE,
    U_POSITION,
    U_RANK,
    U_RUN,
    U_SET,
    U_START,
)


@compiled
def tell_outcome(n, outcomes, run, time, index, what):
    row = n[N_OUTCOMES]
    outcomes[row, O_RUN] = run
    outcomes[row, O_TIME] = time
    outcomes[row, O_INDEX] = index
    outcomes[row, O_WHAT] = what
    n[N_OUTCOMES] = row + 1


@compiled
def _free(n, units, unit):
    units[unit, U_NEXT] = n[N_FREE]
    n[N_FREE] = unit
    n[N_FREES] += 1


@compiled
def _begin_list(key):
    key[K_HEAD] = key[K_TAIL] = -1
    key[K_COUNT] = 0
    key[K_MASK] = 0


@compiled
def _append(key, units, unit):
    units[unit, U_NEXT] = -1
    if key[K_HEAD] < 0:
        key[K_HEAD] = unit
        key[K_OLDEST] = units[unit, U_START]
    else:
        units[key[K_TAIL], U_NEXT] = unit
        key[K_OLDEST] = min(key[K_OLDEST], units[unit, U_START])
    key[K_TAIL] = unit
    key[K_COUNT] += 1
    if units[unit, U_PLACE] >= 0:
        key[K_MASK] |= np.int64(1) << units[unit, U_PLACE]


@compiled
def expire(n, key, units, said, outcomes, within, time):
    """Runs whose window is over go, with all that came of them: they have one start."""
    unit = key[K_HEAD]
    _begin_list(key)
    while unit >= 0:
        after = units[unit, U_NEXT]
        deadline = units[unit, U_START] + within
        if deadline < time:
            if said[unit] >= 0.0:
                tell_outcome(n, outcomes, units[unit, U_RUN], deadline, key[K_INDEX], ENDED)
            _free(n, units, unit)
        else:
            _append(key, units, unit)
        unit = after


@compiled
def new_unit(n, key, units, said, place, start, parent, event, position):
    unit = n[N_FREE]
    n[N_FREE] = units[unit, U_NEXT]
    n[N_FREES] -= 1
    depth = 1 if parent < 0 else units[parent, U_DEPTH] + 1
    n[N_DEPTH] = max(n[N_DEPTH], depth)
    bit = np.int64(1) << place
    units[unit, U_DEPTH] = depth
    units[unit, U_PLACE] = place
    units[unit, U_START] = start
    units[unit, U_PARENT] = parent
    units[unit, U_EVENT] = event
    units[unit, U_RANK] = key[K_RANK]
    units[unit, U_POSITION] = position
    units[unit, U_RUN] = -1
    units[unit, U_MASK] = bit
    units[unit, U_SET] = -2
    said[unit] = -1.0
    _append(key, units, unit)
    while parent >= 0:
        units[parent, U_MASK] |= bit
        units[parent, U_SET] = -2
        parent = units[parent, U_PARENT]


@compiled
def visit(visited, place, rank):
    if place >= 0 and visited[place] > rank:
        visited[place] = rank


@compiled
def offer(n, key, units, said, outcomes, visited, table, symbol, event, time, rank):
    """What the event does to each open run of its key. The answer: is any of them not where it was?"""
    stays, children, completes, positions = table[:4]
    moved = False
    unit, last = key[K_HEAD], key[K_TAIL]
    while unit >= 0:
        place = units[unit, U_PLACE]
        if place >= 0:
            if completes[place, symbol]:
                above = unit
                while above >= 0:
                    if said[above] >= 0.0:
                        tell_outcome(n, outcomes, units[above, U_RUN], time, key[K_INDEX], COMPLETED)
                        said[above] = -1.0
                    above = units[above, U_PARENT]
            stay, child = stays[place, symbol], children[place, symbol]
            if stay != place:
                units[unit, U_PLACE] = stay
                moved = True
                visit(visited, stay, rank)
            if child >= 0:
                visit(visited, child, rank)
                start = units[unit, U_START]
                new_unit(n, key, units, said, child, start, unit, event, positions[place, symbol])
        if unit == last:
            break
        unit = units[unit, U_NEXT]
    return moved


@compiled
def settle(n, key, units, said, outcomes, time, scratch):
    """Runs of which nothing is left go; the others know the places of all that came of them."""
    count = 0
    unit = key[K_HEAD]
    while unit >= 0:
        scratch[count] = unit
        count += 1
        place = units[unit, U_PLACE]
        units[unit, U_MASK] = np.int64(1) << place if place >= 0 else 0
        units[unit, U_SET] = -2
        unit = units[unit, U_NEXT]
    for i in range(count - 1, -1, -1):
        unit = scratch[i]
        parent = units[unit, U_PARENT]
        if parent >= 0:
            units[parent, U_MASK] |= units[unit, U_MASK]
    _begin_list(key)
    for i in range(count):
        unit = scratch[i]
        if units[unit, U_MASK] == 0:
            if said[unit] >= 0.0:
                tell_outcome(n, outcomes, units[unit, U_RUN], time, key[K_INDEX], ENDED)
            _free(n, units, unit)
        else:
            _append(key, units, unit)
