"""What a peer is, and what it answers: a table of whole numbers, compared with Cepheid's before its time counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from peers.data import Dataset
from peers.queries import Query


class NotHere(Exception):
    """A peer that cannot be had on this machine, and why."""


class Failed(Exception):
    """A peer that is here and gave no answer, and why."""


@dataclass(frozen=True)
class Runs:
    """How often a question is put, and over what the engine may warm up before: classes, kernels, sessions."""

    warm: Dataset
    repeat: int
    build: Path


@dataclass(frozen=True)
class Answer:
    """The matches, one row each, and the seconds of the best run.

    Beside them what is not among them: the run over a few events before (with the start of a session, where the engine
    lives in one), and the start of a process of the engine's own.
    """

    rows: Any
    seconds: float
    warm_up: float = 0.0
    start: float = 0.0

    @cached_property
    def sorted_rows(self) -> Any:
        rows = np.ascontiguousarray(self.rows, np.int64)
        return rows[np.lexsort(rows.T[::-1])]

    @property
    def digest(self) -> str:
        return sha256(self.sorted_rows.tobytes()).hexdigest()[:16]


Ask = Callable[[Query, Dataset, Runs], Answer]


@dataclass(frozen=True)
class Peer:
    """An engine: how it is asked, over how many events at most, what it cannot say.

    `differs`: what it is asked although its nearest translation is known to mean something else, and why.
    `fewer`: the events of questions it is slow at. `only`: the questions a variant of an engine is there for.
    """

    name: str
    how: str
    ask: Ask
    at_most: int = 100_000_000
    cannot: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    fewer: Mapping[str, int] = field(default_factory=dict)
    only: frozenset[str] = frozenset()

    def events(self, query: Query, wanted: int) -> int:
        """How many events it is given: no more than it can take in a time worth waiting for."""
        return min(wanted, self.at_most, self.fewer.get(query.name, wanted))


def best_of(action: Callable[[Dataset], pa.Table], data: Dataset, runs: Runs) -> Answer:
    """For engines in this process: once over a few events untimed, then as often as asked for."""
    began = time.perf_counter()
    action(runs.warm)
    warm_up = time.perf_counter() - began
    seconds = []
    for _ in range(runs.repeat):
        began = time.perf_counter()
        table = action(data)
        seconds.append(time.perf_counter() - began)
    return Answer(as_rows(table), min(seconds), warm_up)


def as_rows(table: pa.Table) -> Any:
    """The columns a, b, c of a table, side by side."""
    return np.column_stack([table[name].to_numpy().astype(np.int64) for name in sorted(table.column_names)])


def differences(found: Answer, expected: Answer) -> str | None:
    """What is wrong with an answer, in a few words; nothing if it is the expected one."""
    if found.digest == expected.digest:
        return None
    ours, theirs = ({tuple(row) for row in a.sorted_rows.tolist()} for a in (expected, found))
    parts = [f"{len(found.sorted_rows)} matches instead of {len(expected.sorted_rows)}"]
    for rows, what in ((ours - theirs, "missing"), (theirs - ours, "too many")):
        if rows:
            parts.append(f"{len(rows)} {what}, as {min(rows)}")
    return ", ".join(parts)
