"""The state of a key as words: what is open, without what is no longer needed, and free of places.

Runs refer to nodes and nodes to events by small numbers. The events themselves are rows, told beside the words: whoever
keeps the state keeps these rows, and gives them back in the same order.
"""

from __future__ import annotations

from cepheid.matching.compiled.kernel.drive import (
    next_deadline,
)
from cepheid.matching.compiled.kernel.jit import (
    inner,
)
from cepheid.matching.compiled.kernel.partition import (
    forget_recent,
)
from cepheid.matching.compiled.kernel.space import (
    END,
    EVICTED,
    FIRST_STEP,
    FULL,
    FURTHEST,
    GIVEN,
    HISTORY,
    INDEX,
    MATCHED,
    N_FIRST_STEP,
    N_FURTHEST,
    N_GIVEN,
    N_HISTORY,
    N_MATCHED,
    N_NODES,
    N_RECENT,
    N_RUNS,
    NEXT_DEADLINE,
    NODES,
    NOW,
    OK,
    RANK_NOW,
    RECENT,
    RUNS,
    SCRATCH,
    STATUS,
    VIOLATED_AT,
    event_int,
    new_run,
)
from cepheid.matching.compiled.kernel.stnm import (
    forget_history,
)
from cepheid.matching.compiled.kernel.words import (
    ABSENCE_WIDTH,
    ALIASES,
    AT_ABSENCE,
    COMPONENTS,
    KIND,
    KIND_STNM,
    N_WITHIN,
    NEVER,
    NODE_BEFORE,
    NODE_ROW,
    NODE_SAME,
    NODE_WIDTH,
    R_FIRST,
    R_LAST,
    R_MARKS,
    R_WIDTH,
    RUN_DEADLINE,
    RUN_FROM,
    RUN_IS_OPEN,
    RUN_NODE,
    RUN_PATH,
    RUN_SAVED,
    RUN_TO,
    TIME,
    WITHIN,
)

FEW_RUNS = 16
FEW_ROWS = 24

# The words before the parts.
(
    S_INDEX,
    S_NOW,
    S_RANK_NOW,
    S_EVICTED,
    S_VIOLATED_AT,
    S_NODES,
    S_RUNS,
    S_FURTHEST,
    S_RECENT,
    S_MATCHED,
    S_HISTORY,
    S_GIVEN,
    S_FIRST_STEP,
    S_HEADER,
) = range(14)


