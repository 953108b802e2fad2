"""How a run moves, over arrays: the rules of `matching/moves.py`, in the same order and under the same names.

Events come in total order here: a key with late events is the reference matcher's.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.machine import (
    GIVES_UP,
    TRUE,
    keep_aggregates,
    run_test,
)
from cepheid.matching.compiled.kernel.space import (
    END,
    FULL,
    GAVE_UP,
    N_NODES,
    NODES,
    NOW,
    STATUS,
    event_int,
    new_run,
)
from cepheid.matching.compiled.kernel.words import (
    A_ABSENCES,
    A_END,
    A_LEAVES,
    A_TEST,
    ABSENCE_WIDTH,
    ABSENCES,
    ACCEPT_WIDTH,
    ARROW_NEXT,
    AT_ABSENCE,
    AT_ACCEPT,
    AT_ACCEPTING,
    AT_ACCEPTING_LIST,
    AT_CLOSURE,
    AT_EDGE,
    AT_GUARD,
    AT_KEEP,
    AT_LISTS,
    AT_OUT,
    AT_OUT_EDGES,
    AT_PARENT,
    AT_POSITION,
    AT_PREFIX,
    AT_SCOPE,
    BLOCK_WORDS,
    C_LOOP,
    C_MAX,
    C_MIN,
    C_UNTIL,
    CLOSURE_WIDTH,
    COMPONENTS,
    E_ABSENCES,
    E_ARROW,
    E_BASE,
    E_CLEARS_ACCEPTS,
    E_COMPONENT,
    E_END,
    E_ENTERS,
    E_GAP,
    E_IN_ROUND,
    E_INSIDE,
    E_LEAVES,
    E_LOOP,
    E_OPENS,
    E_OVER,
    E_POSITION,
    E_TARGET,
    E_TEST,
    EDGE_WIDTH,
    ENDED,
    G_END,
    G_START,
    G_TEST,
    GUARD_WIDTH,
    GUARDS,
    LOOP_GREEDY,
    MASK,
    N_IS_NEXT,
    N_TEST,
    N_WITHIN,
    NEVER,
    NODE_BEFORE,
    NODE_INDEX,
    NODE_POSITION,
    NODE_RANK,
    NODE_ROW,
    NODE_SAME,
    NODE_WIDTH,
    NONE,
    ONLY_WINDOW,
    P_ALIAS,
    P_TEST,
    PASSED,
    POSITION_WIDTH,
    POSITIONS,
    R_BLOCKED,
    R_COUNTS,
    R_FIRST,
    R_LAST,
    R_MARKS,
    R_NUMBER,
    R_SCOPES,
    R_WIDTH,
    RUN_BLOCKED_ACCEPTS,
    RUN_CLOSED,
    RUN_FROM,
    RUN_IS_DONE,
    RUN_IS_OPEN,
    RUN_NODE,
    RUN_PATH,
    RUN_POSITIONS,
    RUN_START,
    RUN_STATE,
    RUN_TAKEN,
    RUN_TO,
    S_BOUND,
    S_FROM_PREVIOUS,
    SCOPE_WIDTH,
    TIME,
    WITHIN,
)


@inner
def edge_at(t, e):
    return t[AT_EDGE] + e * EDGE_WIDTH


@inner
def holds(t, test, w, run, current, before, extra_alias, extra_row):
    """Is a test true? No test is. Where the machine gives up, the key is the reference matcher's."""
    if test < 0:
        return True
    answer = run_test(t, test, w, run, current, before, extra_alias, extra_row)
    if answer == GIVES_UP:
        w[STATUS] = GAVE_UP
    return answer == TRUE


@inner
def mark_of(t, w, run, component):
    """The last event of a component; of the nearest one around it if it has none yet; -1 if there is none."""
    marks = run + t[R_MARKS]
    while component >= 0:
        if w[marks + component] >= 0:
            return w[marks + component]
        component = t[t[AT_PARENT] + component]
    return -1


# Taking an event.


@inner
def fits(t, w, run, e, row, index):
    edge = edge_at(t, e)
    if (event_int(w, PASSED, row) >> t[edge + E_POSITION]) & 1 == 0 or not is_open(t, w, run, edge):
        return False
    mark = mark_of(t, w, run, t[edge + E_COMPONENT])
    if mark >= 0 and t[edge + E_ARROW] == ARROW_NEXT and index != w[mark + NODE_INDEX] + 1:
        return False
    if not in_time(t, w, run, edge, mark, event_int(w, TIME, row)):
        return False
    return tested(t, w, run, edge, mark, row)


