"""`every (P)` over arrays: one run a partition, and again after each match.

The rules of `matching/every.py`, in the same order and under the same names.
"""

from __future__ import annotations

from cepheid.matching.compiled.kernel.emission import (
    finish,
    release,
)
from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.moves import (
    can_go_on,
    edge_at,
    extended,
)
from cepheid.matching.compiled.kernel.partition import (
    fitting,
    group_copies,
    held,
    move,
    offer_one_way,
    settle,
    start_run,
    swap_lists,
)
from cepheid.matching.compiled.kernel.space import (
    ADVANCED,
    AFTER,
    AGAIN,
    DONE,
    DROPPED,
    FIRST_STEP,
    FULL,
    INDEX,
    N_DONE,
    N_FIRST_STEP,
    N_NEXT,
    N_RUNS,
    NEXT,
    RUNS,
    SCRATCH,
    STARTED,
    STATUS,
    VIOLATED_AT,
    free_run,
    let_go,
    push,
)
from cepheid.matching.compiled.kernel.words import (
    E_POSITION,
    FIRST_POSITIONS,
    KEEP_FIRST,
    MIXED_START,
    MOST_OF_FIRST,
    RUN_IS_DONE,
    RUN_IS_OPEN,
    RUN_POSITIONS,
    RUN_TAKEN,
)

FIRST_WIDTH = 3
F_ROW, F_INDEX, F_RANK = range(3)


@inner
def over(w):
    """After a match: it starts again with the next event."""
    for i in range(w[N_RUNS]):
        let_go(w, w[w[RUNS] + i])
    w[N_RUNS] = w[N_FIRST_STEP] = 0


@inner
def finish_every(t, w, detected):
    if w[N_DONE] > 0:
        finish(t, w, detected)
        over(w)


@inner
def advance_every(t, w, row, rank):
    if only_first_step(t, w):
        _from_first_step(t, w, row, rank)
        return
    group_copies(w)
    w[N_NEXT] = 0
    offer_one_way(t, w, 0, w[N_RUNS], row, rank)
    swap_lists(w)


@inner
def in_first_step(t, w, run):
    """Of an AND, and after a step that may be left out, a second event of another position is beyond it."""
    positions = w[run + RUN_POSITIONS]
    if positions & ~t[FIRST_POSITIONS] != 0:
        return False
    return t[MIXED_START] == 0 or positions & (positions - 1) == 0


@inner
def _leaves_first_step(t, w, run, position):
    if (t[FIRST_POSITIONS] >> position) & 1 == 0:
        return True
    return t[MIXED_START] != 0 and (w[run + RUN_POSITIONS] >> position) & 1 == 0


@inner
def only_first_step(t, w):
    for i in range(w[N_RUNS]):
        if not in_first_step(t, w, w[w[RUNS] + i]):
            return False
    return True


@inner
def _from_first_step(t, w, row, rank):
    """On to the second step if the event fits it, else a newer start."""
    before = w[N_DONE]
    w[N_NEXT] = 0
    onward = _offer_onward(t, w, row, rank)
    if onward or w[N_DONE] > before:
        for i in range(w[N_RUNS]):
            let_go(w, w[w[RUNS] + i])
        swap_lists(w)
        w[N_FIRST_STEP] = 0
        return
    _newer_start(t, w, row, rank)


@inner
def _offer_onward(t, w, row, rank):
    """Runs that go on to the second step are in NEXT; nothing stays in the first step. Are there any?"""
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        edges = fitting(t, w, run, row)
        for j in range(edges):
            e = w[w[SCRATCH] + j]
            if _leaves_first_step(t, w, run, t[edge_at(t, e) + E_POSITION]):
                new = extended(t, w, run, e, row, w[INDEX], rank)
                if new >= 0:
                    w[ADVANCED] += 1
                    settle(t, w, new)
                break
    return w[N_NEXT] > 0


@inner
def _newer_start(t, w, row, rank):
    most = t[MOST_OF_FIRST]
    full = most >= 0 and w[N_FIRST_STEP] >= most
    if w[N_RUNS] > 0 and t[KEEP_FIRST] and full:
        _unmoved(t, w)
        return
    if not _append(w, row, w[INDEX], rank):
        return
    first = 0
    if most >= 0 and not t[KEEP_FIRST]:
        first = max(0, w[N_FIRST_STEP] - most)
    while first < w[N_FIRST_STEP] and w[STATUS] == 0:
        if build(t, w, first):
            _replace(t, w, first)
            return
        if w[N_RUNS] > 0 and t[KEEP_FIRST]:  # it does not fit what is held, and that stays
            break
        first += 1
    w[N_FIRST_STEP] -= 1
    _unmoved(t, w)


