"""When findings became certain: by which event, or at which moment, in the order the reference matcher has."""

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
    OUT_EVENTS,
    OUT_FIRST,
    OUT_KEY,
    OUT_KIND,
    OUT_PHASE,
    PENDING,
)
from cepheid.matching.compiled.moments import deciding_rows, moments_of

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
    moments = moments_of(answers)
    return Places(moments, answers.rows[:, OUT_PHASE].copy(), deciding_rows(answers, moments, rows.ranks))


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
