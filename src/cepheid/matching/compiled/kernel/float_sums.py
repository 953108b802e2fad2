"""Sums of doubles as if every step were exact, rounded once, so that the order of the events does not matter.

What each addition loses is kept in partial sums that do not overlap (Shewchuk). A run has a few for each sum: numbers
that are not too different need one or two. Where they are not enough, the sum is worked out anew, from all that was
taken.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import as_bits, as_float
from cepheid.matching.compiled.kernel.space import DEPTH, PARTIALS, event_float, event_null
from cepheid.matching.compiled.kernel.words import NODE_ROW, NODE_SAME, R_LAST

FEW = 4  # partial sums that a run keeps
MANY = DEPTH  # that are ever needed
KNOWN, COUNT, SUMS = 0, 1, 2  # of how many numbers; how many sums, below 0: more than a few; the sums
WIDTH = SUMS + FEW


@inner
def keep_sum(w, kept, x):
    """A run has taken one more number."""
    w[kept + KNOWN] += 1
    if w[kept + COUNT] >= 0:
        w[kept + COUNT] = _added(w, kept + SUMS, FEW, w[kept + COUNT], x)


@inner
def float_sum(t, w, kept, alias, column, nulls, run, extra_alias, extra_row):
    """Of what a closure captured, and an event that counts as taken: its bits, and of how many; -1: it is infinite."""
    known, count, room = w[kept + KNOWN], w[kept + COUNT], w[PARTIALS]
    if count < 0:
        count = _worked_out(t, w, alias, column, nulls, run, room)
    else:
        for j in range(count):
            w[room + j] = w[kept + SUMS + j]
    if alias == extra_alias and not event_null(w, nulls, extra_row):
        known += 1
        if count >= 0:
            count = _added(w, room, MANY, count, event_float(w, column, extra_row))
    if count < 0:
        return np.int64(0), np.int64(-1)
    return as_bits(_rounded(w, room, count)), known


@inner
def _worked_out(t, w, alias, column, nulls, run, room):
    """From all that was taken, the newest first: how many partial sums there are."""
    at, count = w[run + t[R_LAST] + alias], np.int64(0)
    while at >= 0 and count >= 0:
        row = w[at + NODE_ROW]
        if not event_null(w, nulls, row):
            count = _added(w, room, MANY, count, event_float(w, column, row))
        at = w[at + NODE_SAME]
    return count


@inner
def _added(w, at, room, count, x):
    """One more number; the answer is how many partial sums there are, -1 if there is no room or one is infinite."""
    kept = np.int64(0)
    for j in range(count):
        y = as_float(w[at + j])
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            w[at + kept] = as_bits(low)
            kept += 1
        x = high
    if not np.isfinite(x) or kept >= room:
        return np.int64(-1)
    w[at + kept] = as_bits(x)
    return kept + 1


@inner
def _rounded(w, at, n):
    """Their sum, rounded once; a tie goes by the sign of what lies below."""
    if n == 0:
        return 0.0
    n -= 1
    high = as_float(w[at + n])
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = as_float(w[at + n])
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and low != 0.0:
        below = as_float(w[at + n - 1])
        if (low < 0.0) == (below < 0.0) and below != 0.0:
            twice = low * 2.0
            x = high + twice
            if x - high == twice:
                high = x
    return high
