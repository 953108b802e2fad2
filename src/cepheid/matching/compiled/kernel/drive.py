"""The three things that happen to a partition: an event, time passing, the end.

How runs are kept differs (all of them, `stnm`, `every`); see `kinds.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from cepheid.matching.compiled.kernel.counting import join_runs
from cepheid.matching.compiled.kernel.emission import (
    PENDING,
    TIMEOUT,
    forget_furthest,
    give_out,
    had_match,
)
from cepheid.matching.compiled.kernel.every import (
    build_from_later,
    only_first_step,
)
from cepheid.matching.compiled.kernel.jit import (
    OPTIONS,
    inner,
)
from cepheid.matching.compiled.kernel.kinds import (
    advance_by_kind,
    finish_by_kind,
)
from cepheid.matching.compiled.kernel.moves import (
    absence_deadline,
    can_go_on,
    deadline_of,
    last_chance,
    waiting,
)
from cepheid.matching.compiled.kernel.partition import (
    check_absences,
    decide_next_absences,
    held,
    is_open_start,
    limit,
    numbered,
    remember,
)
from cepheid.matching.compiled.kernel.space import (
    BY_DEADLINE,
    BY_END,
    BY_EVENT,
    CAUSE,
    DONE,
    EXPIRED,
    FURTHEST,
    INDEX,
    MATCHED,
    N_DONE,
    N_FIRST_STEP,
    N_FURTHEST,
    N_MATCHED,
    N_NEXT,
    N_RUNS,
    NEXT,
    NEXT_DEADLINE,
    PHASE,
    RUNS,
    SCRATCH,
    STATUS,
    VIOLATED_AT,
    event_int,
    free_run,
    new_run,
    push,
    set_done,
)
from cepheid.matching.compiled.kernel.words import (
    BY_START,
    COUNTING,
    DEADLINES_MOVE,
    KIND,
    KIND_EVERY,
    KIND_STNM,
    MOST_OF_FIRST,
    NEVER,
    R_WIDTH,
    RUN_AWAITED,
    RUN_BLOCKED_ACCEPTS,
    RUN_DEADLINE,
    RUN_IS_OPEN,
    RUN_START,
    RUN_TAKEN,
    TIME,
    TIMEOUTS,
)

# Time.


def pass_by_kind(kind: Any, t: Any, w: Any, deadline: Any) -> None:
    """Chosen when it is compiled."""


@overload(pass_by_kind, jit_options=OPTIONS)
def _pass_by_kind(kind, t, w, deadline):
    if isinstance(kind, types.Float):
        return lambda kind, t, w, deadline: pass_every(kind, t, w, deadline)
    return lambda kind, t, w, deadline: pass_deadline(kind, t, w, deadline)


@inner
def pass_time(kind, t, w, time):
    """Time has passed every moment before `time`."""
    while w[NEXT_DEADLINE] < time or (t[DEADLINES_MOVE] and w[N_RUNS] > 0):
        deadline = next_deadline(t, w)
        w[NEXT_DEADLINE] = deadline
        if deadline >= time or w[STATUS] != 0:
            return
        w[NEXT_DEADLINE] = -NEVER
        w[PHASE] = BY_DEADLINE
        pass_by_kind(kind, t, w, deadline)


@inner
def deadline_now(t, w, run):
    """A neighbour that has not come changes what a run waits for; otherwise its deadline is known."""
    return deadline_of(t, w, run, w[INDEX]) if t[DEADLINES_MOVE] else w[run + RUN_DEADLINE]


@inner
def next_deadline(t, w):
    found = NEVER
    if t[BY_START]:
        return w[w[w[RUNS]] + RUN_DEADLINE] if w[N_RUNS] > 0 else NEVER
    for i in range(w[N_RUNS]):
        found = min(found, deadline_now(t, w, w[w[RUNS] + i]))
    return found


@inner
def pass_deadline(kind, t, w, deadline):
    """Time has gone past a deadline: absences become certain, windows end."""
    kept = 0
    w[N_NEXT] = 0  # here: what has expired
    over = w[N_RUNS]
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        later = t[BY_START] and w[run + RUN_DEADLINE] != deadline  # and so are those behind it
        if later or not _in_turn(t, w, run):
            over = i
            break
        if deadline_now(t, w, run) != deadline or goes_on(t, w, run, deadline):
            w[w[RUNS] + kept] = run
            kept += 1
    for i in range(over, w[N_RUNS]):
        w[w[RUNS] + kept + i - over] = w[w[RUNS] + i]
    w[N_RUNS] = kept + w[N_RUNS] - over
    finish_by_kind(kind, t, w, deadline)
    expire(t, w, deadline)


@inner
def _in_turn(t, w, run):
    """Under `stnm` one start after another: the match of an older one may put the others elsewhere."""
    return t[KIND] != KIND_STNM or w[N_DONE] == 0 or w[w[w[DONE]] + RUN_START] == w[run + RUN_START]


@inner
def goes_on(t, w, run, deadline):
    """What the deadline makes of a run: complete, expired, or still open."""
    certain = _certain(t, w, run, deadline)
    if certain:
        done = new_run(w)
        if done < 0:
            return True
        for j in range(t[R_WIDTH]):
            w[done + j] = w[run + j]
        w[done + RUN_AWAITED] = _first_end(t, w, run, certain)
        w[done + RUN_IS_OPEN] = 0
        set_done(w, done)
        w[run + RUN_BLOCKED_ACCEPTS] |= certain
    over = last_chance(t, w, run, w[INDEX]) <= deadline
    if not over and can_go_on(t, w, run, w[INDEX]):
        w[run + RUN_DEADLINE] = deadline_of(t, w, run, w[INDEX])
        return True
    w[run + RUN_IS_OPEN] = 0
    if held(t, w, run):
        set_done(w, run)
    elif not certain:
        push(w, NEXT, N_NEXT, run)
    else:
        free_run(w, run)
    return False


@inner
def _certain(t, w, run, deadline):
    """The ways to be complete whose absence the deadline makes certain, as bits."""
    awaited = waiting(t, w, run)
    found = np.int64(0)
    number = 0
    while awaited >> number:
        if (awaited >> number) & 1 and absence_deadline(t, w, run, number) <= deadline:
            found |= np.int64(1) << number
        number += 1
    return found


@inner
def _first_end(t, w, run, certain):
    found = NEVER
    number = 0
    while certain >> number:
        if (certain >> number) & 1:
            found = min(found, absence_deadline(t, w, run, number))
        number += 1
    return found


@inner
def expire(t, w, deadline):
    """Runs whose window has ended without a match."""
    at = w[NEXT]
    w[EXPIRED] += w[N_NEXT]
    if not t[TIMEOUTS]:
        for i in range(w[N_NEXT]):
            free_run(w, w[at + i])
        return
    starts = 0
    for i in range(w[N_NEXT]):
        run = w[at + i]
        start = w[run + RUN_START]
        w[w[SCRATCH] + starts] = start
        starts += 1
        _note_furthest(w, run)
    for i in range(starts):
        start = w[w[SCRATCH] + i]
        if (i == 0 or w[w[SCRATCH] + i - 1] != start) and not is_open_start(w, start):
            _time_out(t, w, start, deadline)
    if w[N_MATCHED] > 2 * w[N_RUNS] + 16:
        _forget_matched(w)


@inner
def _note_furthest(w, run):
    """Of the copies of a start without a match, the one that got furthest."""
    start = w[run + RUN_START]
    if had_match(w, start):
        free_run(w, run)
        return
    for i in range(w[N_FURTHEST]):
        best = w[w[FURTHEST] + i]
        if w[best + RUN_START] == start:
            if w[run + RUN_TAKEN] > w[best + RUN_TAKEN]:
                w[w[FURTHEST] + i] = run
                free_run(w, best)
            else:
                free_run(w, run)
            return
    push(w, FURTHEST, N_FURTHEST, run)


@inner
def _time_out(t, w, start, deadline):
    for i in range(w[N_FURTHEST]):
        run = w[w[FURTHEST] + i]
        if w[run + RUN_START] == start:
            give_out(t, w, run, TIMEOUT, deadline)
            forget_furthest(w, start)
            return


@inner
def _forget_matched(w):
    kept = 0
    for i in range(w[N_MATCHED]):
        start = w[w[MATCHED] + i]
        if is_open_start(w, start):
            w[w[MATCHED] + kept] = start
            kept += 1
    w[N_MATCHED] = kept


# The three things that happen.


@inner
def on_event(kind, t, w, row):
    time = event_int(w, TIME, row)
    pass_time(kind, t, w, time)
    w[PHASE] = BY_EVENT
    w[CAUSE] = row
    rank = numbered(t, w, row)
    before = w[N_RUNS]
    check_absences(t, w, row)
    if t[KIND] == KIND_EVERY and before > 0 and w[N_RUNS] == 0:
        w[N_FIRST_STEP] = 0
        w[VIOLATED_AT] = w[INDEX]
    decide_next_absences(t, w, row)
    advance_by_kind(kind, t, w, row, rank)
    finish_by_kind(kind, t, w, time)
    if t[COUNTING]:
        join_runs(t, w)
    remember(t, w, row)
    limit(t, w)
    if t[TIMEOUTS] and w[N_MATCHED] > 2 * w[N_RUNS] + 16:
        _forget_matched(w)


@inner
def on_end(kind, t, w, time):
    """Nothing comes after `time`: closures at the end are closed, absences not yet certain are pending."""
    pass_time(kind, t, w, time)
    w[PHASE] = BY_END
    while w[STATUS] == 0 and _hold_back(t, w):
        finish_by_kind(kind, t, w, time)
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        awaited = waiting(t, w, run)
        if awaited:
            number = 0
            while (awaited >> number) & 1 == 0:
                number += 1
            give_out(t, w, run, PENDING, absence_deadline(t, w, run, number))


@inner
def _hold_back(t, w):
    """Held runs are complete now: are there any?"""
    kept = 0
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if held(t, w, run):
            w[run + RUN_IS_OPEN] = 0
            set_done(w, run)
        else:
            w[w[RUNS] + kept] = run
            kept += 1
    w[N_RUNS] = kept
    return w[N_DONE] > 0


@inner
def close(w):
    """All records are free again."""
    for i in range(w[N_RUNS]):
        free_run(w, w[w[RUNS] + i])
    for i in range(w[N_FURTHEST]):
        free_run(w, w[w[FURTHEST] + i])
    w[N_RUNS] = w[N_FURTHEST] = 0


@inner
def pass_every(kind, t, w, deadline):
    """When the window of a counted first step ends, only its oldest events go."""
    only_first = only_first_step(t, w)
    held_before = w[N_FIRST_STEP]
    pass_deadline(kind, t, w, deadline)
    if w[N_RUNS] == 0 and only_first and held_before > 1 and t[MOST_OF_FIRST] != 1:
        w[N_FIRST_STEP] = held_before
        build_from_later(t, w)
