"""Completion over arrays: of the runs complete at one moment, which are given out, in which order, what they skip."""

from __future__ import annotations

from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.memory import (
    store_int,
)
from cepheid.matching.compiled.kernel.space import (
    CAUSE,
    COMPLETED,
    DONE,
    DROPPED,
    FULL_OUT,
    FURTHEST,
    GAVE_UP,
    KEY,
    MATCHED,
    N_DONE,
    N_FURTHEST,
    N_MATCHED,
    N_OUT,
    N_OUT_EVENTS,
    N_RUNS,
    OUT,
    OUT_EVENTS_AT,
    OUT_EVENTS_ROOM,
    OUT_ROOM,
    PHASE,
    RUNS,
    SCRATCH,
    STATUS,
    TOO_MANY_MATCHES,
    free_run,
    let_go,
    push,
)
from cepheid.matching.compiled.kernel.words import (
    AT_POSITION,
    LONGEST,
    MAX_MATCHES,
    NEVER,
    NODE_BEFORE,
    NODE_INDEX,
    NODE_POSITION,
    NODE_RANK,
    NODE_ROW,
    P_ALIAS,
    POSITION_WIDTH,
    RUN_AWAITED,
    RUN_FROM,
    RUN_IS_DONE,
    RUN_IS_OPEN,
    RUN_NODE,
    RUN_START,
    RUN_STATE,
    RUN_TAKEN,
    RUN_TO,
    SKIP,
    SKIP_ALIAS,
    SKIP_NONE,
    SKIP_PAST_LAST,
    SKIP_TO_FIRST,
    SKIP_TO_NEXT,
    TIMEOUTS,
)

# What is given out: a row, and its events.
MATCH, PROVISIONAL, TIMEOUT, PENDING = 0, 1, 2, 3
(
    OUT_KEY,
    OUT_KIND,
    OUT_FROM,
    OUT_TO,
    OUT_DETECTED,
    OUT_PHASE,
    OUT_CAUSE,
    OUT_STATE,
    OUT_FIRST,  # its first event among those given out
    OUT_EVENTS,  # how many
    OUT_COUNT,  # of the matches it stands for
    OUT_WIDTH,
) = range(12)
EVENT_ROW, EVENT_POSITION, EVENT_RANK, EVENT_WIDTH = range(4)


@inner
def give_out(t, w, run, kind, detected):
    """One row of the answer."""
    count = w[run + RUN_TAKEN]
    if w[N_OUT] >= w[OUT_ROOM] or w[N_OUT_EVENTS] + count > w[OUT_EVENTS_ROOM]:
        w[STATUS] = FULL_OUT
        return
    first = w[N_OUT_EVENTS]
    at = w[OUT_EVENTS_AT] + (first + count) * EVENT_WIDTH * 8
    node = w[run + RUN_NODE]
    while node >= 0:
        at -= EVENT_WIDTH * 8
        store_int(at + EVENT_ROW * 8, w[node + NODE_ROW])
        store_int(at + EVENT_POSITION * 8, w[node + NODE_POSITION])
        store_int(at + EVENT_RANK * 8, w[node + NODE_RANK])
        node = w[node + NODE_BEFORE]
    at = w[OUT] + w[N_OUT] * OUT_WIDTH * 8
    store_int(at + OUT_KEY * 8, w[KEY])
    store_int(at + OUT_KIND * 8, kind)
    store_int(at + OUT_FROM * 8, w[run + RUN_FROM])
    end = w[run + RUN_TO] if w[run + RUN_AWAITED] == NEVER else w[run + RUN_AWAITED]
    store_int(at + OUT_TO * 8, end)
    store_int(at + OUT_DETECTED * 8, detected)
    store_int(at + OUT_PHASE * 8, w[PHASE])
    store_int(at + OUT_CAUSE * 8, w[CAUSE])
    store_int(at + OUT_STATE * 8, w[run + RUN_STATE])
    store_int(at + OUT_FIRST * 8, first)
    store_int(at + OUT_EVENTS * 8, count)
    store_int(at + OUT_COUNT * 8, 1)
    w[N_OUT] += 1
    w[N_OUT_EVENTS] += count


@inner
def finish(t, w, detected):
    """Give out what is in DONE, as far as it is to be given out."""
    if w[N_DONE] == 0:
        return
    chosen = choose(t, w, 0, w[N_DONE])
    for i in range(chosen):
        emit(t, w, w[w[DONE] + i], detected)
    release(w, 0)


