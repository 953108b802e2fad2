"""One partition over arrays: what an event or the passing of time does to its open runs.

The rules of `matching/partition.py`, in the same order and under the same names.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.emission import (
    PROVISIONAL,
    give_out,
)
from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.moves import (
    can_be_next,
    can_extend,
    can_go_on,
    closed_by_until,
    complete,
    deadline_of,
    edge_at,
    extended,
    fits,
    holds,
    is_open,
    left_too_early,
    violated,
    waiting,
)
from cepheid.matching.compiled.kernel.space import (
    ADVANCED,
    EMPTY,
    EVICTED,
    FULL,
    INDEX,
    LIMITED,
    N_NEXT,
    N_RECENT,
    N_RUNS,
    NEGATED,
    NEXT,
    NEXT_DEADLINE,
    NOW,
    RANK_NOW,
    RECENT,
    RUNS,
    SCRATCH,
    STARTED,
    STATUS,
    TOO_MANY_RUNS,
    event_int,
    free_run,
    keep_open,
    let_go,
    new_run,
    push,
    set_done,
)
from cepheid.matching.compiled.kernel.words import (
    A_ABSENCES,
    A_END,
    ABSENCE_WIDTH,
    ABSENCES,
    ACCEPT_WIDTH,
    ARROW_ANY,
    AT_ABSENCE,
    AT_ACCEPT,
    AT_CLOSURE,
    AT_INSIDE,
    AT_INSIDE_LIST,
    AT_LISTS,
    AT_OUT,
    AT_OUT_EDGES,
    AT_POSITION,
    AT_WANTS,
    C_LOOP,
    C_UNTIL,
    CLOSURE_WIDTH,
    E_ABSENCES,
    E_ARROW,
    E_END,
    E_LOOP,
    E_MOVES_ON,
    E_POSITION,
    EAGER,
    EDGES,
    EVICT,
    FILTERS,
    LONGEST,
    LOOKS_NEXT,
    LOOP_ALL,
    LOOP_GREEDY,
    MAX_RUNS,
    N_IS_NEXT,
    N_TEST,
    N_WITHIN,
    NODE_INDEX,
    NODE_POSITION,
    ONE_WAY,
    ORDER_MATTERS,
    P_ALIAS,
    P_REPEATED,
    P_TYPE,
    PASSED,
    POSITION_WIDTH,
    POSITIONS,
    R_WIDTH,
    RANK,
    RUN_AWAITED,
    RUN_BLOCKED_ACCEPTS,
    RUN_CLOSED,
    RUN_DEADLINE,
    RUN_IS_DONE,
    RUN_IS_OPEN,
    RUN_NODE,
    RUN_PATH,
    RUN_START,
    RUN_STATE,
    RUN_TO,
    TIME,
    TYPE,
)

START = 0


@inner
def numbered(t, w, row):
    """The event's index and its rank among the relevant events of its time."""
    w[INDEX] += 1
    time = event_int(w, TIME, row)
    if event_int(w, RANK, row) >= 0:  # counted where all events of its time were at hand
        w[NOW] = time
        return event_int(w, RANK, row)
    if time != w[NOW]:
        w[NOW] = time
        w[RANK_NOW] = -1
    if event_int(w, PASSED, row) != 0:
        w[RANK_NOW] += 1
    return w[RANK_NOW]


@inner
def check_absences(t, w, row):
    """Negation is checked before advancement."""
    untils = t[FILTERS] != 0
    looks = (event_int(w, PASSED, row) >> t[POSITIONS]) != 0
    if not looks and not untils:
        return
    kept = 0
    index = w[INDEX]
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if looks and violated(t, w, run, row, index):
            w[NEGATED] += 1
            let_go(w, run)
            continue
        closed = w[run + RUN_CLOSED]
        if untils:
            _until(t, w, run, row)
        if looks or closed != w[run + RUN_CLOSED]:
            note_deadline(t, w, run)
        w[w[RUNS] + kept] = run
        kept += 1
    w[N_RUNS] = kept


@inner
def _until(t, w, run, row):
    """`all B until p`: p closes every closure the run is in."""
    state = w[run + RUN_STATE]
    for at in range(t[t[AT_INSIDE] + state], t[t[AT_INSIDE] + state + 1]):
        closure = t[t[AT_INSIDE_LIST] + at]
        test = t[t[AT_CLOSURE] + closure * CLOSURE_WIDTH + C_UNTIL]
        if test >= 0 and holds(t, test, w, run, row, -1, -1, -1):
            w[run + RUN_CLOSED] |= closed_by_until(t, closure)


