"""The state of a key as words: what is open, without what is no longer needed, and free of places.

Runs refer to nodes and nodes to events by small numbers. The events themselves are rows, told beside the words: whoever
keeps the state keeps these rows, and gives them back in the same order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cepheid.matching.compiled.drive import (
    next_deadline,
)
from cepheid.matching.compiled.partition import (
    forget_recent,
)
from cepheid.matching.compiled.space import (
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
    RANK_NOW,
    RECENT,
    RUNS,
    STATUS,
    VIOLATED_AT,
    event_int,
    new_run,
)
from cepheid.matching.compiled.tables import (
    ABSENCE_WIDTH,
    ALIASES,
    AT_ABSENCE,
    COMPONENTS,
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
    RUN_IS_OPEN,
    RUN_NODE,
    TIME,
)

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


@njit(cache=False)
def words_needed(t, w):
    """At most so many words, and so many rows."""
    runs = w[N_RUNS] + w[N_FURTHEST]
    events = w[N_NODES] + w[N_RECENT] + w[N_HISTORY] + w[N_FIRST_STEP]
    lists = 2 * w[N_RECENT] + w[N_MATCHED] + 4 * w[N_HISTORY]
    lists += 3 * w[N_GIVEN] + 3 * w[N_FIRST_STEP]
    return S_HEADER + runs * t[R_WIDTH] + w[N_NODES] * NODE_WIDTH + lists, events


@njit(cache=False)
def save(t, w, words, rows):
    """Writes the state to `words`, and the rows of its events to `rows`: how many of each."""
    numbers = _numbered_nodes(t, w)
    n_rows = _collected_rows(w, numbers, rows)
    words[S_INDEX] = w[INDEX]
    words[S_NOW] = w[NOW]
    words[S_RANK_NOW] = w[RANK_NOW]
    words[S_EVICTED] = w[EVICTED]
    words[S_VIOLATED_AT] = w[VIOLATED_AT]
    words[S_RUNS] = w[N_RUNS]
    words[S_FURTHEST] = w[N_FURTHEST]
    words[S_RECENT] = w[N_RECENT]
    words[S_MATCHED] = w[N_MATCHED]
    words[S_HISTORY] = w[N_HISTORY]
    words[S_GIVEN] = w[N_GIVEN]
    words[S_FIRST_STEP] = w[N_FIRST_STEP]
    at = S_HEADER
    nodes = 0
    for i in range(w[N_NODES]):
        if numbers[i] >= 0:
            at = _save_node(w, w[NODES] + i * NODE_WIDTH, numbers, words, at, rows[:n_rows])
            nodes += 1
    words[S_NODES] = nodes
    for i in range(w[N_RUNS]):
        at = _save_run(t, w, w[w[RUNS] + i], numbers, words, at)
    for i in range(w[N_FURTHEST]):
        at = _save_run(t, w, w[w[FURTHEST] + i], numbers, words, at)
    for i in range(w[N_RECENT]):
        words[at] = w[w[RECENT] + 2 * i]
        words[at + 1] = np.searchsorted(rows[:n_rows], w[w[RECENT] + 2 * i + 1])
        at += 2
    at = _save_words(w, MATCHED, w[N_MATCHED], words, at)
    at = _save_events(w, HISTORY, w[N_HISTORY], 4, words, at, rows[:n_rows])
    at = _save_words(w, GIVEN, 3 * w[N_GIVEN], words, at)
    at = _save_events(w, FIRST_STEP, w[N_FIRST_STEP], 3, words, at, rows[:n_rows])
    return at, n_rows


@njit(cache=False)
def _numbered_nodes(t, w):
    """A new number for every node that an open run holds; -1 for the others."""
    numbers = np.full(w[N_NODES], -1, np.int64)
    for part, count in ((RUNS, w[N_RUNS]), (FURTHEST, w[N_FURTHEST])):
        for i in range(count):
            node = w[w[w[part] + i] + RUN_NODE]
            while node >= 0:
                at = (node - w[NODES]) // NODE_WIDTH
                if numbers[at] >= 0:
                    break
                numbers[at] = 0
                node = w[node + NODE_BEFORE]
    count = 0
    for i in range(w[N_NODES]):
        if numbers[i] >= 0:
            numbers[i] = count
            count += 1
    return numbers


@njit(cache=False)
def _collected_rows(w, numbers, rows):
    """The rows of all events that are still needed, each once, in order."""
    count = 0
    for i in range(w[N_NODES]):
        if numbers[i] >= 0:
            rows[count] = w[w[NODES] + i * NODE_WIDTH + NODE_ROW]
            count += 1
    for i in range(w[N_RECENT]):
        rows[count] = w[w[RECENT] + 2 * i + 1]
        count += 1
    for i in range(w[N_HISTORY]):
        rows[count] = w[w[HISTORY] + 4 * i]
        count += 1
    for i in range(w[N_FIRST_STEP]):
        rows[count] = w[w[FIRST_STEP] + 3 * i]
        count += 1
    if count == 0:
        return 0
    rows[:count].sort()
    kept = 1
    for i in range(1, count):
        if rows[i] != rows[kept - 1]:
            rows[kept] = rows[i]
            kept += 1
    return kept


@njit(cache=False)
def _number(w, numbers, node):
    return numbers[(node - w[NODES]) // NODE_WIDTH] if node >= 0 else -1


@njit(cache=False)
def _save_node(w, node, numbers, words, at, rows):
    for i in range(NODE_WIDTH):
        words[at + i] = w[node + i]
    words[at + NODE_BEFORE] = _number(w, numbers, w[node + NODE_BEFORE])
    words[at + NODE_SAME] = _number(w, numbers, w[node + NODE_SAME])
    words[at + NODE_ROW] = np.searchsorted(rows, w[node + NODE_ROW])
    return at + NODE_WIDTH


@njit(cache=False)
def _save_run(t, w, run, numbers, words, at):
    for i in range(t[R_WIDTH]):
        words[at + i] = w[run + i]
    words[at + RUN_NODE] = _number(w, numbers, w[run + RUN_NODE])
    for part, size in ((R_MARKS, COMPONENTS), (R_LAST, ALIASES), (R_FIRST, ALIASES)):
        for i in range(t[part], t[part] + t[size]):
            words[at + i] = _number(w, numbers, w[run + i])
    return at + t[R_WIDTH]


@njit(cache=False)
def _save_words(w, part, count, words, at):
    for i in range(count):
        words[at + i] = w[w[part] + i]
    return at + count


@njit(cache=False)
def _save_events(w, part, count, width, words, at, rows):
    """A list whose first column is rows."""
    for i in range(count):
        words[at] = np.searchsorted(rows, w[w[part] + width * i])
        for j in range(1, width):
            words[at + j] = w[w[part] + width * i + j]
        at += width
    return at


@njit(cache=False)
def load(t, w, words, first_row):
    """The other way round. The rows of its events begin at `first_row`."""
    w[INDEX] = words[S_INDEX]
    w[NOW] = words[S_NOW]
    w[RANK_NOW] = words[S_RANK_NOW]
    w[EVICTED] = words[S_EVICTED]
    w[VIOLATED_AT] = words[S_VIOLATED_AT]
    nodes = words[S_NODES]
    if w[NODES] + nodes * NODE_WIDTH > w[END]:
        w[STATUS] = FULL
        return
    at = S_HEADER
    for i in range(nodes):
        node = w[NODES] + i * NODE_WIDTH
        for j in range(NODE_WIDTH):
            w[node + j] = words[at + j]
        w[node + NODE_BEFORE] = _place(w, words[at + NODE_BEFORE])
        w[node + NODE_SAME] = _place(w, words[at + NODE_SAME])
        w[node + NODE_ROW] += first_row
        at += NODE_WIDTH
    w[N_NODES] = nodes
    for part, counter, count in (
        (RUNS, N_RUNS, words[S_RUNS]),
        (FURTHEST, N_FURTHEST, words[S_FURTHEST]),
    ):
        for i in range(count):
            run = new_run(w)
            if run < 0:
                return
            at = _load_run(t, w, run, words, at)
            w[run + RUN_IS_OPEN] = part == RUNS
            if part == RUNS:
                w[NEXT_DEADLINE] = min(w[NEXT_DEADLINE], w[run + RUN_DEADLINE])
            w[w[part] + i] = run
        w[counter] = count
    if not _fits(w, words):
        w[STATUS] = FULL
        return
    for i in range(words[S_RECENT]):
        w[w[RECENT] + 2 * i] = words[at]
        w[w[RECENT] + 2 * i + 1] = words[at + 1] + first_row
        at += 2
    w[N_RECENT] = words[S_RECENT]
    at = _load_words(w, MATCHED, N_MATCHED, words[S_MATCHED], 1, words, at, -1)
    at = _load_words(w, HISTORY, N_HISTORY, words[S_HISTORY], 4, words, at, first_row)
    at = _load_words(w, GIVEN, N_GIVEN, words[S_GIVEN], 3, words, at, -1)
    at = _load_words(w, FIRST_STEP, N_FIRST_STEP, words[S_FIRST_STEP], 3, words, at, first_row)


@njit(cache=False)
def _fits(w, words):
    """Is there room for the lists? Each part ends where the next one begins."""
    return (
        2 * words[S_RECENT] <= w[RECENT + 1] - w[RECENT]
        and words[S_MATCHED] <= w[MATCHED + 1] - w[MATCHED]
        and 4 * words[S_HISTORY] <= w[HISTORY + 1] - w[HISTORY]
        and 3 * words[S_GIVEN] <= w[GIVEN + 1] - w[GIVEN]
        and 3 * words[S_FIRST_STEP] <= w[FIRST_STEP + 1] - w[FIRST_STEP]
    )


@njit(cache=False)
def _place(w, number):
    return w[NODES] + number * NODE_WIDTH if number >= 0 else -1


@njit(cache=False)
def _load_run(t, w, run, words, at):
    for i in range(t[R_WIDTH]):
        w[run + i] = words[at + i]
    w[run + RUN_NODE] = _place(w, words[at + RUN_NODE])
    for part, size in ((R_MARKS, COMPONENTS), (R_LAST, ALIASES), (R_FIRST, ALIASES)):
        for i in range(t[part], t[part] + t[size]):
            w[run + i] = _place(w, words[at + i])
    return at + t[R_WIDTH]


@njit(cache=False)
def _load_words(w, part, counter, count, width, words, at, first_row):
    """A list; if its first column is rows, they begin at `first_row`."""
    for i in range(count * width):
        w[w[part] + i] = words[at + i]
        if first_row >= 0 and i % width == 0:
            w[w[part] + i] += first_row
    w[counter] = count
    return at + count * width


@njit(cache=False)
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
