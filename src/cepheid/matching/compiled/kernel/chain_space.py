"""The working space of chains: a queue of events for every step but the last, and counts of runs as matrices.

The header is that of `space.py`; its parts are others. An event in a queue is told by its number, which counts all that
were ever put into it; a queue is a ring.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.space import (
    EMPTY,
    FULL,
    INDEX,
    N_OUT,
    NOW,
    RANK_NOW,
    SPACE_HEADER,
    STATUS,
    event_int,
)
from cepheid.matching.compiled.kernel.words import NEVER, POSITIONS, TIME

# --- where the parts begin, and the room of a queue ---
(
    QUEUES,  # the queues, one after the other
    QUEUE_ROOM,  # a power of two
    FIRST,  # per queue: the number of its oldest event
    BEHIND,  # per queue: the number the next one will have
    GROWTH,  # how runs of each state became runs of each other since the beginning, a matrix
    SHRINKAGE,  # its inverse
    SHARES,  # per start: what the matrix is to be multiplied with to know its runs; a ring like its queue
    TOTALS,  # how many runs of all starts there are in each state
    PICKED,  # per queue: the event at hand, when matches are listed
    LAST_PICK,  # per queue: the last event that can be picked
) = range(EMPTY, EMPTY + 10)

# --- an event in a queue ---
(
    I_ROW,
    I_INDEX,
    I_RANK,
    I_BEFORE,  # how many events of the queue before had come
    I_AFTER,  # how many events of the queue after had come
    I_WIDTH,
) = range(6)


def new_chain_space(t: Any, events: int) -> Any:
    """Room for so many waiting events a step: a power of two."""
    steps = int(t[POSITIONS])
    parts = [
        (QUEUES, steps * events * I_WIDTH),
        (FIRST, steps),
        (BEHIND, steps),
        (GROWTH, steps * steps),
        (SHRINKAGE, steps * steps),
        (SHARES, steps * events),
        (TOTALS, steps),
        (PICKED, steps),
        (LAST_PICK, steps),
    ]
    space = np.zeros(SPACE_HEADER + sum(size for _, size in parts), np.int64)
    at = SPACE_HEADER
    for part, size in parts:
        space[part] = at
        at += size
    space[QUEUE_ROOM] = events
    return space


@inner
def reset_chain(t, w):
    """A new partition: nothing is open, nothing was seen."""
    for counter in range(INDEX, N_OUT):
        w[counter] = 0
    w[RANK_NOW] = -1
    w[NOW] = -NEVER
    for p in range(t[POSITIONS]):
        w[w[FIRST] + p] = w[w[BEHIND] + p] = 0
    forget_counts(t, w)


@inner
def forget_counts(t, w):
    """With nothing open, counting begins anew."""
    steps = t[POSITIONS]
    for i in range(steps):
        w[w[TOTALS] + i] = 0
        for j in range(steps):
            one = 1 if i == j else 0
            w[w[GROWTH] + i * steps + j] = one
            w[w[SHRINKAGE] + i * steps + j] = one


# Queues.


@inner
def place(w, p, number):
    """Where an event of a queue lies."""
    return w[QUEUES] + (p * w[QUEUE_ROOM] + (number & (w[QUEUE_ROOM] - 1))) * I_WIDTH


@inner
def is_empty(w, p):
    return w[w[FIRST] + p] == w[w[BEHIND] + p]


@inner
def length(w, p):
    return w[w[BEHIND] + p] - w[w[FIRST] + p]


@inner
def put(t, w, p, row, rank):
    """One more event at the end of a queue."""
    if length(w, p) >= w[QUEUE_ROOM]:
        w[STATUS] = FULL
        return
    at = place(w, p, w[w[BEHIND] + p])
    w[at + I_ROW] = row
    w[at + I_INDEX] = w[INDEX]
    w[at + I_RANK] = rank
    w[at + I_BEFORE] = w[w[BEHIND] + p - 1] if p > 0 else 0
    w[at + I_AFTER] = w[w[BEHIND] + p + 1]
    w[w[BEHIND] + p] += 1


@inner
def index_of(w, p, number):
    return w[place(w, p, number) + I_INDEX]


@inner
def time_of(w, p, number):
    return event_int(w, TIME, w[place(w, p, number) + I_ROW])


@inner
def first_index(w, p):
    return index_of(w, p, w[w[FIRST] + p])


@inner
def trim(t, w):
    """An event of a step that is not later than all of the step before it can never be taken."""
    for p in range(1, t[POSITIONS] - 1):
        while not is_empty(w, p) and (is_empty(w, p - 1) or first_index(w, p) <= first_index(w, p - 1)):
            w[w[FIRST] + p] += 1


@inner
def last_before(w, p, index):
    """The number of the last event of a queue that came before; one less than the first if there is none."""
    low, high = w[w[FIRST] + p], w[w[BEHIND] + p]
    while low < high:
        middle = (low + high) // 2
        if index_of(w, p, middle) < index:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inner
def remove(w, p, index):
    """Takes an event out of the middle of a queue, if it is there: was it?"""
    number = last_before(w, p, index + 1)
    if number < w[w[FIRST] + p] or index_of(w, p, number) != index:
        return False
    for i in range(number, w[w[FIRST] + p], -1):  # those before it move up
        here, there = place(w, p, i), place(w, p, i - 1)
        for j in range(I_WIDTH):
            w[here + j] = w[there + j]
    w[w[FIRST] + p] += 1
    return True
