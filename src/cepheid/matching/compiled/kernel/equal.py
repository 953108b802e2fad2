"""Runs that wait for a certain value, by that value: an event of `B[x == a.x]` meets only those with its x."""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.compiled.kernel.memory import load_byte
from cepheid.matching.compiled.kernel.moves import mixed
from cepheid.matching.compiled.kernel.space import BUCKETS, HEAP, ROOM, event_int, event_null, event_text
from cepheid.matching.compiled.kernel.words import (
    AT_EQUAL,
    EQUAL_INTS,
    EQUAL_WIDTH,
    NODE_ROW,
    Q_ALIAS,
    Q_ALIAS_COLUMN,
    Q_ALIAS_NULLS,
    Q_COLUMN,
    Q_FAMILY,
    Q_NULLS,
    R_LAST,
    RUN_BUCKET,
    RUN_BUCKET_NEWER,
    RUN_BUCKET_OLDER,
    RUN_STATE,
)


@inner
def must_be_equal(t, state):
    return t[t[AT_EQUAL] + state * EQUAL_WIDTH + Q_FAMILY] != 0


@inner
def _bucket(t, w, state, row, column, nulls):
    """Where the runs are told that wait for the value of an event; -1: it has none, and is equal to nothing."""
    if row < 0 or event_null(w, nulls, row):
        return -1
    number = np.int64(state)
    if t[t[AT_EQUAL] + state * EQUAL_WIDTH + Q_FAMILY] == EQUAL_INTS:
        number = mixed(number, event_int(w, column, row))
    else:
        for at in range(event_text(w, column, row), event_text(w, column, row + 1)):
            number = mixed(number, load_byte(w[HEAP] + at))
    return w[BUCKETS] + (number & (w[ROOM] - 1))


@inner
def bucket_of_event(t, w, state, row):
    equal = t[AT_EQUAL] + state * EQUAL_WIDTH
    return _bucket(t, w, state, row, t[equal + Q_COLUMN], t[equal + Q_NULLS])


@inner
def _bucket_of_run(t, w, run):
    state = w[run + RUN_STATE]
    equal = t[AT_EQUAL] + state * EQUAL_WIDTH
    node = w[run + t[R_LAST] + t[equal + Q_ALIAS]]
    row = w[node + NODE_ROW] if node >= 0 else -1
    return _bucket(t, w, state, row, t[equal + Q_ALIAS_COLUMN], t[equal + Q_ALIAS_NULLS])


@inner
def put_by_value(t, w, run):
    """A run that waits for nothing that can come is in no bucket."""
    w[run + RUN_BUCKET] = -1
    if not must_be_equal(t, w[run + RUN_STATE]):
        return
    bucket = _bucket_of_run(t, w, run)
    w[run + RUN_BUCKET] = bucket
    if bucket < 0:
        return
    older = w[bucket]
    w[run + RUN_BUCKET_OLDER] = older
    w[run + RUN_BUCKET_NEWER] = 0
    if older > 0:
        w[older + RUN_BUCKET_NEWER] = run
    w[bucket] = run


@inner
def take_by_value(w, run):
    bucket = w[run + RUN_BUCKET]
    if bucket < 0:
        return
    older, newer = w[run + RUN_BUCKET_OLDER], w[run + RUN_BUCKET_NEWER]
    if newer > 0:
        w[newer + RUN_BUCKET_OLDER] = older
    else:
        w[bucket] = older
    if older > 0:
        w[older + RUN_BUCKET_NEWER] = newer
