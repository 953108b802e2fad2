"""How many runs there are, without any of them: runs of one start are a row of numbers, one for each step reached.

An event of step p makes a copy of every run that waits for it: the number at p grows by the one at p - 1. That is a
multiplication with a matrix, the same for all starts; so it is enough to keep the product of all of them, and for each
start the first row of its inverse when it came. What wraps around on the way cancels: the answers are far below 2^63,
since what would get too big is given up before.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.chain_space import (
    BEHIND,
    FIRST,
    GROWTH,
    QUEUE_ROOM,
    SHARES,
    SHRINKAGE,
    TOTALS,
    forget_counts,
    is_empty,
)
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.space import EXPIRED, GAVE_UP, STATUS
from cepheid.matching.compiled.kernel.words import COUNTING, POSITIONS

MOST = 2**62  # two such numbers can be added


@inner
def take(t, w, p):
    """Every run that waits for step p is copied."""
    steps = t[POSITIONS]
    for i in range(steps):
        w[w[GROWTH] + i * steps + p] += w[w[GROWTH] + i * steps + p - 1]
        w[w[SHRINKAGE] + (p - 1) * steps + i] -= w[w[SHRINKAGE] + p * steps + i]
    if p < steps - 1:
        w[w[TOTALS] + p] += w[w[TOTALS] + p - 1]
    if w[w[TOTALS] + p] > MOST:
        w[STATUS] = GAVE_UP  # the reference matcher counts on


@inner
def _share(t, w, number):
    return w[SHARES] + (number & (w[QUEUE_ROOM] - 1)) * t[POSITIONS]


@inner
def count_start(t, w, matches):
    """The newest start has one run, in the first step, and so many matches."""
    share = _share(t, w, w[w[BEHIND]] - 1)
    for i in range(t[POSITIONS]):
        w[share + i] = w[w[SHRINKAGE] + i]
    w[share + t[POSITIONS] - 1] += matches
    w[w[TOTALS]] += 1


@inner
def _runs(t, w, share, p):
    """The runs of a share whose last event is of step p; of the last step: its matches."""
    found = np.int64(0)
    for i in range(t[POSITIONS]):
        found += w[share + i] * w[w[GROWTH] + i * t[POSITIONS] + p]
    return found


@inner
def runs_in(w, p):
    """Of all starts."""
    return w[w[TOTALS] + p]


@inner
def count_open(t, w):
    found = np.int64(0)
    for p in range(t[POSITIONS] - 1):
        found += runs_in(w, p)
    return found


@inner
def matches_of(t, w, number):
    """Of a start."""
    return _runs(t, w, _share(t, w, number), t[POSITIONS] - 1)


@inner
def expire_start(t, w):
    """The oldest start and all its runs are over."""
    share = _share(t, w, w[w[FIRST]])
    for p in range(t[POSITIONS] - 1):
        runs = _runs(t, w, share, p)
        w[w[TOTALS] + p] -= runs
        w[EXPIRED] += min(runs, 1) if t[COUNTING] else runs  # where they are only counted they are one
    w[w[FIRST]] += 1
    if is_empty(w, 0):
        forget_counts(t, w)