@inner
def decide_next_absences(t, w, row):
    """`A -> NOT next X` at the end is certain as soon as another event came."""
    if not t[FILTERS]:
        return
    index = w[INDEX]
    kept = 0
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        waited = waiting(t, w, run)
        _decided(t, w, run, event_int(w, TIME, row), index)
        if can_go_on(t, w, run, index - 1) or held(t, w, run):
            if waited != waiting(t, w, run):  # its window may end sooner than what it waited for
                note_deadline(t, w, run)
            w[w[RUNS] + kept] = run
            kept += 1
        else:
            let_go(w, run)
    w[N_RUNS] = kept


@inner
def _decided(t, w, run, time, index):
    awaited = waiting(t, w, run)
    if awaited == 0 or w[w[run + RUN_NODE] + NODE_INDEX] + 1 != index:
        return
    blocked = w[run + RUN_BLOCKED_ACCEPTS]
    number = 0
    while awaited:
        if awaited & 1 and _all_next(t, number):
            done = new_run(w)
            if done < 0:
                return
            w[run + RUN_BLOCKED_ACCEPTS] = blocked
            for j in range(t[R_WIDTH]):
                w[done + j] = w[run + j]
            w[done + RUN_AWAITED] = time
            w[done + RUN_IS_OPEN] = 0
            set_done(w, done)
            w[run + RUN_BLOCKED_ACCEPTS] = blocked | (np.int64(1) << number)
        awaited >>= 1
        number += 1


@inner
def _all_next(t, number):
    accept = t[AT_ACCEPT] + number * ACCEPT_WIDTH
    for at in range(t[AT_LISTS] + t[accept + A_ABSENCES], t[AT_LISTS] + t[accept + A_END]):
        if not t[t[AT_ABSENCE] + t[at] * ABSENCE_WIDTH + N_IS_NEXT]:
            return False
    return True


@inner
def held(t, w, run):
    """Complete, but a closure at the end may still grow: `longest` waits."""
    return t[LONGEST] != 0 and complete(t, w, run)


# An event is offered to every run.


@inner
def advance(t, w, row, rank):
    """Every run is offered the event; every start opens a run. What is complete now is in DONE."""
    w[N_NEXT] = 0
    wants = event_int(w, PASSED, row) & ((np.int64(1) << t[POSITIONS]) - 1)
    aside = not t[LOOKS_NEXT] and not t[LONGEST]
    if t[ORDER_MATTERS]:
        group_copies(w)
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if aside and t[t[AT_WANTS] + w[run + RUN_STATE]] & wants == 0:
            push(w, NEXT, N_NEXT, run)  # the event is nothing to it
            continue
        edges = fitting(t, w, run, row)
        move(t, w, run, edges, row, rank)
    if t[t[AT_WANTS] + START] & wants:
        start_run(t, w, row, rank)
    swap_lists(w)


@inner
def offer_one_way(t, w, first, end, row, rank):
    """Copies of one start, of which each takes one way; those still open go to NEXT, those complete to DONE.

    Of copies that came the same way: where some move on, the others are gone.
    """
    if end - first == 1:
        run = w[w[RUNS] + first]
        move(t, w, run, min(fitting(t, w, run, row), 1), row, rank)
        return
    at = first
    while at < end:
        path = w[w[w[RUNS] + at] + RUN_PATH]
        behind = at
        while behind < end and w[w[w[RUNS] + behind] + RUN_PATH] == path:
            behind += 1
        ways = w[SCRATCH] + t[EDGES]
        any_moves_on = False
        for i in range(at, behind):
            chosen = w[w[SCRATCH]] if fitting(t, w, w[w[RUNS] + i], row) > 0 else -1
            w[ways + i - at] = chosen
            any_moves_on = any_moves_on or _moves_on(t, chosen)
        for i in range(at, behind):
            run, chosen = w[w[RUNS] + i], w[ways + i - at]
            if any_moves_on and not _moves_on(t, chosen):
                let_go(w, run)
                continue
            w[w[SCRATCH]] = chosen
            move(t, w, run, 1 if chosen >= 0 else 0, row, rank)
        at = behind


@inner
def _moves_on(t, e):
    return e >= 0 and t[edge_at(t, e) + E_MOVES_ON] != 0


@inner
def is_open_start(w, start):
    """Open runs lie in the order of their starts."""
    low, high = 0, w[N_RUNS]
    while low < high:
        middle = (low + high) // 2
        if w[w[w[RUNS] + middle] + RUN_START] < start:
            low = middle + 1
        else:
            high = middle
    return low < w[N_RUNS] and w[w[w[RUNS] + low] + RUN_START] == start


@inner
def swap_lists(w):
    w[RUNS], w[NEXT] = w[NEXT], w[RUNS]
    w[N_RUNS] = w[N_NEXT]


