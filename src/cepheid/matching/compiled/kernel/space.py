"""The kernel's working space: one array of whole numbers, with a header of counters and of where its parts begin.

Runs and the events they took lie in it and are told by their places. What is full is said by a status, and the key is
done again in a bigger space: nothing is allocated inside the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import load_byte, load_float, load_int
from cepheid.matching.compiled.kernel.words import (
    ALIASES,
    COMPONENTS,
    COUNTING,
    HEAPS,
    NEVER,
    NODE_WIDTH,
    NONE,
    R_FIRST,
    R_LAST,
    R_MARKS,
    R_WEIGHT,
    R_WIDTH,
    RUN_AWAITED,
    RUN_DEADLINE,
    RUN_IS_DONE,
    RUN_IS_OPEN,
    RUN_NODE,
    STATES,
)

# --- counters ---
(
    STATUS,
    INDEX,  # of the partition's last event
    NOW,  # its time
    RANK_NOW,  # how many relevant events of that time there were, less one
    NEXT_DEADLINE,  # no deadline is before it
    N_RUNS,
    N_NEXT,
    N_DONE,
    N_FREE,
    N_NODES,
    N_RECENT,
    N_MATCHED,
    N_FURTHEST,
    N_HISTORY,
    N_GIVEN,
    N_REPLAYED,
    N_FIRST_STEP,
    N_DUE,
    VIOLATED_AT,
    EVICTED,
    N_OUT,
    N_OUT_EVENTS,
    ROOM,  # for so many runs
    # Where the events and the answers lie in memory.
    ROWS,
    INTS,
    FLOATS,
    NULLS,
    TEXTS,
    HEAP,
    CONSTANTS,
    OUT,
    OUT_ROOM,
    OUT_EVENTS_AT,
    OUT_EVENTS_ROOM,
    KEY,  # which key it is
    PHASE,  # what happens just now: an event, a deadline, the end
    CAUSE,  # the row of the event
    # How often each thing happened to a run.
    STARTED,
    ADVANCED,
    COMPLETED,
    NEGATED,
    EXPIRED,
    LIMITED,
    DROPPED,
    BEFORE,  # what was given out and counted before this key
    BEFORE_2,
    BEFORE_3,
    BEFORE_4,
    BEFORE_5,
    BEFORE_6,
    BEFORE_7,
    BEFORE_8,
    BEFORE_9,
    # --- where the parts begin; the next one's beginning is a part's end ---
    EMPTY,  # a run that has taken nothing
    RUNS,  # open runs, in their order
    NEXT,  # the open runs after this event, in the making
    DONE,  # complete runs, not yet given out
    FREE,  # places of records that are free
    RECENT,  # (absence, row) for absences before the start
    MATCHED,  # starts that had a match
    FURTHEST,  # expired runs of starts that are still open
    HISTORY,  # (row, index, rank, start of the run that used it) since the oldest open run
    GIVEN,  # (start, lane, lane) of matches given out
    REPLAYED,  # starts that were played again, the present event included
    AGAIN,  # the open runs of a start that is played again, and those after
    AFTER,
    FRAMES,  # what is to be done when runs are complete
    FIRST_STEP,  # (row, index, rank)
    SCRATCH,
    STACK,  # (value, end, null) of the machine
    PARTIALS,  # of a sum of doubles
    DUE,  # a heap of open runs by their deadlines, where runs are kept by state
    BEYOND,  # heaps of (value, run), one for each state whose runs are found so
    N_BEYOND,  # how many there are in each
    HEADS,  # the newest run of each state
    BUCKETS,  # the newest run of each value that runs wait for, 0 if there is none; values with one number share it
    RECORDS,
    NODES,
    END,
    SPACE_HEADER,
) = range(80)

BY_EVENT, BY_DEADLINE, BY_END = 0, 1, 2

# --- how a call ends ---
OK = 0
FULL = 1  # do the key again in a bigger space
FULL_OUT = 2  # do the key again with more room for answers
GAVE_UP = 3  # the reference matcher does the key
FULL_SAVED = 4  # do the key again with more room for what is saved
TOO_MANY_RUNS = 5  # an error of the query
TOO_MANY_MATCHES = 6


DEPTH = 64  # of the machine's stack; and there are never more partial sums


def new_space(t: Any, runs: int, nodes: int) -> Any:
    """Room for so many open runs, a power of two, and taken events."""
    width = int(t[R_WIDTH])
    parts = [
        (EMPTY, width),
        (RUNS, runs),
        (NEXT, runs),
        (DONE, runs),
        (FREE, runs),
        (RECENT, 2 * nodes),
        (MATCHED, runs),
        (FURTHEST, runs),
        (HISTORY, 4 * nodes),
        (GIVEN, 3 * nodes),
        (REPLAYED, runs),
        (AGAIN, runs),
        (AFTER, runs),
        (FRAMES, 4 * runs),
        (FIRST_STEP, 3 * nodes),
        (SCRATCH, 4 * nodes + 4 * runs),
        (STACK, 3 * DEPTH),
        (PARTIALS, DEPTH),
        (DUE, runs),
        (BEYOND, 2 * runs * int(t[HEAPS])),
        (N_BEYOND, int(t[HEAPS])),
        (HEADS, int(t[STATES])),
        (BUCKETS, runs),
        (RECORDS, runs * width),
        (NODES, nodes * NODE_WIDTH),
    ]
    space = np.zeros(SPACE_HEADER + sum(size for _, size in parts), np.int64)
    at = SPACE_HEADER
    for part, size in parts:
        space[part] = at
        at += size
    space[END] = at
    space[ROOM] = runs
    _empty_run(t, space)
    return space


def _empty_run(t, space):
    empty = int(space[EMPTY])
    space[empty + RUN_NODE] = NONE
    space[empty + RUN_AWAITED] = NEVER
    space[empty + RUN_DEADLINE] = NEVER
    if t[COUNTING]:
        space[empty + int(t[R_WEIGHT])] = 1
    for part, size in ((R_MARKS, COMPONENTS), (R_LAST, ALIASES), (R_FIRST, ALIASES)):
        at = empty + int(t[part])
        space[at : at + int(t[size])] = NONE


@inner
def reset(t, w):
    """A new partition: nothing is open, nothing was seen."""
    for counter in range(INDEX, N_OUT):
        if counter != N_FREE:
            w[counter] = 0
    w[RANK_NOW] = -1
    w[NOW] = -NEVER
    w[NEXT_DEADLINE] = NEVER
    for state in range(t[STATES]):
        w[w[HEADS] + state] = NONE
    for heap in range(t[HEAPS]):
        w[w[N_BEYOND] + heap] = 0
    width = t[R_WIDTH]
    room = (w[NODES] - w[RECORDS]) // width
    if w[N_FREE] != room:  # the one before left some open
        for i in range(room):
            w[w[FREE] + i] = w[RECORDS] + (room - 1 - i) * width
        w[N_FREE] = room


@inner
def new_run(w):
    """The place of a free record, or -1 if there is none."""
    if w[N_FREE] == 0:
        w[STATUS] = FULL
        return -1
    w[N_FREE] -= 1
    return w[w[FREE] + w[N_FREE]]


@inner
def free_run(w, run):
    w[w[FREE] + w[N_FREE]] = run
    w[N_FREE] += 1


@inner
def let_go(w, run):
    """A run is no longer open. Its record is free unless it is to be given out."""
    w[run + RUN_IS_OPEN] = 0
    if not w[run + RUN_IS_DONE]:
        free_run(w, run)


@inner
def keep_open(w, run):
    """A run is among the open ones after this event."""
    w[run + RUN_IS_OPEN] = 1
    push(w, NEXT, N_NEXT, run)


@inner
def set_done(w, run):
    w[run + RUN_IS_DONE] = 1
    push(w, DONE, N_DONE, run)


@inner
def push(w, part, count, value):
    """One more run, or start, at the end of a list."""
    if w[count] >= w[ROOM]:
        w[STATUS] = FULL
        return
    w[w[part] + w[count]] = value
    w[count] += 1


# A value of an event.


@inner
def event_int(w, column, row):
    return load_int(w[INTS] + (column * w[ROWS] + row) * 8)


@inner
def event_float(w, column, row):
    return load_float(w[FLOATS] + (column * w[ROWS] + row) * 8)


@inner
def event_null(w, column, row):
    return load_byte(w[NULLS] + column * w[ROWS] + row) != 0


@inner
def event_text(w, column, row):
    """Where it begins in the heap; the next one's beginning is its end."""
    return load_int(w[TEXTS] + (column * (w[ROWS] + 1) + row) * 8)
