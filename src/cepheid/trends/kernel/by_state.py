"""Totals of trends by state, compiled: `linear.py` in 64 bits, for keys whose rows lie in arrays.

A total is a row of words: how many trends, then each measure. A word that would not fit is BAD, and so is all that is
made of it, unless it is multiplied by no trends at all. A key whose answer would be BAD is left to Python's numbers.
"""

from __future__ import annotations

import numpy as np

from cepheid.trends.kernel.jit import compiled, entrance_of

BAD = -(2**63)
NONE = 2**63 - 1  # least rank of no values
_MOST = 9.2e18
ADDED, LEAST = 0, 1  # kinds of measures
CHANGE, EACH, MOMENT, FINAL = 0, 1, 2, 3  # when there are rows


@compiled
def plus(a, b):
    if a == BAD or b == BAD:
        return BAD
    if abs(float(a) + float(b)) > _MOST:
        return BAD
    return a + b


@compiled
def times(a, b):
    if a == 0 or b == 0:
        return 0
    if a == BAD or b == BAD:
        return BAD
    if abs(float(a) * float(b)) > _MOST:
        return BAD
    return a * b


@compiled
def add_into(total, more, kinds):
    """Trends of two kinds together; `more` may not be `total`."""
    total[0] = plus(total[0], more[0])
    for m in range(len(kinds)):
        if kinds[m] == ADDED:
            total[m + 1] = plus(total[m + 1], more[m + 1])
        else:
            total[m + 1] = min(total[m + 1], more[m + 1])


@compiled
def clear(total, kinds):
    total[0] = 0
    for m in range(len(kinds)):
        total[m + 1] = 0 if kinds[m] == ADDED else NONE


@compiled
def take_into(total, before, row, position, weights, masks, kinds):
    """`before` with an event at a position, as a total of its own."""
    total[0] = before[0]
    for m in range(len(kinds)):
        own = before[m + 1]
        if masks[m] >> position & 1:
            if kinds[m] == ADDED:
                own = plus(own, times(before[0], weights[m, row]))
            else:
                own = min(own, weights[m, row])
        total[m + 1] = own


@compiled
def join_into(total, one, other, kinds):
    """Every trend of one followed by every trend of the other, added to the total. Neither is of none."""
    total[0] = plus(total[0], times(one[0], other[0]))
    for m in range(len(kinds)):
        if kinds[m] == ADDED:
            both = plus(times(one[m + 1], other[0]), times(one[0], other[m + 1]))
            total[m + 1] = plus(total[m + 1], both)
        else:
            total[m + 1] = min(total[m + 1], min(one[m + 1], other[m + 1]))


@compiled
def set_identity(matrix, kinds):
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            clear(matrix[i, j], kinds)
        matrix[i, i, 0] = 1


@compiled
def advance(totals, bits, row, ways, weights, masks, kinds, moved):
    """A row of totals by state, after an event."""
    width = len(ways)
    for i in range(width):
        position, source = ways[i, 0], ways[i, 1]
        moved[i, 0] = 0
        if ways[i, 2] >= 0 and bits >> position & 1 and totals[source, 0] != 0:
            take_into(moved[i], totals[source], row, position, weights, masks, kinds)
    for i in range(width):
        if moved[i, 0] != 0:
            add_into(totals[ways[i, 2]], moved[i], kinds)


@compiled
def completed(total, totals, bits, row, ways, weights, masks, kinds, moved):
    """The totals of the trends that an event completes."""
    clear(total, kinds)
    for i in range(len(ways)):
        position, source = ways[i, 0], ways[i, 1]
        if ways[i, 3] != 0 and bits >> position & 1 and totals[source, 0] != 0:
            take_into(moved[0], totals[source], row, position, weights, masks, kinds)
            add_into(total, moved[0], kinds)


@compiled
def put_before(after, bits, row, ways, weights, masks, kinds, new, taken, one):
    """The matrix of an event times that of all after it, in place."""
    new[:] = after
    for i in range(len(ways)):
        position, source, target = ways[i, 0], ways[i, 1], ways[i, 2]
        if target >= 0 and bits >> position & 1:
            take_into(taken, one, row, position, weights, masks, kinds)
            for state in range(len(after)):
                if after[target, state, 0] != 0:
                    join_into(new[source, state], taken, after[target, state], kinds)
    after[:] = new