@inner
def group_copies(w):
    """Copies of one start that came the same way lie together, in the order of their first."""
    at = w[RUNS]
    first = 0
    while first < w[N_RUNS]:
        start = w[w[at + first] + RUN_START]
        end = first + 1
        while end < w[N_RUNS] and w[w[at + end] + RUN_START] == start:
            end += 1
        if end - first > 2:
            _group(w, at, first, end)
        first = end


@inner
def _group(w, at, first, end):
    placed = first
    while placed < end:
        path = w[w[at + placed] + RUN_PATH]
        placed += 1
        for i in range(placed, end):
            run = w[at + i]
            if w[run + RUN_PATH] == path:
                for j in range(i, placed, -1):  # those between keep their order
                    w[at + j] = w[at + j - 1]
                w[at + placed] = run
                placed += 1


@inner
def fitting(t, w, run, row):
    """Writes every edge on which the run can take the event to SCRATCH, in the order of preference: how many."""
    count = 0
    state = w[run + RUN_STATE]
    index = w[INDEX]
    for o in range(t[t[AT_OUT] + state], t[t[AT_OUT] + state + 1]):
        e = t[t[AT_OUT_EDGES] + o]
        if fits(t, w, run, e, row, index):
            w[w[SCRATCH] + count] = e
            count += 1
    kept = 0
    for i in range(count):
        e = w[w[SCRATCH] + i]
        if not left_too_early(t, w, run, e, row, index):
            w[w[SCRATCH] + kept] = e
            kept += 1
    return kept


@inner
def move(t, w, run, edges, row, rank):
    """The run takes the event on each of the edges in SCRATCH; perhaps a copy stays where it was."""
    if edges == 0 and not t[LOOKS_NEXT] and not t[FILTERS]:
        not_taken(t, w, run, row)
        return
    closed, stays = staying(t, w, run, edges)
    if edges == 0 and closed_by(t, w, run, row):
        set_done(w, run)
        w[run + RUN_IS_OPEN] = 0
        return
    for i in range(edges):
        new = extended(t, w, run, w[w[SCRATCH] + i], row, w[INDEX], rank)
        if new < 0:
            return
        w[ADVANCED] += 1
        settle(t, w, new)
    if stays:
        if closed != w[run + RUN_CLOSED]:
            w[run + RUN_CLOSED] = closed
            note_deadline(t, w, run)
        push(w, NEXT, N_NEXT, run)
    else:
        let_go(w, run)


@inner
def not_taken(t, w, run, row):
    """An event that does not fit leaves a run as it is, where nothing has to be the next one; or closes it."""
    if t[LONGEST] and closed_by(t, w, run, row):
        set_done(w, run)
        w[run + RUN_IS_OPEN] = 0
    else:
        push(w, NEXT, N_NEXT, run)


@inner
def staying(t, w, run, edges):
    """The closures closed for the copy that does not take the event, and whether there is one."""
    before = w[run + RUN_CLOSED]
    closed = before
    for i in range(edges):
        edge = edge_at(t, w[w[SCRATCH] + i])
        loop = t[edge + E_LOOP]
        if loop < 0:
            if t[edge + E_ARROW] != ARROW_ANY:
                return before, False
        else:
            how = t[t[AT_CLOSURE] + loop * CLOSURE_WIDTH + C_LOOP]
            if how in (LOOP_ALL, LOOP_GREEDY):
                closed |= np.int64(1) << loop
    w[run + RUN_CLOSED] = closed
    extends = can_extend(t, w, run, w[INDEX])
    is_held = held(t, w, run)
    if is_held and edges > 0 and not extends:
        stays = False  # its longer copy is held instead
    else:
        stays = extends or is_held or waiting(t, w, run) != 0
    w[run + RUN_CLOSED] = before
    return closed, stays


@inner
def closed_by(t, w, run, row):
    """Does this event, which the run does not take, close its closure at the end?"""
    if not held(t, w, run):
        return False
    index = w[INDEX]
    if not can_extend(t, w, run, index):
        return True
    state = w[run + RUN_STATE]
    for o in range(t[t[AT_OUT] + state], t[t[AT_OUT] + state + 1]):
        edge = edge_at(t, t[t[AT_OUT_EDGES] + o])
        kind = t[t[AT_POSITION] + t[edge + E_POSITION] * POSITION_WIDTH + P_TYPE]
        if (
            kind == event_int(w, TYPE, row)
            and is_open(t, w, run, edge)
            and can_be_next(t, w, run, edge, index - 1)
        ):
            return True
    return False


