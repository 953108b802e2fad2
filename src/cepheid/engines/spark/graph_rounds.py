"""Rounds of a loop that has no small bound: each round is found by joins, and a task puts the rounds of one group
one after the other. A group are those that agree in all variables that rounds share.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.spark.graph_rows import CREATED, DECIDED, FIRST, LATEST, PAST, TICK, RowShape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BEGINS, GOES_ON, BOTH = (
    1,
    2,
    3,
)  # a row is a thread after its first round, a later round of any thread, or either
SIDE = "side"
_ROWS_OUT = 1000

Row = dict[str, Any]


@dataclass(frozen=True)
class Rounds:
    least: int
    most: int | None
    within: int | None
    of_a_round: tuple[str, ...]  # columns that are those of the last round
    groups: tuple[str, ...]  # columns


def chained(rows: DataFrame, rounds: Rounds, shape: RowShape) -> DataFrame:
    """Threads after each number of rounds that is enough. The rows have a side, and the columns of groups."""
    from pyspark.sql import types as T

    groups = list(rounds.groups)
    together = rows.repartition(*groups) if groups else rows.repartition(1)
    wanted = T.StructType([rows.schema[name] for name in shape.names])
    ordered = together.sortWithinPartitions(*groups, FIRST).select(*groups, SIDE, *shape.names)
    return ordered.mapInArrow(_task(rounds, shape.names), wanted)


def _task(rounds: Rounds, names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[Row] = []
        schema: pa.Schema | None = None
        rows = _rows(batches)
        for _, group in groupby(rows, key=lambda row: [row[1][name] for name in rounds.groups]):
            members = list(group)
            schema = pa.schema([members[0][0].field(name) for name in names])
            for row in threads(rounds, [row for _, row in members]):
                waiting.append(row)
                if len(waiting) >= _ROWS_OUT:
                    yield pa.RecordBatch.from_pylist(waiting, schema)
                    waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema)

    return run


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Schema, Row]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield batch.schema, row


def threads(rounds: Rounds, rows: list[Row]) -> Iterator[Row]:
    """Of one group, in the order of their first times."""
    later = [row for row in rows if row[SIDE] & GOES_ON]
    begins = [row[FIRST] for row in later]
    waiting = [(row, 1) for row in rows if row[SIDE] & BEGINS]
    while waiting:
        thread, done = waiting.pop()
        if done >= rounds.least:
            yield thread
        if done == rounds.most:
            continue
        for following in later[bisect_right(begins, thread[LATEST]) :]:
            if rounds.within is not None and following[LATEST] - thread[FIRST] > rounds.within:
                continue
            waiting.append((_extended(thread, following, rounds), done + 1))


def _extended(thread: Row, following: Row, rounds: Rounds) -> Row:
    found = {**thread, **{name: following[name] for name in rounds.of_a_round}}
    found[LATEST] = following[LATEST]
    found[DECIDED] = max(thread[DECIDED], following[DECIDED])
    if TICK in thread:
        found[TICK] = max(thread[TICK], following[TICK])
        found[CREATED] = thread[CREATED]
    found[PAST] = [*thread[PAST], *following[PAST]]
    return found