@inner
def release(w, first):
    """The records of complete runs that are not open are free, from the first on."""
    for i in range(first, w[N_DONE]):
        run = w[w[DONE] + i]
        if w[run + RUN_IS_DONE]:
            w[run + RUN_IS_DONE] = 0
            if not w[run + RUN_IS_OPEN]:
                free_run(w, run)
    w[N_DONE] = first


@inner
def emit(t, w, run, detected):
    if t[TIMEOUTS]:
        _note_match(w, w[run + RUN_START])
        forget_furthest(w, w[run + RUN_START])
    w[COMPLETED] += 1
    give_out(t, w, run, MATCH, detected)


@inner
def _first_not_before(w, start):
    """Starts that had a match lie in order."""
    low, high = 0, w[N_MATCHED]
    while low < high:
        middle = (low + high) // 2
        if w[w[MATCHED] + middle] < start:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def had_match(w, start):
    at = _first_not_before(w, start)
    return at < w[N_MATCHED] and w[w[MATCHED] + at] == start


@inner
def _note_match(w, start):
    if had_match(w, start):
        return
    at = _first_not_before(w, start)
    push(w, MATCHED, N_MATCHED, start)
    if w[STATUS] != 0:
        return
    for i in range(w[N_MATCHED] - 1, at, -1):
        w[w[MATCHED] + i] = w[w[MATCHED] + i - 1]
    w[w[MATCHED] + at] = start


@inner
def forget_furthest(w, start):
    for i in range(w[N_FURTHEST]):
        run = w[w[FURTHEST] + i]
        if w[run + RUN_START] == start:
            free_run(w, run)
            w[N_FURTHEST] -= 1
            w[w[FURTHEST] + i] = w[w[FURTHEST] + w[N_FURTHEST]]
            return


@inner
def choose(t, w, first, end):
    """Of DONE from `first` to `end`: puts those that are given out first, in their order, and says how many they are.

    All stay in DONE: the others are behind.
    """
    count = end - first
    if count == 1 and t[SKIP] == SKIP_NONE:
        return 1
    at = w[DONE] + first
    kept = _in_order(w, at, count) if count > 1 else count
    if t[LONGEST] and kept > 1:
        kept = _maximal(w, at, kept)
    return _skipping(t, w, at, kept)


@inner
def _swap(w, at, i, j):
    w[at + i], w[at + j] = w[at + j], w[at + i]


@inner
def _in_order(w, at, count):
    """By the start, then fewer events first, then by the order of their events; each once, doubles at the end."""
    sort_runs(w, at, count)
    kept = 1
    spare = w[SCRATCH]
    doubles = 0
    for i in range(1, count):
        if compare(w, w[at + kept - 1], w[at + i]) == 0:
            w[spare + doubles] = w[at + i]
            doubles += 1
        else:
            w[at + kept] = w[at + i]
            kept += 1
    for i in range(doubles):
        w[at + kept + i] = w[spare + i]
    return kept


@inner
def sort_runs(w, here, count):
    """Merge sort, from the bottom up."""
    there = w[SCRATCH]
    size = 1
    while size < count:
        for low in range(0, count, 2 * size):
            middle, high = min(low + size, count), min(low + 2 * size, count)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or compare(w, w[here + i], w[here + j]) <= 0):
                    w[there + k] = w[here + i]
                    i += 1
                else:
                    w[there + k] = w[here + j]
                    j += 1
        for k in range(count):
            w[here + k] = w[there + k]
        size *= 2


@inner
def compare(w, one, other):
    """Below 0: `one` comes first; 0: they hold the same events in the same places."""
    if w[one + RUN_START] != w[other + RUN_START]:
        return w[one + RUN_START] - w[other + RUN_START]
    if w[one + RUN_TAKEN] != w[other + RUN_TAKEN]:
        return w[one + RUN_TAKEN] - w[other + RUN_TAKEN]
    a, b = w[one + RUN_NODE], w[other + RUN_NODE]
    order = 0
    places = False
    while a >= 0 and a != b:  # from the last on: what differs first is found last
        if w[a + NODE_INDEX] != w[b + NODE_INDEX]:
            order = w[a + NODE_INDEX] - w[b + NODE_INDEX]
        elif w[a + NODE_POSITION] != w[b + NODE_POSITION]:
            places = True
        a, b = w[a + NODE_BEFORE], w[b + NODE_BEFORE]
    if order != 0 or not places:
        return order
    return _compare_places(w, one, other)


