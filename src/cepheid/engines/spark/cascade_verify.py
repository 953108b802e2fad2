"""Tuples of events to matches, inside a Spark task: the matcher sees the events of one tuple and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from cepheid.engines.session import Found
from cepheid.engines.spark.cascade import Cascade
from cepheid.engines.spark.cascade_columns import RANK
from cepheid.engines.spark.layout import TYPE
from cepheid.engines.spark.reading import read_events
from cepheid.engines.spark.work import Work
from cepheid.pattern.event import Event

_ROWS_OUT = 1000


def verifying(cascade: Cascade, work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # Plain data only: this travels to the workers.
    names = cascade.carried.names()
    steps = tuple((step.place.mark, step.test.type) for step in cascade.steps)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[Found] = []
        for batch in batches:
            events = [_events(batch, mark, kind, names, work) for mark, kind in steps]
            for chain in zip(*events, strict=True):
                waiting += _matches(chain, work)
                if len(waiting) >= _ROWS_OUT:
                    yield from work.answer.batches(waiting)
                    waiting = []
        if waiting:
            yield from work.answer.batches(waiting)

    return run


def _events(batch: pa.RecordBatch, mark: str, kind: str, names: list[str], work: Work) -> list[Event]:
    """The events that stand at one place of the tuples."""
    columns = {name: batch.column(mark + name) for name in names}
    ranks = columns.pop(RANK).to_pylist()
    columns[TYPE] = pa.array([kind] * batch.num_rows, pa.string())
    own = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return [replace(e, rank=r) for e, r in zip(read_events(own, work.layout), ranks, strict=True)]


def _matches(chain: tuple[Event, ...], work: Work) -> list[Found]:
    """A match takes as many events as the tuple has, so there is one or none."""
    return work.found(work.network().on_events(chain))
