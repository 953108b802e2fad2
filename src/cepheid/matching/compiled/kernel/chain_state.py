"""The state of a key of a chain as words: the queues. How many runs they stand for is worked out when they are loaded.

The header is that of `state.py`; the number of nodes is that of all queues' events, and the queues' lengths follow it.
"""

from __future__ import annotations

from cepheid.matching.compiled.kernel.chain import next_chain_deadline
from cepheid.matching.compiled.kernel.chain_counts import count_start, matches_of, take
from cepheid.matching.compiled.kernel.chain_space import (
    BEHIND,
    FIRST,
    I_INDEX,
    I_RANK,
    I_ROW,
    PICKED,
    QUEUE_ROOM,
    is_empty,
    length,
    place,
    put,
)
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.space import EVICTED, FULL, INDEX, NOW, OK, RANK_NOW, STATUS
from cepheid.matching.compiled.kernel.state import (
    S_EVICTED,
    S_HEADER,
    S_INDEX,
    S_NODES,
    S_NOW,
    S_RANK_NOW,
    find_row,
    sort_rows,
)
from cepheid.matching.compiled.kernel.words import NEVER, ONE_WAY, POSITIONS

W_ROW, W_INDEX, W_RANK, W_MATCHED, W_WIDTH = range(5)  # an event of a queue; a start: did it have a match?


@inner
def chain_words_needed(t, w):
    """At most so many words, and so many rows."""
    events = 0
    for p in range(t[POSITIONS] - 1):
        events += length(w, p)
    return S_HEADER + t[POSITIONS] + events * W_WIDTH, events


@inner
def save_chain(t, w, words, begin, rows, first):
    """Writes the state to `words` from `begin` on, its events' rows to `rows` from `first` on: where both end."""
    end = _collect_rows(t, w, rows, first)
    for i in range(S_HEADER):
        words[begin + i] = 0
    words[begin + S_INDEX] = w[INDEX]
    words[begin + S_NOW] = w[NOW]
    words[begin + S_RANK_NOW] = w[RANK_NOW]
    words[begin + S_EVICTED] = w[EVICTED]
    at = begin + S_HEADER
    for p in range(t[POSITIONS] - 1):
        words[at] = length(w, p)
        words[begin + S_NODES] += length(w, p)
        at += 1
    for p in range(t[POSITIONS] - 1):
        for number in range(w[w[FIRST] + p], w[w[BEHIND] + p]):
            event = place(w, p, number)
            words[at + W_ROW] = find_row(rows, first, end, w[event + I_ROW])
            words[at + W_INDEX] = w[event + I_INDEX]
            words[at + W_RANK] = w[event + I_RANK]
            words[at + W_MATCHED] = p == 0 and not t[ONE_WAY] and matches_of(t, w, number) != 0
            at += W_WIDTH
    return at, end


@inner
def _collect_rows(t, w, rows, first):
    end = first
    for p in range(t[POSITIONS] - 1):
        for number in range(w[w[FIRST] + p], w[w[BEHIND] + p]):
            rows[end] = w[place(w, p, number) + I_ROW]
            end += 1
    return sort_rows(rows, first, end)


@inner
def load_chain(t, w, words, begin, first_row):
    """The other way round: events come again in their order, those of later steps first as they did."""
    at = begin + S_HEADER
    queues = t[POSITIONS] - 1
    rest = at + queues
    for p in range(queues):  # where each queue goes on, and where it ends
        w[w[PICKED] + p] = rest
        rest += words[at + p] * W_WIDTH
        if words[at + p] > w[QUEUE_ROOM]:
            w[STATUS] = FULL
            return
    while w[STATUS] == OK:
        p = _earliest(t, w, words, begin)
        if p < 0:
            break
        event = w[w[PICKED] + p]
        w[w[PICKED] + p] += W_WIDTH
        w[INDEX] = words[event + W_INDEX]
        put(t, w, p, words[event + W_ROW] + first_row, words[event + W_RANK])
        if not t[ONE_WAY]:
            if p > 0:
                take(t, w, p)
            else:
                count_start(t, w, words[event + W_MATCHED])
    w[INDEX] = words[begin + S_INDEX]
    w[NOW] = words[begin + S_NOW]
    w[RANK_NOW] = words[begin + S_RANK_NOW]
    w[EVICTED] = words[begin + S_EVICTED]


@inner
def _earliest(t, w, words, begin):
    """The queue whose next event is the earliest, the last of them where it is in several; -1 if there is none."""
    found = -1
    earliest = NEVER
    end = begin + S_HEADER + t[POSITIONS] - 1
    for p in range(t[POSITIONS] - 1):
        end += words[begin + S_HEADER + p] * W_WIDTH
        at = w[w[PICKED] + p]
        if at < end and words[at + W_INDEX] <= earliest:
            found, earliest = p, words[at + W_INDEX]
    return found


@inner
def look_at_chain_again(t, w, time):
    """When time has passed this, something is to be done for the key; -NEVER: it is gone."""
    if is_empty(w, 0):
        return w[NOW] if w[NOW] >= time else -NEVER
    return next_chain_deadline(t, w)