@inner
def _compare_places(w, one, other):
    """Same events, other steps: by (position, index), the smallest first."""
    position, index = -1, -1
    while True:
        a_position, a_index = _next_place(w, w[one + RUN_NODE], position, index)
        b_position, b_index = _next_place(w, w[other + RUN_NODE], position, index)
        if a_position != b_position:
            return a_position - b_position
        if a_index != b_index:
            return a_index - b_index
        if a_position < 0:
            return 0
        position, index = a_position, a_index


@inner
def _next_place(w, node, position, index):
    best_position, best_index = -1, -1
    while node >= 0:
        p, i = w[node + NODE_POSITION], w[node + NODE_INDEX]
        later = p > position or (p == position and i > index)
        if later and (best_position < 0 or p < best_position or (p == best_position and i < best_index)):
            best_position, best_index = p, i
        node = w[node + NODE_BEFORE]
    return best_position, best_index


@inner
def _maximal(w, at, count):
    """Those whose events are not a proper subset of another's come first, in their order."""
    spare = w[SCRATCH]
    kept = 0
    dropped = 0
    for i in range(count):
        inside = False
        for j in range(count):
            if _proper_subset(w, w[at + i], w[at + j]):
                inside = True
                break
        w[spare + i] = 1 if inside else 0
    rest = spare + count
    for i in range(count):
        if w[spare + i]:
            w[rest + dropped] = w[at + i]
            dropped += 1
        else:
            w[at + kept] = w[at + i]
            kept += 1
    for i in range(dropped):
        w[at + kept + i] = w[rest + i]
    return kept


@inner
def _proper_subset(w, one, other):
    if w[one + RUN_TAKEN] >= w[other + RUN_TAKEN]:
        return False
    a, b = w[one + RUN_NODE], w[other + RUN_NODE]
    while a >= 0:
        while b >= 0 and w[b + NODE_INDEX] > w[a + NODE_INDEX]:
            b = w[b + NODE_BEFORE]
        if b < 0 or w[b + NODE_INDEX] != w[a + NODE_INDEX]:
            return False
        a, b = w[a + NODE_BEFORE], w[b + NODE_BEFORE]
    return True


@inner
def _skipping(t, w, at, count):
    """What a match skips is not given out, and open runs that hold it are dropped."""
    kept = 0
    skipped = 0
    same = 0
    for i in range(count):
        run = w[at + i]
        if w[run + RUN_START] <= skipped:
            continue
        _swap(w, at, kept, i)
        same = same + 1 if kept > 0 and w[w[at + kept - 1] + RUN_START] == w[run + RUN_START] else 1
        kept += 1
        if same > t[MAX_MATCHES]:
            w[STATUS] = TOO_MANY_MATCHES
            return 0
        resume = resume_after(t, w, run)
        if resume > skipped:
            skipped = resume
        if t[SKIP] != SKIP_NONE:
            drop_skipped(w, skipped)
    return kept


@inner
def resume_after(t, w, run):
    """The last skipped index."""
    if t[SKIP] == SKIP_NONE:
        return 0
    if t[SKIP] == SKIP_TO_NEXT:
        return w[run + RUN_START]
    if t[SKIP] == SKIP_PAST_LAST:
        return w[w[run + RUN_NODE] + NODE_INDEX]
    target = -1
    node = w[run + RUN_NODE]
    while node >= 0:
        alias = t[t[AT_POSITION] + w[node + NODE_POSITION] * POSITION_WIDTH + P_ALIAS]
        if alias == t[SKIP_ALIAS] and (target < 0 or t[SKIP] == SKIP_TO_FIRST):
            target = w[node + NODE_INDEX]
        node = w[node + NODE_BEFORE]
    if target < 0 or target == w[run + RUN_START]:
        w[STATUS] = GAVE_UP  # the reference matcher says what is wrong
    return target - 1


@inner
def drop_skipped(w, last):
    kept = 0
    at = w[RUNS]
    for i in range(w[N_RUNS]):
        run = w[at + i]
        if w[run + RUN_START] <= last:
            w[DROPPED] += 1
            let_go(w, run)
        else:
            w[at + kept] = run
            kept += 1
    w[N_RUNS] = kept
