"""Chains: patterns of single steps tied by nothing but the key and a window. Work for an event does not grow with runs.

A run is not kept: it is an event of every step's queue, each later than the one before. Under `stam` all such choices
are runs, and only their numbers are kept; they are listed when they are complete. Under `stnm` the older a start, the
further it is, and what it holds are the first events of the queues.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.chain_counts import (
    count_open,
    count_start,
    expire_start,
    matches_of,
    runs_in,
    take,
)
from cepheid.matching.compiled.kernel.chain_emission import (
    give_out_all,
    give_out_first,
    time_out_first,
)
from cepheid.matching.compiled.kernel.chain_space import (
    BEHIND,
    FIRST,
    first_index,
    index_of,
    is_empty,
    last_before,
    length,
    put,
    remove,
    time_of,
    trim,
)
from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.partition import (
    numbered,
)
from cepheid.matching.compiled.kernel.space import (
    ADVANCED,
    BY_DEADLINE,
    BY_EVENT,
    CAUSE,
    COMPLETED,
    DROPPED,
    EVICTED,
    EXPIRED,
    LIMITED,
    PHASE,
    STARTED,
    STATUS,
    TOO_MANY_RUNS,
    event_int,
)
from cepheid.matching.compiled.kernel.words import (
    COUNTING,
    EVICT,
    MAX_RUNS,
    NEVER,
    ONE_WAY,
    PASSED,
    POSITIONS,
    TIME,
    TIMEOUTS,
    WITHIN,
)


@inner
def on_chain_event(t, w, row):
    pass_chain_time(t, w, event_int(w, TIME, row))
    w[PHASE] = BY_EVENT
    w[CAUSE] = row
    rank = numbered(t, w, row)
    passed = event_int(w, PASSED, row) & ((np.int64(1) << t[POSITIONS]) - 1)
    if passed == 0:
        return
    if t[POSITIONS] == 1:
        _single(t, w, row, rank)
    elif t[ONE_WAY]:
        _advance_one_way(t, w, row, rank, passed)
    else:
        _advance_all(t, w, row, rank, passed)


@inner
def _single(t, w, row, rank):
    """One step: it is complete at once."""
    w[STARTED] += 1
    w[COMPLETED] += 1
    give_out_first(t, w, 0, row, rank, 1)


# Every combination is a run.


@inner
def _advance_all(t, w, row, rank, passed):
    """The last step first: a run does not take one event twice."""
    last = t[POSITIONS] - 1
    for p in range(last, -1, -1):
        if (passed >> p) & 1 == 0 or (p > 0 and is_empty(w, p - 1)):
            continue
        if p > 0:
            w[ADVANCED] += _reached(w, p - 1) if t[COUNTING] else runs_in(w, p - 1)
            take(t, w, p)
        if p == last:
            if t[COUNTING]:
                w[COMPLETED] += 1
                give_out_first(t, w, last, row, rank, runs_in(w, p - 1))
            else:
                give_out_all(t, w, row, rank)
            continue
        put(t, w, p, row, rank)
        if p == 0 and w[STATUS] == 0:
            w[STARTED] += 1
            count_start(t, w, 0)
    if _count_kept(t, w) > t[MAX_RUNS]:
        w[STATUS] = TOO_MANY_RUNS


@inner
def _count_kept(t, w):
    """How many runs the reference matcher would keep: where matches are only counted, one for each start and state."""
    if not t[COUNTING]:
        return count_open(t, w)
    found = np.int64(0)
    for p in range(t[POSITIONS] - 1):
        found += _reached(w, p)
    return found


# One way for each run, and each event for one run's matches.


@inner
def _advance_one_way(t, w, row, rank, passed):
    last = t[POSITIONS] - 1
    if (passed >> last) & 1 and not is_empty(w, last - 1):
        _complete_first(t, w, row, rank)
        return
    for p in range(last - 1, 0, -1):
        if (passed >> p) & 1 and not is_empty(w, p - 1):
            w[ADVANCED] += _reached(w, p - 1) - _reached(w, p)
            put(t, w, p, row, rank)
    if passed & 1:
        w[STARTED] += 1
        put(t, w, 0, row, rank)
        _limit(t, w)


@inner
def _reached(w, p):
    """How many runs hold an event of a step: those whose start is early enough for one in every queue up to it."""
    number = w[w[BEHIND] + p] - 1
    for q in range(p, 0, -1):
        if number < w[w[FIRST] + q]:
            return 0
        number = last_before(w, q - 1, index_of(w, q, number))
    return number + 1 - w[w[FIRST]]


@inner
def _complete_first(t, w, row, rank):
    """The oldest run is complete. What it holds is used up, also where it waits for another step."""
    w[ADVANCED] += 1
    w[COMPLETED] += 1
    last = t[POSITIONS] - 1
    give_out_first(t, w, last, row, rank, 1)
    for p in range(last):
        used = first_index(w, p)
        w[w[FIRST] + p] += 1
        for q in range(p):  # of a later step it would be too early
            if remove(w, q, used) and q == 0:
                w[DROPPED] += 1  # its first event was used
    trim(t, w)


@inner
def _limit(t, w):
    surplus = length(w, 0) - t[MAX_RUNS]
    if surplus <= 0:
        return
    if not t[EVICT]:
        w[STATUS] = TOO_MANY_RUNS
        return
    w[w[FIRST]] += surplus
    w[EVICTED] += surplus
    w[LIMITED] += surplus
    trim(t, w)


# Time.


@inner
def pass_chain_time(t, w, time):
    """Time has passed every moment before `time`: windows end, the oldest start's first."""
    if is_empty(w, 0) or next_chain_deadline(t, w) >= time:
        return
    w[PHASE] = BY_DEADLINE
    while not is_empty(w, 0) and next_chain_deadline(t, w) < time:
        if t[ONE_WAY]:
            w[EXPIRED] += 1
            _time_out(t, w)
            w[w[FIRST]] += 1
        else:
            if matches_of(t, w, w[w[FIRST]]) == 0:
                _time_out(t, w)
            expire_start(t, w)
        trim(t, w)


@inner
def _time_out(t, w):
    if t[TIMEOUTS]:
        time_out_first(t, w, next_chain_deadline(t, w))


@inner
def next_chain_deadline(t, w):
    """Of the oldest start; there is one."""
    return NEVER if t[WITHIN] < 0 else time_of(w, 0, w[w[FIRST]]) + t[WITHIN]