@inner
def settle(t, w, run):
    """A run that has just taken an event: is it complete, does it go on?"""
    goes_on = can_extend(t, w, run, w[INDEX])
    is_complete = complete(t, w, run)
    if is_complete:
        if not (t[LONGEST] and goes_on):
            set_done(w, run)
    elif t[EAGER]:
        position = w[w[run + RUN_NODE] + NODE_POSITION]
        if t[t[AT_POSITION] + position * POSITION_WIDTH + P_REPEATED]:
            give_out(t, w, run, PROVISIONAL, w[run + RUN_TO])
    if goes_on or waiting(t, w, run) != 0:
        note_deadline(t, w, run)
        keep_open(w, run)
    elif not w[run + RUN_IS_DONE]:
        free_run(w, run)


@inner
def note_deadline(t, w, run):
    found = deadline_of(t, w, run, w[INDEX])
    w[run + RUN_DEADLINE] = found
    w[NEXT_DEADLINE] = min(w[NEXT_DEADLINE], found)


@inner
def starting(t, w, row):
    """Writes the edges on which the event opens a run to SCRATCH: how many."""
    count = 0
    for o in range(t[t[AT_OUT] + START], t[t[AT_OUT] + START + 1]):
        e = t[t[AT_OUT_EDGES] + o]
        if fits(t, w, w[EMPTY], e, row, w[INDEX]) and _begun_by(t, w, e, row):
            w[w[SCRATCH] + count] = e
            count += 1
    return count


@inner
def start_run(t, w, row, rank):
    count = starting(t, w, row)
    if t[ONE_WAY]:
        count = min(count, 1)
    for i in range(count):
        new = extended(t, w, w[EMPTY], w[w[SCRATCH] + i], row, w[INDEX], rank)
        if new < 0:
            return
        w[STARTED] += 1
        settle(t, w, new)


@inner
def _begun_by(t, w, e, row):
    """`NOT X within d -> B`: may a run start here, given the X events before?"""
    edge = edge_at(t, e)
    alias = t[t[AT_POSITION] + t[edge + E_POSITION] * POSITION_WIDTH + P_ALIAS]
    time = event_int(w, TIME, row)
    for at in range(t[AT_LISTS] + t[edge + E_ABSENCES], t[AT_LISTS] + t[edge + E_END]):
        absence = t[AT_ABSENCE] + t[at] * ABSENCE_WIDTH
        bound = max(t[absence + N_WITHIN], 0)
        for i in range(w[N_RECENT]):
            if w[w[RECENT] + 2 * i] != t[at]:
                continue
            other = w[w[RECENT] + 2 * i + 1]
            near = other < row and time - bound <= event_int(w, TIME, other)
            if near and holds(t, t[absence + N_TEST], w, w[EMPTY], other, -1, alias, row):
                return False
    return True


@inner
def remember(t, w, row):
    """Events that an absence before the start looks back at; those too old to matter are forgotten."""
    seen = (event_int(w, PASSED, row) >> t[POSITIONS]) & ((np.int64(1) << t[ABSENCES]) - 1)
    if seen == 0:
        return
    for o in range(t[t[AT_OUT] + START], t[t[AT_OUT] + START + 1]):
        edge = edge_at(t, t[t[AT_OUT_EDGES] + o])
        for at in range(t[AT_LISTS] + t[edge + E_ABSENCES], t[AT_LISTS] + t[edge + E_END]):
            if (seen >> t[at]) & 1:
                forget_recent(t, w, event_int(w, TIME, row))
                place = w[RECENT] + 2 * w[N_RECENT]
                if place + 2 > w[RECENT + 1]:
                    w[STATUS] = FULL
                    return
                w[place] = t[at]
                w[place + 1] = row
                w[N_RECENT] += 1


@inner
def forget_recent(t, w, time):
    kept = 0
    at = w[RECENT]
    for i in range(w[N_RECENT]):
        absence, row = w[at + 2 * i], w[at + 2 * i + 1]
        bound = max(t[t[AT_ABSENCE] + absence * ABSENCE_WIDTH + N_WITHIN], 0)
        if event_int(w, TIME, row) >= time - bound:
            w[at + 2 * kept] = absence
            w[at + 2 * kept + 1] = row
            kept += 1
    w[N_RECENT] = kept


@inner
def limit(t, w):
    if w[N_RUNS] <= t[MAX_RUNS]:
        return
    if not t[EVICT]:
        w[STATUS] = TOO_MANY_RUNS
        return
    surplus = w[N_RUNS] - t[MAX_RUNS]
    at = w[RUNS]
    for i in range(surplus):  # runs are in the order of their starts
        free_run(w, w[at + i])
    for i in range(surplus, w[N_RUNS]):
        w[at + i - surplus] = w[at + i]
    w[N_RUNS] -= surplus
    w[EVICTED] += surplus
    w[LIMITED] += surplus