@compiled
def row_of_window(found, first, product, kinds):
    """The totals of all trends in the window: those of the older events, followed by those of the younger."""
    for state in range(len(found)):
        clear(found[state], kinds)
    for middle in range(len(found)):
        if first[middle, 0] != 0:
            for state in range(len(found)):
                if product[middle, state, 0] != 0:
                    join_into(found[state], first[middle], product[middle, state], kinds)


@compiled
def shown_is_bad(total, kinds):
    if total[0] == BAD:
        return True
    for m in range(len(kinds)):
        if kinds[m] == ADDED and total[m + 1] == BAD:
            return True
    return False


@compiled
def tell_event(found, row, delta, running, kinds, when, events, out):
    """What an event completed is added up, and told if it is time to. The answer: how many rows there are; -1: BAD."""
    if delta[0] != 0:
        add_into(running, delta, kinds)
    shown = delta if when == MOMENT else running
    if shown_is_bad(shown, kinds):
        return -1
    if when == EACH or (delta[0] != 0 and when != FINAL):
        events[found] = row
        out[found] = shown
        return found + 1
    return found


@compiled
def tell_end(found, last, running, when, events, out):
    """At the end of a key, where only its last totals are told. `last`: the event that made them so."""
    if when == FINAL and last >= 0:
        events[found] = last
        out[found] = running
        return found + 1
    return found


def _aggregate_keys(stamp, entrance):
    @entrance
    def aggregate_keys(offsets, times_, bits, weights, masks, kinds, ways, states, within, when, left):
        """All keys. The answer: for each row of it the event and its totals; `left` marks the keys that did not fit."""
        if stamp < 0:  # what was compiled from other sources has another number here, and is not found
            raise AssertionError
        count, width = len(times_), len(kinds) + 1
        events = np.empty(count, np.int64)
        out = np.empty((count, width), np.int64)
        found = 0
        one = np.empty(width, np.int64)
        clear(one, kinds)
        one[0] = 1
        running, delta = np.empty(width, np.int64), np.empty(width, np.int64)
        moved = np.empty((max(len(ways), 1), width), np.int64)
        totals = np.empty((states, width), np.int64)
        product = np.empty((states, states, width), np.int64)
        after, new = np.empty_like(product), np.empty_like(product)
        older = np.empty((16, states, width), np.int64)  # the row of the start, of the older events
        for key in range(len(offsets) - 1):
            begin, end, before = offsets[key], offsets[key + 1], found
            clear(running, kinds)
            for state in range(states):
                clear(totals[state], kinds)
            totals[0, 0] = 1
            set_identity(product, kinds)
            # Older events: [front, middle); their rows lie in `older` from the last one on.
            # Younger ones: [middle, row).
            front = middle = begin
            last = -1
            for row in range(begin, end):
                if within >= 0:
                    least = times_[row] - within
                    while front < middle and times_[front] < least:
                        front += 1
                    if front == middle and middle < row and times_[middle] < least:
                        while front < row and times_[front] < least:
                            front += 1
                        middle = row
                        set_identity(after, kinds)
                        if row - front > len(older):
                            older = np.empty((2 * (row - front), states, width), np.int64)
                        for held in range(row - 1, front - 1, -1):
                            put_before(
                                after, bits[held], held, ways, weights, masks, kinds, new, moved[0], one
                            )
                            older[row - 1 - held] = after[0]
                        set_identity(product, kinds)
                    if front < middle:
                        row_of_window(totals, older[middle - 1 - front], product, kinds)
                    else:
                        totals[:] = product[0]
                completed(delta, totals, bits[row], row, ways, weights, masks, kinds, moved)
                if within >= 0:
                    for state in range(states):
                        advance(product[state], bits[row], row, ways, weights, masks, kinds, moved)
                else:
                    advance(totals, bits[row], row, ways, weights, masks, kinds, moved)
                if delta[0] != 0:
                    last = row
                told = tell_event(found, row, delta, running, kinds, when, events, out)
                if told < 0:
                    left[key] = True
                    break
                found = told
            found = before if left[key] else tell_end(found, last, running, when, events, out)
        return events[:found].copy(), out[:found].copy()

    return aggregate_keys


aggregate_keys = entrance_of(_aggregate_keys)