@inner
def is_open(t, w, run, edge):
    """Is this way still open to the run, whatever event comes?"""
    base = t[edge + E_BASE]
    if (w[run + t[R_BLOCKED] + base // MASK] >> (base % MASK)) & 1:
        return False
    if not may_leave(t, w, run, t[edge + E_LEAVES], t[edge + E_LEAVES + 1]):
        return False
    loop = t[edge + E_LOOP]
    if loop < 0:
        return True
    most = t[t[AT_CLOSURE] + loop * CLOSURE_WIDTH + C_MAX]
    return (w[run + RUN_CLOSED] >> loop) & 1 == 0 and (most < 0 or w[run + t[R_COUNTS] + loop] < most)


@inner
def may_leave(t, w, run, first, end):
    for at in range(t[AT_LISTS] + first, t[AT_LISTS] + end):
        if w[run + t[R_COUNTS] + t[at]] < t[t[AT_CLOSURE] + t[at] * CLOSURE_WIDTH + C_MIN]:
            return False
    return True


@inner
def in_time(t, w, run, edge, mark, time):
    if t[WITHIN] >= 0 and w[run + RUN_TAKEN] > 0 and time - w[run + RUN_FROM] > t[WITHIN]:
        return False
    before = event_int(w, TIME, w[mark + NODE_ROW]) if mark >= 0 else time
    if t[edge + E_GAP] >= 0 and mark >= 0 and time - before > t[edge + E_GAP]:
        return False
    for at in range(t[AT_LISTS] + t[edge + E_INSIDE], t[AT_LISTS] + t[edge + E_INSIDE + 1]):
        scope = t[at]
        begins = w[run + t[R_SCOPES] + scope]
        if opens(t, edge, scope):
            begins = scope_start(t, scope, mark, before, time)
        if time - begins > t[t[AT_SCOPE] + scope * SCOPE_WIDTH + S_BOUND]:
            return False
    return True


@inner
def opens(t, edge, scope):
    for at in range(t[AT_LISTS] + t[edge + E_OPENS], t[AT_LISTS] + t[edge + E_OPENS + 1]):
        if t[at] == scope:
            return True
    return False


@inner
def scope_start(t, scope, mark, before, time):
    from_previous = t[t[AT_SCOPE] + scope * SCOPE_WIDTH + S_FROM_PREVIOUS]
    return before if from_previous and mark >= 0 else time


@inner
def tested(t, w, run, edge, mark, row):
    position = t[AT_POSITION] + t[edge + E_POSITION] * POSITION_WIDTH
    before = w[mark + NODE_ROW] if mark >= 0 else -1
    if not holds(t, t[position + P_TEST], w, run, row, before, -1, -1):
        return False
    return holds(t, t[edge + E_TEST], w, run, row, -1, t[position + P_ALIAS], row)


@inner
def left_too_early(t, w, run, e, row, index):
    """A greedy closure may not be left on an event it could take."""
    edge = edge_at(t, e)
    if t[edge + E_LOOP] >= 0:
        return False
    for at in range(t[AT_LISTS] + t[edge + E_LEAVES], t[AT_LISTS] + t[edge + E_LEAVES + 1]):
        closure = t[at]
        closed = w[run + RUN_CLOSED]
        if t[t[AT_CLOSURE] + closure * CLOSURE_WIDTH + C_LOOP] != LOOP_GREEDY or has_ended(
            t, closure, closed
        ):
            continue
        w[run + RUN_CLOSED] = closed & ~(np.int64(1) << closure)
        state = w[run + RUN_STATE]
        found = False
        for o in range(t[t[AT_OUT] + state], t[t[AT_OUT] + state + 1]):
            other = t[t[AT_OUT_EDGES] + o]
            if t[edge_at(t, other) + E_LOOP] == closure and fits(t, w, run, other, row, index):
                found = True
                break
        w[run + RUN_CLOSED] = closed
        if found:
            return True
    return False


@inner
def has_ended(t, closure, closed):
    """Was a greedy closure closed by its `until`?"""
    return (
        t[t[AT_CLOSURE] + closure * CLOSURE_WIDTH + C_UNTIL] >= 0 and (closed >> (ENDED + closure)) & 1 != 0
    )


@inner
def extended(t, w, run, e, row, index, rank):
    """The run after it took the event on this edge; -1 if there is no room."""
    edge = edge_at(t, e)
    new = new_run(w)
    node = w[NODES] + w[N_NODES] * NODE_WIDTH
    if new < 0 or node + NODE_WIDTH > w[END]:
        w[STATUS] = FULL
        return -1
    w[N_NODES] += 1
    for i in range(t[R_WIDTH]):
        w[new + i] = w[run + i]
    w[new + RUN_IS_OPEN] = 0
    w[new + RUN_IS_DONE] = 0
    time = event_int(w, TIME, row)
    position = t[edge + E_POSITION]
    alias = t[t[AT_POSITION] + position * POSITION_WIDTH + P_ALIAS]
    w[node + NODE_BEFORE] = w[run + RUN_NODE]
    w[node + NODE_SAME] = w[run + t[R_LAST] + alias] if alias >= 0 else -1
    w[node + NODE_ROW] = row
    w[node + NODE_INDEX] = index
    w[node + NODE_RANK] = rank
    w[node + NODE_POSITION] = position
    mark = mark_of(t, w, run, t[edge + E_COMPONENT])
    if w[run + RUN_TAKEN] == 0:
        w[new + RUN_START] = index
        w[new + RUN_FROM] = time
    w[new + RUN_TO] = time
    w[new + RUN_STATE] = t[edge + E_TARGET]
    w[new + RUN_NODE] = node
    w[new + RUN_TAKEN] += 1
    w[new + RUN_POSITIONS] |= np.int64(1) << position
    if alias >= 0:
        w[new + t[R_LAST] + alias] = node
        if w[new + t[R_NUMBER] + alias] == 0:
            w[new + t[R_FIRST] + alias] = node
        w[new + t[R_NUMBER] + alias] += 1
        keep_aggregates(t, w, new, alias, row)
    _count(t, w, new, edge)
    _unblock(t, w, new, e, edge)
    _open_scopes(t, w, new, edge, mark, time)
    _set_marks(t, w, new, edge, node)
    if t[edge + E_ENTERS] == t[edge + E_ENTERS + 1] and not t[edge + E_IN_ROUND]:
        w[new + RUN_PATH] = mixed(mixed(w[run + RUN_PATH], e), index)
    return new


@inner
def mixed(state, word):
    """Two paths with one number are one path. Paths that were saved are small numbers, as edges and indexes are."""
    x = (np.uint64(state) * np.uint64(0xD6E8FEB86659FD93)) ^ np.uint64(word)
    x = (x + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(32)
    return np.int64(x)


@inner
def closed_by_until(t, closure):
    """The marks of a closure that its `until` closes."""
    closing = np.int64(1) << closure
    at = t[AT_CLOSURE] + closure * CLOSURE_WIDTH
    if t[at + C_LOOP] == LOOP_GREEDY and t[at + C_UNTIL] >= 0:
        closing |= closing << ENDED
    return closing


@inner
def _count(t, w, new, edge):
    for at in range(t[AT_LISTS] + t[edge + E_ENTERS], t[AT_LISTS] + t[edge + E_ENTERS + 1]):
        w[new + t[R_COUNTS] + t[at]] = 1
        w[new + RUN_CLOSED] &= ~closed_by_until(t, t[at])
    if t[edge + E_LOOP] >= 0:
        w[new + t[R_COUNTS] + t[edge + E_LOOP]] += 1


@inner
def _unblock(t, w, new, e, edge):
    """An absence is over when its own part of the pattern moves on."""
    for word in range(t[BLOCK_WORDS]):
        w[new + t[R_BLOCKED] + word] &= t[t[AT_KEEP] + e * t[BLOCK_WORDS] + word]
    if t[edge + E_CLEARS_ACCEPTS]:
        w[new + RUN_BLOCKED_ACCEPTS] = 0


@inner
def _open_scopes(t, w, new, edge, mark, time):
    before = event_int(w, TIME, w[mark + NODE_ROW]) if mark >= 0 else time
    for at in range(t[AT_LISTS] + t[edge + E_OPENS], t[AT_LISTS] + t[edge + E_OPENS + 1]):
        w[new + t[R_SCOPES] + t[at]] = scope_start(t, t[at], mark, before, time)


@inner
def _set_marks(t, w, new, edge, node):
    """The event is the last one of its part and of every part around it; parts inside it begin anew."""
    marks = new + t[R_MARKS]
    over = t[AT_PREFIX] + t[edge + E_OVER] * t[COMPONENTS]
    for component in range(t[COMPONENTS]):
        if t[over + component]:
            w[marks + component] = NONE
    component = t[edge + E_COMPONENT]
    while component >= 0:
        w[marks + component] = node
        component = t[t[AT_PARENT] + component]


# Absence: checked before advancement.


@inner
def violated(t, w, run, row, index):
    """Rules out what the event rules out; True if nothing is left."""
    passed = event_int(w, PASSED, row)
    for g in range(t[GUARDS]):
        if (passed >> (t[POSITIONS] + t[ABSENCES] + g)) & 1 and _guarded(t, w, run, g):
            test = t[t[AT_GUARD] + g * GUARD_WIDTH + G_TEST]
            if holds(t, test, w, run, row, -1, -1, -1):
                return True
    seen = (passed >> t[POSITIONS]) & ((np.int64(1) << t[ABSENCES]) - 1)
    if seen == 0:
        return False
    changed = False
    state = w[run + RUN_STATE]
    for o in range(t[t[AT_OUT] + state], t[t[AT_OUT] + state + 1]):
        edge = edge_at(t, t[t[AT_OUT_EDGES] + o])
        mark = mark_of(t, w, run, t[edge + E_COMPONENT])
        if _stops(t, w, run, t[edge + E_ABSENCES], t[edge + E_END], seen, mark, row, index):
            base = t[edge + E_BASE]
            word, bit = run + t[R_BLOCKED] + base // MASK, np.int64(1) << (base % MASK)
            changed = changed or w[word] & bit == 0
            w[word] |= bit
    whole = mark_of(t, w, run, 0)
    for o in range(t[t[AT_ACCEPTING] + state], t[t[AT_ACCEPTING] + state + 1]):
        number = t[t[AT_ACCEPTING_LIST] + o]
        accept = t[AT_ACCEPT] + number * ACCEPT_WIDTH
        if _stops(t, w, run, t[accept + A_ABSENCES], t[accept + A_END], seen, whole, row, index):
            bit = np.int64(1) << number
            changed = changed or w[run + RUN_BLOCKED_ACCEPTS] & bit == 0
            w[run + RUN_BLOCKED_ACCEPTS] |= bit
    return changed and not can_go_on(t, w, run, index - 1)


@inner
def _guarded(t, w, run, g):
    start, end = t[t[AT_GUARD] + g * GUARD_WIDTH + G_START], t[t[AT_GUARD] + g * GUARD_WIDTH + G_END]
    if start >= 0 and w[run + t[R_NUMBER] + start] == 0:
        return False
    return end < 0 or w[run + t[R_NUMBER] + end] == 0


@inner
def _stops(t, w, run, first, end, seen, mark, row, index):
    for at in range(t[AT_LISTS] + first, t[AT_LISTS] + end):
        if (seen >> t[at]) & 1 and _broken(t, w, run, t[at], mark, row, index):
            return True
    return False


@inner
def _broken(t, w, run, absence, mark, row, index):
    node = t[AT_ABSENCE] + absence * ABSENCE_WIDTH
    if mark >= 0:
        if t[node + N_IS_NEXT] and index != w[mark + NODE_INDEX] + 1:
            return False
        since = event_int(w, TIME, row) - event_int(w, TIME, w[mark + NODE_ROW])
        if t[node + N_WITHIN] >= 0 and since > t[node + N_WITHIN]:
            return False
    return holds(t, t[node + N_TEST], w, run, row, -1, -1, -1)


# Being complete, and being able to go on.


@inner
def accepted(t, w, run, number):
    accept = t[AT_ACCEPT] + number * ACCEPT_WIDTH
    if (w[run + RUN_BLOCKED_ACCEPTS] >> number) & 1:
        return False
    if not may_leave(t, w, run, t[accept + A_LEAVES], t[accept + A_LEAVES + 1]):
        return False
    last = w[w[run + RUN_NODE] + NODE_ROW]
    return holds(t, t[accept + A_TEST], w, run, last, -1, -1, -1)


@inner
def awaits(t, number):
    """Has this way to be complete an absence to wait for?"""
    accept = t[AT_ACCEPT] + number * ACCEPT_WIDTH
    return t[accept + A_ABSENCES] < t[accept + A_END]


@inner
def complete(t, w, run):
    """Is the pattern complete here and now (no absence still to wait for)?"""
    state = w[run + RUN_STATE]
    for o in range(t[t[AT_ACCEPTING] + state], t[t[AT_ACCEPTING] + state + 1]):
        number = t[t[AT_ACCEPTING_LIST] + o]
        if not awaits(t, number) and accepted(t, w, run, number):
            return True
    return False


@inner
def waiting(t, w, run):
    """Trailing absences that hold so far, as bits."""
    found = np.int64(0)
    state = w[run + RUN_STATE]
    for o in range(t[t[AT_ACCEPTING] + state], t[t[AT_ACCEPTING] + state + 1]):
        number = t[t[AT_ACCEPTING_LIST] + o]
        if awaits(t, number) and accepted(t, w, run, number):
            found |= np.int64(1) << number
    return found


@inner
def can_extend(t, w, run, index):
    """Is there an edge the run may still take after the event with this index?"""
    state = w[run + RUN_STATE]
    for o in range(t[t[AT_OUT] + state], t[t[AT_OUT] + state + 1]):
        edge = edge_at(t, t[t[AT_OUT_EDGES] + o])
        if is_open(t, w, run, edge) and can_be_next(t, w, run, edge, index):
            return True
    return False


@inner
def can_be_next(t, w, run, edge, index):
    if t[edge + E_ARROW] != ARROW_NEXT:
        return True
    mark = mark_of(t, w, run, t[edge + E_COMPONENT])
    return mark < 0 or w[mark + NODE_INDEX] >= index


@inner
def can_go_on(t, w, run, index):
    return can_extend(t, w, run, index) or waiting(t, w, run) != 0


# Time.


@inner
def absence_deadline(t, w, run, number):
    """When a trailing absence becomes certain; NEVER if only the next event can tell."""
    accept = t[AT_ACCEPT] + number * ACCEPT_WIDTH
    since = event_int(w, TIME, w[mark_of(t, w, run, 0) + NODE_ROW])
    found = -NEVER
    for at in range(t[AT_LISTS] + t[accept + A_ABSENCES], t[AT_LISTS] + t[accept + A_END]):
        own = t[t[AT_ABSENCE] + t[at] * ABSENCE_WIDTH + N_WITHIN]
        if own >= 0:
            found = max(found, since + own)
        elif t[WITHIN] >= 0:
            found = max(found, w[run + RUN_FROM] + t[WITHIN])
        else:
            return NEVER
    return found


@inner
def last_chance(t, w, run, index):
    """The last time at which the run could still take an event; NEVER if there is no such bound."""
    bound = -NEVER
    state = w[run + RUN_STATE]
    for o in range(t[t[AT_OUT] + state], t[t[AT_OUT] + state + 1]):
        edge = edge_at(t, t[t[AT_OUT_EDGES] + o])
        if is_open(t, w, run, edge) and can_be_next(t, w, run, edge, index):
            end = _edge_end(t, w, run, edge)
            bound = max(bound, end)
            if end == NEVER:
                break
    if bound == -NEVER:
        bound = NEVER
    window = NEVER if t[WITHIN] < 0 else w[run + RUN_FROM] + t[WITHIN]
    return min(window, bound)


@inner
def _edge_end(t, w, run, edge):
    mark = mark_of(t, w, run, t[edge + E_COMPONENT])
    before = event_int(w, TIME, w[mark + NODE_ROW]) if mark >= 0 else 0
    end = NEVER
    if t[edge + E_GAP] >= 0 and mark >= 0:
        end = before + t[edge + E_GAP]
    for at in range(t[AT_LISTS] + t[edge + E_INSIDE], t[AT_LISTS] + t[edge + E_INSIDE + 1]):
        bound = t[t[AT_SCOPE] + t[at] * SCOPE_WIDTH + S_BOUND]
        if not opens(t, edge, t[at]):
            end = min(end, w[run + t[R_SCOPES] + t[at]] + bound)
        elif t[t[AT_SCOPE] + t[at] * SCOPE_WIDTH + S_FROM_PREVIOUS] and mark >= 0:
            end = min(end, before + bound)
    return end


@inner
def deadline_of(t, w, run, index):
    """The next moment whose passing changes something for the run."""
    if t[ONLY_WINDOW]:
        return w[run + RUN_FROM] + t[WITHIN] if t[WITHIN] >= 0 else NEVER
    awaited = waiting(t, w, run)
    found = NEVER
    number = 0
    while awaited:
        if awaited & 1:
            found = min(found, absence_deadline(t, w, run, number))
        awaited >>= 1
        number += 1
    if number == 0 or t[WITHIN] >= 0:
        found = min(found, last_chance(t, w, run, index))
    # An event may close what was left to wait for: a bound that is over then ends with this moment.
    return max(found, w[NOW])
