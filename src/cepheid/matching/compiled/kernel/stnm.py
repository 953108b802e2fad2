"""Skip till next match over arrays: one way for every run, and each event serves at most one run's matches.

The rules of `matching/stnm.py`, in the same order and under the same names.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.emission import (
    choose,
    emit,
    release,
    sort_runs,
)
from cepheid.matching.compiled.kernel.ids import (
    LANE_ONE,
    LANE_TWO,
    mix,
)
from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.moves import (
    can_go_on,
)
from cepheid.matching.compiled.kernel.partition import (
    check_absences,
    group_copies,
    held,
    is_open_start,
    offer_one_way,
    start_run,
    swap_lists,
)
from cepheid.matching.compiled.kernel.space import (
    ADVANCED,
    AFTER,
    AGAIN,
    DONE,
    DROPPED,
    FRAMES,
    FULL,
    GIVEN,
    HISTORY,
    INDEX,
    N_DONE,
    N_GIVEN,
    N_HISTORY,
    N_NEXT,
    N_OUT,
    N_OUT_EVENTS,
    N_REPLAYED,
    N_RUNS,
    NEGATED,
    NEXT,
    REPLAYED,
    ROOM,
    RUNS,
    SCRATCH,
    STARTED,
    STATUS,
    event_int,
    let_go,
    push,
)
from cepheid.matching.compiled.kernel.words import (
    AT_WANTS,
    EVICT,
    LONGEST,
    LOOKS_NEXT,
    NODE_BEFORE,
    NODE_INDEX,
    NODE_POSITION,
    NODE_RANK,
    NODE_ROW,
    PASSED,
    RUN_NODE,
    RUN_START,
    RUN_STATE,
    RUN_TAKEN,
    TIME,
    TIMEOUTS,
    WANTED_LATER,
)

HISTORY_WIDTH = 4
H_ROW, H_INDEX, H_RANK, H_OWNER = range(4)


@inner
def advance_stnm(t, w, row, rank):
    if event_int(w, PASSED, row) != 0:
        _append_history(w, row, rank)
    w[N_REPLAYED] = 0
    w[N_NEXT] = 0
    if _concerns_runs(t, w, row):
        _offer_to_runs(t, w, row, rank)
    elif t[TIMEOUTS] or t[EVICT]:  # which of its copies tells of a start, or goes first
        group_copies(w)
    if _owner(w, w[INDEX]) == 0:
        before = w[N_DONE]
        w[N_NEXT] = 0
        start_run(t, w, row, rank)
        for i in range(w[N_NEXT]):
            push(w, RUNS, N_RUNS, w[w[NEXT] + i])
        finish_stnm(t, w, before, event_int(w, TIME, row))
    _forget(w)


@inner
def _concerns_runs(t, w, row):
    """Could any open run take the event, or be changed by not taking it?"""
    return t[LOOKS_NEXT] or t[LONGEST] or event_int(w, PASSED, row) & t[WANTED_LATER]


@inner
def _offer_to_runs(t, w, row, rank):
    group_copies(w)
    aside = not t[LOOKS_NEXT] and not t[LONGEST]
    wants = event_int(w, PASSED, row)
    at = 0
    while at < w[N_RUNS] and w[STATUS] == 0:
        start = w[w[w[RUNS] + at] + RUN_START]
        end = at + 1
        while end < w[N_RUNS] and w[w[w[RUNS] + end] + RUN_START] == start:
            end += 1
        if _replayed(w, start):  # an older run's match has seen to it
            for i in range(at, end):
                push(w, NEXT, N_NEXT, w[w[RUNS] + i])
            at = end
            continue
        if aside and end - at == 1 and not _wants(t, w, w[w[RUNS] + at], wants):
            push(w, NEXT, N_NEXT, w[w[RUNS] + at])  # the event is nothing to it
            at = end
            continue
        before = w[N_DONE]
        offer_unless_used(t, w, at, end, start, row, rank)
        at = end
        if w[N_DONE] > before:
            at = _finish_and_go_on(t, w, at, before, start, event_int(w, TIME, row))
    swap_lists(w)


@inner
def _wants(t, w, run, wants):
    return t[t[AT_WANTS] + w[run + RUN_STATE]] & wants != 0


@inner
def _finish_and_go_on(t, w, at, before, start, detected):
    """Makes the list of open runs whole, gives out what is complete; the answer is where to go on in the list."""
    for i in range(at, w[N_RUNS]):
        push(w, NEXT, N_NEXT, w[w[RUNS] + i])
    swap_lists(w)
    finish_stnm(t, w, before, detected)
    w[N_NEXT] = 0
    at = 0
    while at < w[N_RUNS] and w[w[w[RUNS] + at] + RUN_START] <= start:
        push(w, NEXT, N_NEXT, w[w[RUNS] + at])
        at += 1
    return at


@inner
def offer_unless_used(t, w, first, end, start, row, rank):
    owner = _owner(w, w[INDEX])
    if owner == 0 or owner == start:
        offer_one_way(t, w, first, end, row, rank)
        return
    for i in range(first, end):
        run = w[w[RUNS] + i]
        if can_go_on(t, w, run, w[INDEX]) or held(t, w, run):
            push(w, NEXT, N_NEXT, run)
        else:
            let_go(w, run)


# Which events are used, and by whom.


@inner
def _append_history(w, row, rank):
    at = w[HISTORY] + w[N_HISTORY] * HISTORY_WIDTH
    if at + HISTORY_WIDTH > w[HISTORY + 1]:
        w[STATUS] = FULL
        return
    w[at + H_ROW] = row
    w[at + H_INDEX] = w[INDEX]
    w[at + H_RANK] = rank
    w[at + H_OWNER] = 0
    w[N_HISTORY] += 1


@inner
def _in_history(w, index):
    """The place of an event in the history, by its index; -1 if it is not there."""
    last = w[HISTORY] + (w[N_HISTORY] - 1) * HISTORY_WIDTH
    if w[N_HISTORY] > 0 and w[last + H_INDEX] == index:  # as is the event at hand
        return last
    low, high = 0, w[N_HISTORY]
    while low < high:
        middle = (low + high) // 2
        if w[w[HISTORY] + middle * HISTORY_WIDTH + H_INDEX] < index:
            low = middle + 1
        else:
            high = middle
    at = w[HISTORY] + low * HISTORY_WIDTH
    return at if low < w[N_HISTORY] and w[at + H_INDEX] == index else -1


@inner
def _owner(w, index):
    """The start of the run that used an event; 0 if it is free."""
    at = _in_history(w, index)
    return w[at + H_OWNER] if at >= 0 else 0


@inner
def _holds_used(w, run):
    node = w[run + RUN_NODE]
    while node >= 0:
        owner = _owner(w, w[node + NODE_INDEX])
        if owner != 0 and owner != w[run + RUN_START]:
            return True
        node = w[node + NODE_BEFORE]
    return False


@inner
def _use_up(w, run):
    node = w[run + RUN_NODE]
    while node >= 0:
        at = _in_history(w, w[node + NODE_INDEX])
        if at >= 0:
            w[at + H_OWNER] = w[run + RUN_START]
        node = w[node + NODE_BEFORE]


@inner
def _forget(w):
    """Only what open runs could be played again over is remembered."""
    forget_history(w, 2)
    kept = 0
    for i in range(w[N_GIVEN]):
        start = w[w[GIVEN] + 3 * i]
        if is_open_start(w, start):
            for j in range(3):
                w[w[GIVEN] + 3 * kept + j] = w[w[GIVEN] + 3 * i + j]
            kept += 1
    w[N_GIVEN] = kept


@inner
def forget_history(w, share):
    """What is older than all open runs, once it is such a share of all: then what moves is less than what goes."""
    oldest = w[w[w[RUNS]] + RUN_START] if w[N_RUNS] > 0 else w[INDEX] + 1
    low, gone = 0, w[N_HISTORY]
    while low < gone:
        middle = (low + gone) // 2
        if w[w[HISTORY] + middle * HISTORY_WIDTH + H_INDEX] < oldest:
            low = middle + 1
        else:
            gone = middle
    if gone > 0 and gone * share >= w[N_HISTORY]:
        left = (w[N_HISTORY] - gone) * HISTORY_WIDTH
        for i in range(left):
            w[w[HISTORY] + i] = w[w[HISTORY] + gone * HISTORY_WIDTH + i]
        w[N_HISTORY] -= gone


# Completion.


# What is to be done, innermost last: giving out complete runs may put other runs back, which may complete others.
FRAME_WIDTH = 4
FINISH, PUT_BACK = 0, 1
F_WHAT, F_FIRST, F_END, F_AT = range(
    4
)  # for PUT_BACK: the user's start in F_FIRST, the last start looked at in F_AT


@inner
def finish_stnm(t, w, first, detected):
    """Gives out what is in DONE from `first` on, start by start; others that hold a used event are put back."""
    frames = 0
    frames = _to_finish(w, frames, first)
    while frames > 0 and w[STATUS] == 0:
        frame = w[FRAMES] + (frames - 1) * FRAME_WIDTH
        if w[frame + F_WHAT] == PUT_BACK:
            frames = _put_back_next(t, w, frames, frame, detected)
        elif w[frame + F_AT] >= w[frame + F_END]:
            release(w, w[frame + F_FIRST])
            frames -= 1
        else:
            frames = _finish_next(t, w, frames, frame, detected)


@inner
def _to_finish(w, frames, first):
    """One more frame, if there is anything in DONE from `first` on."""
    if w[N_DONE] == first:
        return frames
    sort_runs(w, w[DONE] + first, w[N_DONE] - first)
    return _push_frame(w, frames, FINISH, first, w[N_DONE], first)


@inner
def _push_frame(w, frames, what, first, end, at):
    frame = w[FRAMES] + frames * FRAME_WIDTH
    if frame + FRAME_WIDTH > w[FRAMES + 1]:
        w[STATUS] = FULL
        return frames
    w[frame + F_WHAT] = what
    w[frame + F_FIRST] = first
    w[frame + F_END] = end
    w[frame + F_AT] = at
    return frames + 1


@inner
def _finish_next(t, w, frames, frame, detected):
    """The complete runs of the next start."""
    at, end = w[frame + F_AT], w[frame + F_END]
    start = w[w[w[DONE] + at] + RUN_START]
    behind = at + 1
    while behind < end and w[w[w[DONE] + behind] + RUN_START] == start:
        behind += 1
    w[frame + F_AT] = behind
    if _any_holds_used(w, DONE, at, behind):  # an older run that completes now used it
        _remove_start(w, start)
        return _to_finish(w, frames, replay(t, w, start))
    _give_out_start(t, w, at, behind, detected)
    return _push_frame(w, frames, PUT_BACK, start, 0, 0)


@inner
def _put_back_next(t, w, frames, frame, detected):
    """The next start that holds a used event goes back to where it would be without it."""
    at = 0
    while at < w[N_RUNS]:
        start = w[w[w[RUNS] + at] + RUN_START]
        end = at + 1
        while end < w[N_RUNS] and w[w[w[RUNS] + end] + RUN_START] == start:
            end += 1
        if start > w[frame + F_AT]:
            w[frame + F_AT] = start
            if start != w[frame + F_FIRST] and _any_holds_used(w, RUNS, at, end):
                _remove_start(w, start)
                return _to_finish(w, frames, replay(t, w, start))
        at = end
    return frames - 1


@inner
def finish_all_stnm(t, w, detected):
    finish_stnm(t, w, 0, detected)


@inner
def _any_holds_used(w, part, first, end):
    for i in range(first, end):
        if _holds_used(w, w[w[part] + i]):
            return True
    return False


@inner
def _give_out_start(t, w, first, end, detected):
    """Those not given out before, by the rules of emission and skip; what they hold is used up."""
    fresh = first
    for i in range(first, end):
        run = w[w[DONE] + i]
        if not _given(w, run):
            w[w[DONE] + i] = w[w[DONE] + fresh]
            w[w[DONE] + fresh] = run
            fresh += 1
    if fresh == first:
        return
    chosen = choose(t, w, first, fresh)
    for i in range(first, first + chosen):
        _use_up(w, w[w[DONE] + i])
    for i in range(first, first + chosen):
        run = w[w[DONE] + i]
        _note_given(w, run)
        emit(t, w, run, detected)


@inner
def _lane(w, run, first, second):
    """One of two numbers that tell the match of a run: the same as in `matching/ids.py`."""
    count = w[run + RUN_TAKEN]
    state = np.uint64(2 + 3 * count)
    state = mix(mix(state, np.int64(0), first, second), np.int64(0), first, second)
    # From the first event on; the chain goes the other way.
    at = w[SCRATCH] + 8
    node = w[run + RUN_NODE]
    for i in range(count - 1, -1, -1):
        w[at + i] = node
        node = w[node + NODE_BEFORE]
    for i in range(count):
        node = w[at + i]
        state = mix(state, w[node + NODE_POSITION], first, second)
        state = mix(state, event_int(w, TIME, w[node + NODE_ROW]), first, second)
        state = mix(state, w[node + NODE_RANK], first, second)
    return np.int64(state)


@inner
def _given(w, run):
    one, two = _lane(w, run, *LANE_ONE), _lane(w, run, *LANE_TWO)
    for i in range(w[N_GIVEN]):
        at = w[GIVEN] + 3 * i
        if w[at] == w[run + RUN_START] and w[at + 1] == one and w[at + 2] == two:
            return True
    return False


@inner
def _note_given(w, run):
    at = w[GIVEN] + 3 * w[N_GIVEN]
    if at + 3 > w[GIVEN + 1]:
        w[STATUS] = FULL
        return
    w[at] = w[run + RUN_START]
    w[at + 1] = _lane(w, run, *LANE_ONE)
    w[at + 2] = _lane(w, run, *LANE_TWO)
    w[N_GIVEN] += 1


@inner
def _remove_start(w, start):
    kept = 0
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if w[run + RUN_START] == start:
            let_go(w, run)
        else:
            w[w[RUNS] + kept] = run
            kept += 1
    w[N_RUNS] = kept


@inner
def _replayed(w, start):
    for i in range(w[N_REPLAYED]):
        if w[w[REPLAYED] + i] == start:
            return True
    return False


@inner
def replay(t, w, start):
    """Played again from its start, over the events it saw. What is complete then is in DONE: from where on."""
    before = w[N_DONE]
    owner = _owner(w, start)
    if owner != 0 and owner != start:
        w[DROPPED] += 1  # its first event was used
        return before
    push(w, REPLAYED, N_REPLAYED, start)
    # Only this start is in play; it was told when it happened.
    runs, open_runs, after, others, index = w[RUNS], w[N_RUNS], w[NEXT], w[N_NEXT], w[INDEX]
    started, advanced, negated = w[STARTED], w[ADVANCED], w[NEGATED]
    rows, row_events = w[N_OUT], w[N_OUT_EVENTS]
    w[RUNS], w[NEXT], w[N_RUNS] = w[AGAIN], w[AFTER], 0
    for i in range(w[N_HISTORY]):
        at = w[HISTORY] + i * HISTORY_WIDTH
        if w[at + H_INDEX] < start:
            continue
        w[INDEX] = w[at + H_INDEX]
        w[N_NEXT] = 0
        if w[INDEX] == start:
            start_run(t, w, w[at + H_ROW], w[at + H_RANK])
        else:
            _again(t, w, start, w[at + H_ROW], w[at + H_RANK])
        swap_lists(w)
    w[STARTED], w[ADVANCED], w[NEGATED] = started, advanced, negated
    # Provisional rows: one for each captured event, when it is captured.
    w[N_OUT], w[N_OUT_EVENTS] = rows, row_events
    mine, count = w[RUNS], w[N_RUNS]
    w[RUNS], w[NEXT], w[N_RUNS], w[N_NEXT], w[INDEX] = runs, after, open_runs, others, index
    _insert(w, mine, count, start)
    return before


@inner
def _again(t, w, start, row, rank):
    """One event of the past, for one run only."""
    check_absences(t, w, row)
    group_copies(w)
    if w[N_RUNS] > 0:
        offer_unless_used(t, w, 0, w[N_RUNS], start, row, rank)


@inner
def _insert(w, mine, count, start):
    """Open runs lie in the order of their starts."""
    if w[N_RUNS] + count > w[ROOM]:
        w[STATUS] = FULL
        return
    at = w[N_RUNS]
    while at > 0 and w[w[w[RUNS] + at - 1] + RUN_START] > start:
        w[w[RUNS] + at - 1 + count] = w[w[RUNS] + at - 1]
        at -= 1
    for i in range(count):
        w[w[RUNS] + at + i] = w[mine + i]
    w[N_RUNS] += count