@inner
def words_needed(t, w):
    """At most so many words, and so many rows."""
    if t[KIND] == KIND_STNM:
        forget_history(w, NEVER // max(w[N_HISTORY], 1))
    runs = w[N_RUNS] + w[N_FURTHEST]
    events = w[N_NODES] + w[N_RECENT] + w[N_HISTORY] + w[N_FIRST_STEP]
    lists = 2 * w[N_RECENT] + w[N_MATCHED] + 4 * w[N_HISTORY]
    lists += 3 * w[N_GIVEN] + 3 * w[N_FIRST_STEP]
    return S_HEADER + runs * (t[R_WIDTH] - RUN_SAVED) + w[N_NODES] * NODE_WIDTH + lists, events


@inner
def save(t, w, words, begin, rows, first):
    """Writes the state to `words` from `begin` on, its events' rows to `rows` from `first` on: where both end."""
    nodes = _number_nodes(w)
    end = _collect_rows(w, rows, first)
    words[begin + S_INDEX] = w[INDEX]
    words[begin + S_NOW] = w[NOW]
    words[begin + S_RANK_NOW] = w[RANK_NOW]
    words[begin + S_EVICTED] = w[EVICTED]
    words[begin + S_VIOLATED_AT] = w[VIOLATED_AT]
    words[begin + S_NODES] = nodes
    words[begin + S_RUNS] = w[N_RUNS]
    words[begin + S_FURTHEST] = w[N_FURTHEST]
    words[begin + S_RECENT] = w[N_RECENT]
    words[begin + S_MATCHED] = w[N_MATCHED]
    words[begin + S_HISTORY] = w[N_HISTORY]
    words[begin + S_GIVEN] = w[N_GIVEN]
    words[begin + S_FIRST_STEP] = w[N_FIRST_STEP]
    at = begin + S_HEADER
    for i in range(w[N_NODES]):
        if w[w[SCRATCH] + i] >= 0:
            at = _save_node(w, w[NODES] + i * NODE_WIDTH, words, at, rows, first, end)
    for i in range(w[N_RUNS]):
        at = _save_run(t, w, w[w[RUNS] + i], words, at, rows, first, end)
        words[at - t[R_WIDTH] + RUN_PATH] = _path_number(w, i)
    for i in range(w[N_FURTHEST]):
        at = _save_run(t, w, w[w[FURTHEST] + i], words, at, rows, first, end)
    at = _save_list(w, RECENT, w[N_RECENT], 2, 1, words, at, rows, first, end)
    at = _save_list(w, MATCHED, w[N_MATCHED], 1, -1, words, at, rows, first, end)
    at = _save_list(w, HISTORY, w[N_HISTORY], 4, 0, words, at, rows, first, end)
    at = _save_list(w, GIVEN, w[N_GIVEN], 3, -1, words, at, rows, first, end)
    at = _save_list(w, FIRST_STEP, w[N_FIRST_STEP], 3, 0, words, at, rows, first, end)
    return at, end


@inner
def _number_nodes(w):
    """A new number in SCRATCH for every node that a run holds, -1 for the others: how many."""
    numbers = w[SCRATCH]
    for i in range(w[N_NODES]):
        w[numbers + i] = -1
    for i in range(w[N_RUNS]):
        _mark_chain(w, w[w[w[RUNS] + i] + RUN_NODE])
    for i in range(w[N_FURTHEST]):
        _mark_chain(w, w[w[w[FURTHEST] + i] + RUN_NODE])
    count = 0
    for i in range(w[N_NODES]):
        if w[numbers + i] >= 0:
            w[numbers + i] = count
            count += 1
    return count


@inner
def _mark_chain(w, node):
    while node >= 0:
        at = w[SCRATCH] + (node - w[NODES]) // NODE_WIDTH
        if w[at] >= 0:
            return
        w[at] = 0
        node = w[node + NODE_BEFORE]


@inner
def _collect_rows(w, rows, first):
    """The rows of all events that are still needed, each once, in order: where they end."""
    end = first
    for i in range(w[N_NODES]):
        if w[w[SCRATCH] + i] >= 0:
            rows[end] = w[w[NODES] + i * NODE_WIDTH + NODE_ROW]
            end += 1
    for i in range(w[N_RECENT]):
        rows[end] = w[w[RECENT] + 2 * i + 1]
        end += 1
    for i in range(w[N_HISTORY]):
        rows[end] = w[w[HISTORY] + 4 * i]
        end += 1
    for i in range(w[N_FIRST_STEP]):
        rows[end] = w[w[FIRST_STEP] + 3 * i]
        end += 1
    return sort_rows(rows, first, end)


@inner
def sort_rows(rows, first, end):
    """Each once, in order: where they end."""
    if end == first:
        return end
    if end - first <= FEW_ROWS:
        _insertion_sort(rows, first, end)
    else:
        for i in range(first + 1, end):  # most often they are in order
            if rows[i] < rows[i - 1]:
                _heap_sort(rows, first, end)
                break
    kept = first + 1
    for i in range(first + 1, end):
        if rows[i] != rows[kept - 1]:
            rows[kept] = rows[i]
            kept += 1
    return kept


@inner
def _insertion_sort(rows, first, end):
    for i in range(first + 1, end):
        row = rows[i]
        at = i
        while at > first and rows[at - 1] > row:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row


@inner
def _heap_sort(rows, first, end):
    count = end - first
    for i in range(count // 2 - 1, -1, -1):
        _sift(rows, first, i, count)
    for last in range(count - 1, 0, -1):
        rows[first], rows[first + last] = rows[first + last], rows[first]
        _sift(rows, first, 0, last)


@inner
def _sift(rows, first, i, count):
    while 2 * i + 1 < count:
        child = 2 * i + 1
        if child + 1 < count and rows[first + child + 1] > rows[first + child]:
            child += 1
        if rows[first + i] >= rows[first + child]:
            return
        rows[first + i], rows[first + child] = rows[first + child], rows[first + i]
        i = child


@inner
def find_row(rows, first, end, row):
    """The number of a row among those kept."""
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low - first


@inner
def _number(w, node):
    return w[w[SCRATCH] + (node - w[NODES]) // NODE_WIDTH] if node >= 0 else -1


@inner
def _save_node(w, node, words, at, rows, first, end):
    for i in range(NODE_WIDTH):
        words[at + i] = w[node + i]
    words[at + NODE_BEFORE] = _number(w, w[node + NODE_BEFORE])
    words[at + NODE_SAME] = _number(w, w[node + NODE_SAME])
    words[at + NODE_ROW] = find_row(rows, first, end, w[node + NODE_ROW])
    return at + NODE_WIDTH


@inner
def _save_run(t, w, run, words, at, rows, first, end):
    """Moments are told by what is kept anyway, so that they are small numbers."""
    at -= RUN_SAVED
    for i in range(RUN_SAVED, t[R_WIDTH]):
        words[at + i] = w[run + i]
    words[at + RUN_NODE] = _number(w, w[run + RUN_NODE])
    words[at + RUN_FROM] = _row_of_time(w, rows, first, end, w[run + RUN_FROM])
    if t[WITHIN] >= 0 and w[run + RUN_DEADLINE] != NEVER:
        words[at + RUN_DEADLINE] -= w[run + RUN_FROM] + t[WITHIN]
    for i in range(t[R_MARKS], t[R_MARKS] + t[COMPONENTS]):
        words[at + i] = _number(w, w[run + i])
    for i in range(t[R_LAST], t[R_FIRST] + t[ALIASES]):  # the last and the first of each alias
        words[at + i] = _number(w, w[run + i])
    return at + t[R_WIDTH]


@inner
def _row_of_time(w, rows, first, end, time):
    """The number of the first row of that time: a run's first event is always kept."""
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if event_int(w, TIME, rows[middle]) < time:
            low = middle + 1
        else:
            high = middle
    return low - first


@inner
def _path_number(w, i):
    """Which of the open runs came the same way first: paths are only ever asked whether they are equal."""
    path = w[w[w[RUNS] + i] + RUN_PATH]
    if path == 0 or w[N_RUNS] > FEW_RUNS:  # to compare many takes longer than to keep the number as it is
        return path
    for j in range(i):
        if w[w[w[RUNS] + j] + RUN_PATH] == path:
            return j + 1
    return i + 1


@inner
def _save_list(w, part, count, width, row_column, words, at, rows, first, end):
    for i in range(count * width):
        value = w[w[part] + i]
        words[at + i] = find_row(rows, first, end, value) if i % width == row_column else value
    return at + count * width


@inner
def load(t, w, words, begin, first_row):
    """The other way round. The rows of its events begin at `first_row`."""
    w[INDEX] = words[begin + S_INDEX]
    w[NOW] = words[begin + S_NOW]
    w[RANK_NOW] = words[begin + S_RANK_NOW]
    w[EVICTED] = words[begin + S_EVICTED]
    w[VIOLATED_AT] = words[begin + S_VIOLATED_AT]
    nodes = words[begin + S_NODES]
    if w[NODES] + nodes * NODE_WIDTH > w[END] or not _fits(w, words, begin):
        w[STATUS] = FULL
        return
    at = begin + S_HEADER
    for i in range(nodes):
        node = w[NODES] + i * NODE_WIDTH
        for j in range(NODE_WIDTH):
            w[node + j] = words[at + j]
        w[node + NODE_BEFORE] = _place(w, words[at + NODE_BEFORE])
        w[node + NODE_SAME] = _place(w, words[at + NODE_SAME])
        w[node + NODE_ROW] += first_row
        at += NODE_WIDTH
    w[N_NODES] = nodes
    at = _load_runs(t, w, RUNS, N_RUNS, words[begin + S_RUNS], words, at, first_row)
    at = _load_runs(t, w, FURTHEST, N_FURTHEST, words[begin + S_FURTHEST], words, at, first_row)
    if w[STATUS] != OK:
        return
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        w[run + RUN_IS_OPEN] = 1
        w[NEXT_DEADLINE] = min(w[NEXT_DEADLINE], w[run + RUN_DEADLINE])
    at = _load_list(w, RECENT, N_RECENT, words[begin + S_RECENT], 2, 1, words, at, first_row)
    at = _load_list(w, MATCHED, N_MATCHED, words[begin + S_MATCHED], 1, -1, words, at, first_row)
    at = _load_list(w, HISTORY, N_HISTORY, words[begin + S_HISTORY], 4, 0, words, at, first_row)
    at = _load_list(w, GIVEN, N_GIVEN, words[begin + S_GIVEN], 3, -1, words, at, first_row)
    at = _load_list(w, FIRST_STEP, N_FIRST_STEP, words[begin + S_FIRST_STEP], 3, 0, words, at, first_row)


@inner
def _fits(w, words, begin):
    """Is there room for the lists? Each part ends where the next one begins."""
    return (
        2 * words[begin + S_RECENT] <= w[RECENT + 1] - w[RECENT]
        and words[begin + S_MATCHED] <= w[MATCHED + 1] - w[MATCHED]
        and 4 * words[begin + S_HISTORY] <= w[HISTORY + 1] - w[HISTORY]
        and 3 * words[begin + S_GIVEN] <= w[GIVEN + 1] - w[GIVEN]
        and 3 * words[begin + S_FIRST_STEP] <= w[FIRST_STEP + 1] - w[FIRST_STEP]
    )


@inner
def _place(w, number):
    return w[NODES] + number * NODE_WIDTH if number >= 0 else -1


@inner
def _load_runs(t, w, part, counter, count, words, at, first_row):
    for i in range(count):
        run = new_run(w)
        if run < 0:
            return at
        at -= RUN_SAVED
        for j in range(RUN_SAVED):
            w[run + j] = 0
        for j in range(RUN_SAVED, t[R_WIDTH]):
            w[run + j] = words[at + j]
        node = _place(w, words[at + RUN_NODE])
        w[run + RUN_NODE] = node
        w[run + RUN_FROM] = event_int(w, TIME, first_row + words[at + RUN_FROM])
        if t[WITHIN] >= 0 and words[at + RUN_DEADLINE] != NEVER:
            w[run + RUN_DEADLINE] += w[run + RUN_FROM] + t[WITHIN]
        if node >= 0:
            w[run + RUN_TO] = event_int(w, TIME, w[node + NODE_ROW])
        for j in range(t[R_MARKS], t[R_MARKS] + t[COMPONENTS]):
            w[run + j] = _place(w, words[at + j])
        for j in range(t[R_LAST], t[R_FIRST] + t[ALIASES]):
            w[run + j] = _place(w, words[at + j])
        w[w[part] + i] = run
        at += t[R_WIDTH]
    w[counter] = count
    return at


@inner
def _load_list(w, part, counter, count, width, row_column, words, at, first_row):
    for i in range(count * width):
        w[w[part] + i] = words[at + i] + (first_row if i % width == row_column else 0)
    w[counter] = count
    return at + count * width


@inner
def look_again(t, w, time):
    """When time has passed this, something is to be done for the key, or to be forgotten; -NEVER: it is gone.

    A key with nothing open is kept as long as another event of its last time may come: it would be the next of it.
    """
    forget_recent(t, w, time)
    if w[N_RUNS] == 0 and w[N_RECENT] == 0:
        return w[NOW] if w[NOW] >= time else -NEVER
    found = next_deadline(t, w)
    for i in range(w[N_RECENT]):
        absence, row = w[w[RECENT] + 2 * i], w[w[RECENT] + 2 * i + 1]
        bound = max(t[t[AT_ABSENCE] + absence * ABSENCE_WIDTH + N_WITHIN], 0)
        found = min(found, event_int(w, TIME, row) + bound)
    return found
