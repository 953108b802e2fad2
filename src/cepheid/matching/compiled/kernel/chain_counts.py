"""How many runs there are, without any of them: runs of one start are a row of numbers, one for each step reached.

An event of step p makes a copy of every run that waits for it: the number at p grows by the one at p - 1. That is a
multiplication with a matrix, the same for all starts; so it is enough to keep the product of all of them, and for each
start the first row of its inverse when it came. What wraps around on the way cancels: the answers are far below 2^63,
since at each event they at most double, and a limit stops them long before.
"""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.chain_space import (
    BEHIND,
    FIRST,
    GROWTH,
    OPEN,
    QUEUE_ROOM,
    SHARES,
    SHRINKAGE,
    forget_counts,
    is_empty,
)
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.space import EXPIRED
from cepheid.matching.compiled.kernel.words import POSITIONS


@inner
def take(t, w, p):
    """Every run that waits for step p is copied."""
    steps = t[POSITIONS]
    for i in range(steps):
        w[w[GROWTH] + i * steps + p] += w[w[GROWTH] + i * steps + p - 1]
        w[w[SHRINKAGE] + (p - 1) * steps + i] -= w[w[SHRINKAGE] + p * steps + i]


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
    for i in range(t[POSITIONS]):
        w[w[OPEN] + i] += w[share + i]


@inner
def _runs(t, w, share, p):
    """The runs of a share whose last event is of step p; of the last step: its matches."""
    found = np.int64(0)
    for i in range(t[POSITIONS]):
        found += w[share + i] * w[w[GROWTH] + i * t[POSITIONS] + p]
    return found


@inner
def runs_in(t, w, p):
    return _runs(t, w, w[OPEN], p)


@inner
def count_open(t, w):
    found = np.int64(0)
    for p in range(t[POSITIONS] - 1):
        found += runs_in(t, w, p)
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
        w[EXPIRED] += _runs(t, w, share, p)
    for i in range(t[POSITIONS]):
        w[w[OPEN] + i] -= w[share + i]
    w[w[FIRST]] += 1
    if is_empty(w, 0):
        forget_counts(t, w)
