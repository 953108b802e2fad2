"""When findings became certain: by which event, or at which moment, in the order the reference matcher has.

Of one moment: first what events brought, in their total order; then what deadlines brought, key by key, keys in the
order of the first event of what they found; at last the end, likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.kept import ARRIVAL, ORDER, TIME
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.ordering import order_of
from cepheid.matching.compiled.compiled_plan import Answers
from cepheid.matching.compiled.kernel.emission import (
    EVENT_POSITION,
    EVENT_ROW,
    OUT_CAUSE,
    OUT_DETECTED,
    OUT_EVENTS,
    OUT_FIRST,
    OUT_KEY,
    OUT_KIND,
    OUT_PHASE,
    PENDING,
    TIMEOUT,
)
from cepheid.matching.compiled.kernel.words import NEVER

PHASE = 1  # where it is in the keys of `Places`; the last of them is the arrival of the row that decides


@dataclass(frozen=True)
class Places:
    """For each finding: its moment, its phase, and the row whose place in the total order decides."""

    moments: Numbers
    phases: Numbers
    rows: Numbers

    def __add__(self, other: Places) -> Places:
        return Places(
            np.concatenate([self.moments, other.moments]),
            np.concatenate([self.phases, other.phases]),
            np.concatenate([self.rows, other.rows]),
        )

    def taken(self, which: Numbers) -> Places:
        return Places(self.moments[which], self.phases[which], self.rows[which])

    def keys(self, table: pa.Table, order_columns: int) -> list[Any]:
        """What findings are sorted by, also among those of other parts."""
        rows = pa.array(self.rows)
        names = [TIME, *(f"{ORDER}{i}" for i in range(order_columns)), ARRIVAL]
        taken = table.select(names).take(rows)
        place = [taken[name].to_numpy() if name in (TIME, ARRIVAL) else taken[name] for name in names]
        return [self.moments, self.phases, *place]


def places_of(answers: Answers, rows: Sorted) -> Places:
    """Of the kernel's answers."""
    found = answers.rows
    phases = found[:, OUT_PHASE]
    at_end = phases == 2
    moments = np.where(at_end, NEVER, found[:, OUT_DETECTED])
    deciding = np.where(phases == 0, found[:, OUT_CAUSE], 0)
    timed = np.flatnonzero(phases != 0)
    if len(timed):
        deciding[timed] = _first_rows(found[timed], moments[timed], answers, rows)
    return Places(moments, phases.copy(), deciding)


def _first_rows(found: Numbers, moments: Numbers, answers: Answers, rows: Sorted) -> Numbers:
    """Of what a key found at one moment, the first event of its matches; without any, of what else there is."""
    first = answers.events[found[:, OUT_FIRST], EVENT_ROW]
    new = np.ones(len(found), np.bool_)
    new[1:] = (
        (found[1:, OUT_KEY] != found[:-1, OUT_KEY])
        | (moments[1:] != moments[:-1])
        | (found[1:, OUT_PHASE] != found[:-1, OUT_PHASE])
    )
    if new.all():
        alone: Numbers = first
        return alone
    group = np.cumsum(new) - 1
    weight = np.select([found[:, OUT_KIND] == TIMEOUT, found[:, OUT_KIND] == PENDING], [1, 2], 0)
    best = np.lexsort((rows.ranks(first), weight, group))
    heads = np.concatenate([[0], np.flatnonzero(np.diff(group[best])) + 1])
    deciding: Numbers = first[best[heads]][group]
    return deciding


def pending_in_order(answers: Answers, which: Numbers, rows: Sorted) -> Numbers:
    """Absences that one key waits for, as complete runs are ordered: by start, by length, by their events."""
    pending = np.flatnonzero(answers.rows[which, OUT_KIND] == PENDING)
    keys = answers.rows[which[pending], OUT_KEY]
    if len(np.unique(keys)) == len(keys):
        return which

    def place(at: int) -> tuple[Any, ...]:
        row = answers.rows[at]
        own = answers.events[row[OUT_FIRST] : row[OUT_FIRST] + row[OUT_EVENTS]]
        ranks = rows.ranks(own[:, EVENT_ROW]).tolist()
        positions = own[:, EVENT_POSITION].tolist()
        steps = sorted(zip(positions, ranks, strict=True))
        return int(row[OUT_KEY]), ranks[0], len(ranks), sorted(ranks), steps

    found = which.copy()
    found[pending] = sorted(which[pending].tolist(), key=place)
    return found


def in_order(keys: list[list[Any]]) -> Numbers:
    """The order of findings of several parts, one after the other."""
    if len(keys) == 1:
        return order_of(keys[0])
    whole = []
    for columns in zip(*keys, strict=True):
        if all(isinstance(c, np.ndarray) for c in columns):
            whole.append(np.concatenate(columns))
        else:
            whole.append(pa.chunked_array([chunk for c in columns for chunk in c.chunks], columns[0].type))
    return order_of(whole)