@inner
def _append(w, row, index, rank):
    at = w[FIRST_STEP] + w[N_FIRST_STEP] * FIRST_WIDTH
    if at + FIRST_WIDTH > w[FIRST_STEP + 1]:
        w[STATUS] = FULL
        return False
    w[at + F_ROW], w[at + F_INDEX], w[at + F_RANK] = row, index, rank
    w[N_FIRST_STEP] += 1
    return True


@inner
def _replace(t, w, first):
    """The run just built takes the place of the one before; told once, as a whole."""
    if w[N_RUNS] > 0 and t[MOST_OF_FIRST] == 1:
        w[DROPPED] += 1
    if w[N_NEXT] > 0:
        w[STARTED] += 1
    for i in range(w[N_RUNS]):
        let_go(w, w[w[RUNS] + i])
    swap_lists(w)
    _forget_first(w, first)


@inner
def _forget_first(w, count):
    if count == 0:
        return
    left = (w[N_FIRST_STEP] - count) * FIRST_WIDTH
    for i in range(left):
        w[w[FIRST_STEP] + i] = w[w[FIRST_STEP] + count * FIRST_WIDTH + i]
    w[N_FIRST_STEP] -= count


@inner
def _unmoved(t, w):
    kept = 0
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if can_go_on(t, w, run, w[INDEX]) or held(t, w, run):
            w[w[RUNS] + kept] = run
            kept += 1
        else:
            let_go(w, run)
    w[N_RUNS] = kept


@inner
def build(t, w, first):
    """The run that took exactly the held events from `first` on: its copies are in NEXT, what is complete in DONE.

    False, and nothing there, if it cannot have taken them.
    """
    before = w[N_DONE]
    runs, open_runs, after, index = w[RUNS], w[N_RUNS], w[NEXT], w[INDEX]
    started, advanced = w[STARTED], w[ADVANCED]
    w[RUNS], w[NEXT], w[N_RUNS] = w[AGAIN], w[AFTER], 0
    for i in range(first, w[N_FIRST_STEP]):
        at = w[FIRST_STEP] + i * FIRST_WIDTH
        w[INDEX] = w[at + F_INDEX]
        w[N_NEXT] = 0
        release(w, before)  # only the last event's completions count
        if i == first:
            if w[INDEX] != w[VIOLATED_AT]:  # it starts again with the next event
                start_run(t, w, w[at + F_ROW], w[at + F_RANK])
        else:
            _offer_within(t, w, w[at + F_ROW], w[at + F_RANK])
        swap_lists(w)
    w[STARTED], w[ADVANCED] = started, advanced
    whole = _keep_first_step(t, w, before, w[N_FIRST_STEP] - first)
    mine, count = w[RUNS], w[N_RUNS]
    w[RUNS], w[NEXT], w[N_RUNS], w[INDEX] = runs, after, open_runs, index
    w[N_NEXT] = 0
    if not whole:
        for i in range(count):
            let_go(w, w[mine + i])
        release(w, before)
        return False
    for i in range(count):
        push(w, NEXT, N_NEXT, w[mine + i])
    return True


@inner
def _offer_within(t, w, row, rank):
    """No event that is held could lead on to the second step when it came."""
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        within = 0
        for j in range(fitting(t, w, run, row)):
            e = w[w[SCRATCH] + j]
            if not _leaves_first_step(t, w, run, t[edge_at(t, e) + E_POSITION]):
                w[w[SCRATCH]] = e
                within = 1
                break
        move(t, w, run, within, row, rank)


@inner
def _keep_first_step(t, w, before, length):
    """Only what is still in the first step counts. Did any of it take all the events?"""
    whole = False
    kept = 0
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if in_first_step(t, w, run):
            whole = whole or w[run + RUN_TAKEN] == length
            w[w[RUNS] + kept] = run
            kept += 1
        else:
            let_go(w, run)
    w[N_RUNS] = kept
    kept = before
    for i in range(before, w[N_DONE]):
        run = w[w[DONE] + i]
        if in_first_step(t, w, run):
            whole = whole or w[run + RUN_TAKEN] == length
            w[w[DONE] + kept] = run
            kept += 1
        else:
            w[run + RUN_IS_DONE] = 0
            if not w[run + RUN_IS_OPEN]:
                free_run(w, run)
    w[N_DONE] = kept
    return whole


@inner
def build_from_later(t, w):
    """When the oldest events of a counted first step are too old, the run of the later ones goes on."""
    _forget_first(w, 1)
    before = w[N_DONE]
    while w[N_FIRST_STEP] > 0 and w[STATUS] == 0:
        built = build(t, w, 0)
        release(w, before)
        if built and w[N_NEXT] > 0:
            swap_lists(w)
            return
        _forget_first(w, 1)
