"""Runs that wait for a value above theirs, or below: an event of `B[v > a.v]` meets only those that it is beyond.

Those of a state lie in a heap by their values, the first to be passed at the top. So what an event has passed is found
from the top on, and of the others only those right below it are looked at.
"""

from __future__ import annotations

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import as_bits
from cepheid.matching.compiled.kernel.space import (
    BEYOND,
    N_BEYOND,
    ROOM,
    event_float,
    event_int,
    event_null,
)
from cepheid.matching.compiled.kernel.words import (
    AT_BEYOND,
    B_ALIAS,
    B_ALIAS_COLUMN,
    B_ALIAS_NULLS,
    B_COLUMN,
    B_FLOATS,
    B_HEAP,
    B_NULLS,
    B_OR_EQUAL,
    B_WAY,
    BEYOND_ABOVE,
    BEYOND_NOTHING,
    BEYOND_WIDTH,
    NODE_ROW,
    NONE,
    R_LAST,
    RUN_FOUND,
    RUN_PLACE,
    RUN_STATE,
)

ENTRY = 2  # words in the heap: what it is sorted by, the run


@inner
def must_be_beyond(t, state):
    return t[t[AT_BEYOND] + state * BEYOND_WIDTH + B_WAY] != BEYOND_NOTHING


@inner
def _number(t, w, row, bound, column):
    """A whole number that is the less, the sooner the value is passed."""
    if t[bound + B_FLOATS]:
        number = as_bits(event_float(w, column, row) + 0.0)  # there is one zero
        if number < 0:
            number ^= 0x7FFFFFFFFFFFFFFF  # of negative doubles more bits are less
    else:
        number = event_int(w, column, row)
    return number if t[bound + B_WAY] == BEYOND_ABOVE else ~number


@inner
def _heap(t, w, bound):
    return w[BEYOND] + t[bound + B_HEAP] * ENTRY * w[ROOM]


# Put in and taken out.


@inner
def put_beyond(t, w, run):
    """A run without a value waits for nothing that can come."""
    w[run + RUN_PLACE] = NONE
    bound = t[AT_BEYOND] + w[run + RUN_STATE] * BEYOND_WIDTH
    if t[bound + B_WAY] == BEYOND_NOTHING:
        return
    node = w[run + t[R_LAST] + t[bound + B_ALIAS]]
    if node < 0 or event_null(w, t[bound + B_ALIAS_NULLS], w[node + NODE_ROW]):
        return
    number = _number(t, w, w[node + NODE_ROW], bound, t[bound + B_ALIAS_COLUMN])
    counter = w[N_BEYOND] + t[bound + B_HEAP]
    w[counter] += 1
    _rise(w, _heap(t, w, bound), run, number, w[counter] - 1)


@inner
def take_beyond(t, w, run):
    """Out of its heap, if it is in one: the last one takes its place."""
    place = w[run + RUN_PLACE]
    if place < 0:
        return
    w[run + RUN_PLACE] = NONE
    bound = t[AT_BEYOND] + w[run + RUN_STATE] * BEYOND_WIDTH
    heap, counter = _heap(t, w, bound), w[N_BEYOND] + t[bound + B_HEAP]
    w[counter] -= 1
    count = w[counter]
    number, last = w[heap + ENTRY * count], w[heap + ENTRY * count + 1]
    if last == run:
        return
    if place > 0 and number < w[heap + ENTRY * ((place - 1) // 2)]:
        _rise(w, heap, last, number, place)
    else:
        _sink(w, heap, last, number, place, count)


@inner
def _set(w, heap, run, number, place):
    w[heap + ENTRY * place] = number
    w[heap + ENTRY * place + 1] = run
    w[run + RUN_PLACE] = place


@inner
def _rise(w, heap, run, number, place):
    while place > 0:
        above = (place - 1) // 2
        at = heap + ENTRY * above
        if w[at] <= number:
            break
        _set(w, heap, w[at + 1], w[at], place)
        place = above
    _set(w, heap, run, number, place)


@inner
def _sink(w, heap, run, number, place, count):
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and w[heap + ENTRY * (child + 1)] < w[heap + ENTRY * child]:
            child += 1
        at = heap + ENTRY * child
        if number <= w[at]:
            break
        _set(w, heap, w[at + 1], w[at], place)
        place = child
    _set(w, heap, run, number, place)


# Found.


@inner
def first_passed(t, w, state, row):
    """The first of all runs in a state that an event has passed, NONE if there is none; RUN_FOUND is the next one.

    They are in no order; nothing may be put in or taken out while they are looked for, so all are found at once.
    """
    bound = t[AT_BEYOND] + state * BEYOND_WIDTH
    count = w[w[N_BEYOND] + t[bound + B_HEAP]]
    if count == 0 or event_null(w, t[bound + B_NULLS], row):
        return NONE
    heap = _heap(t, w, bound)
    number = _number(t, w, row, bound, t[bound + B_COLUMN])
    if not _is_passed(t, w, heap, bound, number):
        return NONE
    first = w[heap + 1]
    w[first + RUN_FOUND] = NONE
    run = last = first
    while run >= 0:
        child = 2 * w[run + RUN_PLACE] + 1
        for place in range(child, min(child + 2, count)):
            at = heap + ENTRY * place
            if _is_passed(t, w, at, bound, number):
                w[last + RUN_FOUND] = w[at + 1]
                last = w[at + 1]
                w[last + RUN_FOUND] = NONE
        run = w[run + RUN_FOUND]
    return first


@inner
def _is_passed(t, w, entry, bound, number):
    return w[entry] < number or (w[entry] == number and t[bound + B_OR_EQUAL] != 0)
