"""Runs kept by the state they are in: an event meets only those that could take it, or that it could stop.

For patterns that keep all runs, and where nothing depends on the order among the copies of a start. What a run does is
in `moves.py` and `partition.py`; here is only where it is found. Deadlines are in a heap.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.beyond import first_passed, must_be_beyond, put_beyond, take_beyond
from cepheid.matching.compiled.kernel.drive import expire, goes_on
from cepheid.matching.compiled.kernel.due import put_due, take_due
from cepheid.matching.compiled.kernel.emission import PENDING, finish, give_out
from cepheid.matching.compiled.kernel.equal import bucket_of_event, must_be_equal, put_by_value, take_by_value
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.moves import absence_deadline, extended, violated, waiting
from cepheid.matching.compiled.kernel.partition import (
    START,
    closed_by,
    fitting,
    held,
    limit,
    note_deadline,
    numbered,
    remember,
    settle,
    start_run,
    staying,
)
from cepheid.matching.compiled.kernel.space import (
    ADVANCED,
    BUCKETS,
    BY_DEADLINE,
    BY_END,
    BY_EVENT,
    CAUSE,
    DUE,
    HEADS,
    INDEX,
    N_DONE,
    N_DUE,
    N_NEXT,
    N_RUNS,
    NEGATED,
    NEXT,
    OK,
    PHASE,
    ROOM,
    RUNS,
    SCRATCH,
    STATUS,
    event_int,
    let_go,
    set_done,
)
from cepheid.matching.compiled.kernel.words import (
    ABSENCES,
    AT_ACCEPTING,
    AT_FEARS,
    AT_WANTS,
    LONGEST,
    NEVER,
    NONE,
    PASSED,
    POSITIONS,
    RUN_BUCKET,
    RUN_BUCKET_OLDER,
    RUN_CLOSED,
    RUN_DEADLINE,
    RUN_DUE,
    RUN_FOUND,
    RUN_IS_OPEN,
    RUN_NEWER,
    RUN_OLDER,
    RUN_STATE,
    STATES,
    TIME,
)

# The lists.


@inner
def link(t, w, run):
    head = w[HEADS] + w[run + RUN_STATE]
    w[run + RUN_OLDER] = w[head]
    w[run + RUN_NEWER] = NONE
    if w[head] >= 0:
        w[w[head] + RUN_NEWER] = run
    w[head] = run
    w[N_RUNS] += 1
    put_by_value(t, w, run)
    put_beyond(t, w, run)
    w[run + RUN_DUE] = NONE
    if w[run + RUN_DEADLINE] != NEVER:
        put_due(w, run)


@inner
def unlink(t, w, run):
    older, newer = w[run + RUN_OLDER], w[run + RUN_NEWER]
    if newer >= 0:
        w[newer + RUN_OLDER] = older
    else:
        w[w[HEADS] + w[run + RUN_STATE]] = older
    if older >= 0:
        w[older + RUN_NEWER] = newer
    w[N_RUNS] -= 1
    take_by_value(w, run)
    take_beyond(t, w, run)
    take_due(w, run)


@inner
def _redate(t, w, run):
    """Something about the run has changed: perhaps its deadline."""
    before = w[run + RUN_DEADLINE]
    note_deadline(t, w, run)
    if w[run + RUN_DEADLINE] != before:
        take_due(w, run)
        if w[run + RUN_DEADLINE] != NEVER:
            put_due(w, run)


@inner
def _link_new(t, w):
    """Those that have just taken the event."""
    for i in range(w[N_NEXT]):
        link(t, w, w[w[NEXT] + i])
    w[N_NEXT] = 0


@inner
def spread(t, w):
    """From one list, as a state is loaded, to the lists."""
    count = w[N_RUNS]
    w[N_RUNS] = 0
    for i in range(count):
        link(t, w, w[w[RUNS] + i])


@inner
def gather(t, w):
    """The other way round."""
    count = 0
    if w[STATUS] == OK:
        for state in range(t[STATES]):
            run = w[w[HEADS] + state]
            while run >= 0:
                w[w[RUNS] + count] = run
                count += 1
                if w[run + RUN_BUCKET] >= 0:
                    w[w[run + RUN_BUCKET]] = 0
                run = w[run + RUN_OLDER]
    else:
        for i in range(w[ROOM]):
            w[w[BUCKETS] + i] = 0
    w[N_RUNS] = count


# The three things that happen.


@inner
def on_event_by_state(t, w, row):
    time = event_int(w, TIME, row)
    pass_time_by_state(t, w, time)
    w[PHASE] = BY_EVENT
    w[CAUSE] = row
    rank = numbered(t, w, row)
    passed = event_int(w, PASSED, row)
    if passed >> t[POSITIONS]:
        _check_absences(t, w, row, passed)
    _advance(t, w, row, rank, passed & ((np.int64(1) << t[POSITIONS]) - 1))
    finish(t, w, time)
    remember(t, w, row)
    limit(t, w)


@inner
def _check_absences(t, w, row, passed):
    """Negation is checked before advancement. A guard may concern any run."""
    guarded = passed >> (t[POSITIONS] + t[ABSENCES]) != 0
    seen = (passed >> t[POSITIONS]) & ((np.int64(1) << t[ABSENCES]) - 1)
    for state in range(t[STATES]):
        if not guarded and t[t[AT_FEARS] + state] & seen == 0:
            continue
        run = w[w[HEADS] + state]
        while run >= 0:
            older = w[run + RUN_OLDER]
            if violated(t, w, run, row, w[INDEX]):
                w[NEGATED] += 1
                unlink(t, w, run)
                let_go(w, run)
            else:
                _redate(t, w, run)
            run = older


@inner
def _advance(t, w, row, rank, wants):
    w[N_NEXT] = 0
    for state in range(t[STATES]):
        if t[t[AT_WANTS] + state] & wants or (t[LONGEST] and _accepts(t, state)):
            if must_be_equal(t, state):
                _offer_to_equal(t, w, state, row, rank)
            elif must_be_beyond(t, state):
                _offer_to_passed(t, w, state, row, rank)
            else:
                _offer_to_all(t, w, state, row, rank)
    if t[t[AT_WANTS] + START] & wants:
        start_run(t, w, row, rank)
    _link_new(t, w)


@inner
def _offer_to_all(t, w, state, row, rank):
    run = w[w[HEADS] + state]
    while run >= 0 and w[STATUS] == OK:
        older = w[run + RUN_OLDER]
        _offer(t, w, run, row, rank)
        run = older


@inner
def _offer_to_equal(t, w, state, row, rank):
    """Other values and other states may share a bucket."""
    bucket = bucket_of_event(t, w, state, row)
    run = w[bucket] if bucket >= 0 else 0
    while run > 0 and w[STATUS] == OK:
        older = w[run + RUN_BUCKET_OLDER]
        if w[run + RUN_STATE] == state:
            _offer(t, w, run, row, rank)
        run = older


@inner
def _offer_to_passed(t, w, state, row, rank):
    run = first_passed(t, w, state, row)
    while run >= 0 and w[STATUS] == OK:
        after = w[run + RUN_FOUND]
        _offer(t, w, run, row, rank)
        run = after


@inner
def _accepts(t, state):
    """A run that is held may be closed by an event it does not want."""
    return t[t[AT_ACCEPTING] + state] < t[t[AT_ACCEPTING] + state + 1]


@inner
def _offer(t, w, run, row, rank):
    """The run takes the event on every edge it fits; perhaps a copy stays where it was."""
    edges = fitting(t, w, run, row)
    if edges == 0:
        if t[LONGEST] and closed_by(t, w, run, row):
            unlink(t, w, run)
            set_done(w, run)
            w[run + RUN_IS_OPEN] = 0
        return
    closed, stays = staying(t, w, run, edges)
    for i in range(edges):
        new = extended(t, w, run, w[w[SCRATCH] + i], row, w[INDEX], rank)
        if new < 0:
            return
        w[ADVANCED] += 1
        settle(t, w, new)
    if not stays:
        unlink(t, w, run)
        let_go(w, run)
    elif closed != w[run + RUN_CLOSED]:
        w[run + RUN_CLOSED] = closed
        _redate(t, w, run)


@inner
def pass_time_by_state(t, w, time):
    """Time has passed every moment before `time`."""
    while w[N_DUE] > 0 and w[STATUS] == OK:
        deadline = w[w[w[DUE]] + RUN_DEADLINE]
        if deadline >= time:
            return
        w[PHASE] = BY_DEADLINE
        _pass_deadline(t, w, deadline)


@inner
def _pass_deadline(t, w, deadline):
    """Time has gone past a deadline: absences become certain, windows end."""
    w[N_NEXT] = 0  # here: what has expired
    spare = w[SCRATCH]
    staying_open = 0
    while w[N_DUE] > 0 and w[w[w[DUE]] + RUN_DEADLINE] == deadline and w[STATUS] == OK:
        run = w[w[DUE]]
        unlink(t, w, run)
        if goes_on(t, w, run, deadline):
            w[spare + staying_open] = run
            staying_open += 1
    for i in range(staying_open):
        link(t, w, w[spare + i])
    finish(t, w, deadline)
    expire(t, w, deadline)
    w[N_NEXT] = 0


@inner
def on_end_by_state(t, w, time):
    """Nothing comes after `time`: closures at the end are closed, absences not yet certain are pending."""
    pass_time_by_state(t, w, time)
    w[PHASE] = BY_END
    while w[STATUS] == OK and _hold_back(t, w):
        finish(t, w, time)
    for state in range(t[STATES]):
        run = w[w[HEADS] + state]
        while run >= 0:
            awaited = waiting(t, w, run)
            if awaited:
                number = 0
                while (awaited >> number) & 1 == 0:
                    number += 1
                give_out(t, w, run, PENDING, absence_deadline(t, w, run, number))
            run = w[run + RUN_OLDER]


@inner
def _hold_back(t, w):
    """Held runs are complete now: are there any?"""
    for state in range(t[STATES]):
        run = w[w[HEADS] + state]
        while run >= 0 and t[LONGEST]:
            older = w[run + RUN_OLDER]
            if held(t, w, run):
                unlink(t, w, run)
                w[run + RUN_IS_OPEN] = 0
                set_done(w, run)
            run = older
    return w[N_DONE] > 0
