"""What chains give out: events of the queues, one of each step."""

from __future__ import annotations

from cepheid.matching.compiled.kernel.chain_space import (
    BEHIND,
    FIRST,
    I_AFTER,
    I_BEFORE,
    I_RANK,
    I_ROW,
    LAST_PICK,
    PICKED,
    is_empty,
    place,
)
from cepheid.matching.compiled.kernel.emission import (
    EVENT_POSITION,
    EVENT_RANK,
    EVENT_ROW,
    EVENT_WIDTH,
    MATCH,
    OUT_CAUSE,
    OUT_COUNT,
    OUT_DETECTED,
    OUT_EVENTS,
    OUT_FIRST,
    OUT_FROM,
    OUT_KEY,
    OUT_KIND,
    OUT_PHASE,
    OUT_STATE,
    OUT_TO,
    OUT_WIDTH,
    TIMEOUT,
)
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import load_int, store_int
from cepheid.matching.compiled.kernel.space import (
    CAUSE,
    COMPLETED,
    FULL_OUT,
    KEY,
    N_OUT,
    N_OUT_EVENTS,
    OUT,
    OUT_EVENTS_AT,
    OUT_EVENTS_ROOM,
    OUT_ROOM,
    PHASE,
    STATUS,
    TOO_MANY_MATCHES,
    event_int,
)
from cepheid.matching.compiled.kernel.words import MAX_MATCHES, POSITIONS, TIME


@inner
def _put_event(w, i, row, p, rank):
    at = w[OUT_EVENTS_AT] + (w[N_OUT_EVENTS] + i) * EVENT_WIDTH * 8
    store_int(at + EVENT_ROW * 8, row)
    store_int(at + EVENT_POSITION * 8, p)
    store_int(at + EVENT_RANK * 8, rank)


@inner
def _put_row(w, kind, count, detected, matches):
    """One row of the answer, of the events just put."""
    first = w[OUT_EVENTS_AT] + (w[N_OUT_EVENTS] * EVENT_WIDTH + EVENT_ROW) * 8
    at = w[OUT] + w[N_OUT] * OUT_WIDTH * 8
    store_int(at + OUT_KEY * 8, w[KEY])
    store_int(at + OUT_KIND * 8, kind)
    store_int(at + OUT_FROM * 8, event_int(w, TIME, load_int(first)))
    store_int(at + OUT_TO * 8, event_int(w, TIME, load_int(first + (count - 1) * EVENT_WIDTH * 8)))
    store_int(at + OUT_DETECTED * 8, detected)
    store_int(at + OUT_PHASE * 8, w[PHASE])
    store_int(at + OUT_CAUSE * 8, w[CAUSE])
    store_int(at + OUT_STATE * 8, count)
    store_int(at + OUT_FIRST * 8, w[N_OUT_EVENTS])
    store_int(at + OUT_EVENTS * 8, count)
    store_int(at + OUT_COUNT * 8, matches)
    w[N_OUT] += 1
    w[N_OUT_EVENTS] += count


@inner
def _no_room(t, w):
    if w[N_OUT] < w[OUT_ROOM] and w[N_OUT_EVENTS] + t[POSITIONS] <= w[OUT_EVENTS_ROOM]:
        return False
    w[STATUS] = FULL_OUT
    return True


@inner
def _put_firsts(w, count):
    """The first events of the first queues."""
    for p in range(count):
        at = place(w, p, w[w[FIRST] + p])
        _put_event(w, p, w[at + I_ROW], p, w[at + I_RANK])


@inner
def give_out_first(t, w, held, row, rank, matches):
    """A match of the oldest start: the first events of the queues, and the event at hand. It stands for so many."""
    if _no_room(t, w):
        return
    _put_firsts(w, held)
    _put_event(w, held, row, held, rank)
    _put_row(w, MATCH, held + 1, event_int(w, TIME, row), matches)


@inner
def time_out_first(t, w, deadline):
    """How far the oldest start got: the first events of the queues, as far as there are any."""
    if _no_room(t, w):
        return
    held = 1
    while held < t[POSITIONS] - 1 and not is_empty(w, held):
        held += 1
    _put_firsts(w, held)
    _put_row(w, TIMEOUT, held, deadline, 1)


@inner
def give_out_all(t, w, row, rank):
    """Every match that ends with the event at hand, by the order of their events.

    No choice leads nowhere: from each step only events are picked that have one of the next step behind them.
    """
    last = t[POSITIONS] - 2
    _limit_picks(w, last)
    pick, behind = w[PICKED], w[LAST_PICK]
    w[pick] = w[w[FIRST]]
    same = 0  # matches of one start
    p = 0
    while p >= 0:
        if w[pick + p] > w[behind + p]:
            p -= 1
            if p >= 0:
                w[pick + p] += 1
            continue
        if p == 0:
            same = 0
        if p < last:
            w[pick + p + 1] = w[place(w, p, w[pick + p]) + I_AFTER]
            p += 1
            continue
        same += 1
        if same > t[MAX_MATCHES]:
            w[STATUS] = TOO_MANY_MATCHES
            return
        if _no_room(t, w):
            return
        _put_picked(w, last + 1)
        _put_event(w, last + 1, row, last + 1, rank)
        _put_row(w, MATCH, last + 2, event_int(w, TIME, row), 1)
        w[COMPLETED] += 1
        w[pick + p] += 1


@inner
def _limit_picks(w, last):
    number = w[w[BEHIND] + last] - 1
    w[w[LAST_PICK] + last] = number
    for p in range(last, 0, -1):
        number = w[place(w, p, number) + I_BEFORE] - 1
        w[w[LAST_PICK] + p - 1] = number


@inner
def _put_picked(w, count):
    for p in range(count):
        at = place(w, p, w[w[PICKED] + p])
        _put_event(w, p, w[at + I_ROW], p, w[at + I_RANK])
