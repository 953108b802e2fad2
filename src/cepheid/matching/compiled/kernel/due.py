"""A heap of open runs by their deadlines. Each run knows its place, so that it can be taken out anywhere."""

from __future__ import annotations

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.space import DUE, N_DUE
from cepheid.matching.compiled.kernel.words import NONE, RUN_DEADLINE, RUN_DUE


@inner
def put_due(w, run):
    """There is room for every run."""
    w[N_DUE] += 1
    _rise(w, run, w[N_DUE] - 1)


@inner
def take_due(w, run):
    """Out of the heap, if it is there: the last one takes its place."""
    place = w[run + RUN_DUE]
    if place < 0:
        return
    w[run + RUN_DUE] = NONE
    w[N_DUE] -= 1
    last = w[w[DUE] + w[N_DUE]]
    if last == run:
        return
    if place > 0 and w[last + RUN_DEADLINE] < w[w[w[DUE] + (place - 1) // 2] + RUN_DEADLINE]:
        _rise(w, last, place)
    else:
        _sink(w, last, place)


@inner
def _set(w, run, place):
    w[w[DUE] + place] = run
    w[run + RUN_DUE] = place


@inner
def _rise(w, run, place):
    while place > 0:
        above = (place - 1) // 2
        other = w[w[DUE] + above]
        if w[other + RUN_DEADLINE] <= w[run + RUN_DEADLINE]:
            break
        _set(w, other, place)
        place = above
    _set(w, run, place)


@inner
def _sink(w, run, place):
    while 2 * place + 1 < w[N_DUE]:
        child = 2 * place + 1
        if child + 1 < w[N_DUE]:
            one, other = w[w[DUE] + child], w[w[DUE] + child + 1]
            if w[other + RUN_DEADLINE] < w[one + RUN_DEADLINE]:
                child += 1
        below = w[w[DUE] + child]
        if w[run + RUN_DEADLINE] <= w[below + RUN_DEADLINE]:
            break
        _set(w, below, place)
        place = child
    _set(w, run, place)
