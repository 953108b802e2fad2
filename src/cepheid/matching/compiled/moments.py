"""When the kernel's answers became certain, and which row decides between those of one moment.

The order that the reference matcher has: first what events brought; then what deadlines brought, key by key, keys in
the order of the first event of what they found; at last the end, likewise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.emission import (
    EVENT_ROW,
    OUT_CAUSE,
    OUT_DETECTED,
    OUT_FIRST,
    OUT_KEY,
    OUT_KIND,
    OUT_PHASE,
    PENDING,
    TIMEOUT,
)
from cepheid.matching.compiled.kernel.words import NEVER
from cepheid.matching.compiled.tables import Table

AT_EVENT, AT_END = 0, 2  # phases; between them: at a deadline


def moments_of(answers: Answers) -> Table:
    """Of each answer; the end is after all."""
    found = answers.rows
    moments: Table = np.where(found[:, OUT_PHASE] == AT_END, NEVER, found[:, OUT_DETECTED])
    return moments


def deciding_rows(answers: Answers, moments: Table, ranks: Callable[[Table], Table]) -> Table:
    """The row by which each answer has its place among those of its moment; `ranks` says how rows of a key lie."""
    found = answers.rows
    deciding: Table = np.where(found[:, OUT_PHASE] == AT_EVENT, found[:, OUT_CAUSE], 0)
    timed = np.flatnonzero(found[:, OUT_PHASE] != AT_EVENT)
    if len(timed):
        deciding[timed] = _first_rows(answers, timed, moments, ranks)
    return deciding


def _first_rows(answers: Answers, timed: Table, moments: Table, ranks: Callable[[Table], Table]) -> Table:
    """Of what a key found at one moment, the first event of its matches; without any, of what else there is."""
    found, moments = answers.rows[timed], moments[timed]
    first: Table = answers.events[found[:, OUT_FIRST], EVENT_ROW]
    new = np.ones(len(found), np.bool_)
    new[1:] = (
        (found[1:, OUT_KEY] != found[:-1, OUT_KEY])
        | (moments[1:] != moments[:-1])
        | (found[1:, OUT_PHASE] != found[:-1, OUT_PHASE])
    )
    if new.all():
        return first
    group = np.cumsum(new) - 1
    weight = np.select([found[:, OUT_KIND] == TIMEOUT, found[:, OUT_KIND] == PENDING], [1, 2], 0)
    best = np.lexsort((ranks(first), weight, group))
    heads = np.concatenate([[0], np.flatnonzero(np.diff(group[best])) + 1])
    deciding: Table = first[best[heads]][group]
    return deciding
