"""Matches that are only counted: runs that nothing later can tell apart are one, which stands for all of them.

The rules of `matching/counting.py`, for patterns whose tests and answer look at no event of a run.
"""

from __future__ import annotations

from cepheid.matching.compiled.kernel.emission import (
    MATCH,
    OUT_COUNT,
    OUT_WIDTH,
    finish,
    give_out,
    release,
)
from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import store_int
from cepheid.matching.compiled.kernel.space import (
    COMPLETED,
    DONE,
    GAVE_UP,
    N_DONE,
    N_OUT,
    N_RUNS,
    OK,
    OUT,
    RUNS,
    STATUS,
    let_go,
)
from cepheid.matching.compiled.kernel.words import (
    BLOCK_WORDS,
    CLOSURES,
    COMPONENTS,
    COUNTED,
    COUNTING,
    MARKS_MATTER,
    NODE_INDEX,
    R_BLOCKED,
    R_COUNTS,
    R_MARKS,
    R_SCOPES,
    R_WEIGHT,
    RUN_BLOCKED_ACCEPTS,
    RUN_CLOSED,
    RUN_START,
    RUN_STATE,
    SCOPES,
)

MOST = 2**62  # two such numbers can be added


@inner
def join_runs(t, w):
    """After an event. The first of those that are one stays, in its place."""
    kept = first = 0
    for i in range(w[N_RUNS]):
        run = w[w[RUNS] + i]
        if kept > 0 and w[w[w[RUNS] + first] + RUN_START] != w[run + RUN_START]:
            first = kept
        at = first
        while at < kept and not _have_one_future(t, w, w[w[RUNS] + at], run):
            at += 1
        if at < kept:
            known = w[w[RUNS] + at] + t[R_WEIGHT]
            w[known] = _sum(w, w[known], w[run + t[R_WEIGHT]])
            let_go(w, run)
        else:
            w[w[RUNS] + kept] = run
            kept += 1
    w[N_RUNS] = kept


@inner
def _sum(w, one, other):
    if one + other > MOST:
        w[STATUS] = GAVE_UP  # the reference matcher counts on
    return one + other


@inner
def _have_one_future(t, w, one, other):
    """Of two runs of one start."""
    same = w[one + RUN_STATE] == w[other + RUN_STATE] and w[one + RUN_CLOSED] == w[other + RUN_CLOSED]
    same = same and w[one + RUN_BLOCKED_ACCEPTS] == w[other + RUN_BLOCKED_ACCEPTS]
    for i in range(t[BLOCK_WORDS]):
        same = same and w[one + t[R_BLOCKED] + i] == w[other + t[R_BLOCKED] + i]
    for i in range(t[SCOPES]):
        same = same and w[one + t[R_SCOPES] + i] == w[other + t[R_SCOPES] + i]
    for i in range(t[CLOSURES]):
        if (t[COUNTED] >> i) & 1:
            same = same and w[one + t[R_COUNTS] + i] == w[other + t[R_COUNTS] + i]
    if t[MARKS_MATTER]:
        for i in range(t[COMPONENTS]):
            same = same and _marked(w, w[one + t[R_MARKS] + i]) == _marked(w, w[other + t[R_MARKS] + i])
    return same


@inner
def _marked(w, node):
    return w[node + NODE_INDEX] if node >= 0 else -1


@inner
def finish_all(t, w, detected):
    """What is complete is given out, or counted."""
    if t[COUNTING] and w[N_DONE] > 0:
        _count_done(t, w, detected)
    else:
        finish(t, w, detected)


@inner
def _count_done(t, w, detected):
    """All that is complete is one row, of the first one's events."""
    weight = 0
    for i in range(w[N_DONE]):
        weight = _sum(w, weight, w[w[w[DONE] + i] + t[R_WEIGHT]])
    if w[STATUS] == OK:
        w[COMPLETED] += 1
        give_out(t, w, w[w[DONE]], MATCH, detected)
    if w[STATUS] == OK:
        store_int(w[OUT] + ((w[N_OUT] - 1) * OUT_WIDTH + OUT_COUNT) * 8, weight)
    release(w, 0)
