"""One bucket of keys under rules: operations that wait for the watermark, and a working memory for each key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from cepheid.engines.rules.operations import BEGINNING, Operation, without_intervals
from cepheid.engines.rules.told import Told
from cepheid.engines.spark import rule_told
from cepheid.engines.spark.packing import unpack
from cepheid.engines.spark.rule_rows import ALWAYS, CLASS, KEY, SOURCE, TIME, operation_of
from cepheid.engines.spark.rule_sessions import STREAM, RuleSessions
from cepheid.engines.spark.rule_work import RuleWork
from cepheid.engines.spark.segments import Segments
from cepheid.engines.spark.table_bucket import TableBucket
from cepheid.matching.values import load
from cepheid.sql_lang.asking import ARRIVAL

_ORDER = [
    (KEY, "ascending"),
    (ALWAYS, "descending"),
    *((n, "ascending") for n in (TIME, CLASS, SOURCE, ARRIVAL)),
]


@dataclass
class RuleBucket(TableBucket):
    time: ClassVar[str] = TIME
    setting: ClassVar[str] = "buckets="
    nothing: ClassVar[Any] = ()

    @classmethod
    def empty(cls, work: RuleWork, number: int) -> Self:
        return cls(work, number, Segments([STREAM]))

    @classmethod
    def started(cls, work: RuleWork, number: int) -> Self:
        """Tables that are no streams are there from the beginning."""
        bucket = cls.empty(work, number)
        if number in work.static:
            bucket._wait(bucket._numbered(pa.Table.from_batches(unpack(work.static[number]))))
        return bucket

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sessions = RuleSessions(self.work.prepared, self.segments)

    # What happens.

    def _judged(self, rows: pa.Table) -> pa.Table:
        """Rows that come behind the watermark are too late: they are counted, and not seen."""
        if self.watermark is None:
            return rows
        in_time = self.times(rows) >= self.watermark
        self.counts.too_late += int(np.count_nonzero(~in_time))
        return rows.filter(pa.array(in_time))

    def _certain(self, due: pa.Table | None, reached: int) -> list[Told]:
        told: list[Told] = []
        if due is not None:
            rows = due.sort_by(_ORDER).to_pylist()
            for key, own in groupby(rows, key=lambda row: row[KEY]):
                told += self._replayed(key, list(own))
        told += self._passed(reached)
        self.counts.matches = sum(one.kind == "fired" for one in told)
        return sorted(told, key=lambda one: one.time)

    def _replayed(self, key: str, rows: list[dict[str, Any]]) -> list[Told]:
        driver = self.sessions.take(key)
        column = self.work.prepared.time_column
        operations = [operation_of(row, place, column) for place, row in enumerate(rows)]
        dated = _dated(operations, driver.clock)
        ready = without_intervals(dated, driver.inside, self.work.prepared.clock.time)
        return _of(key, [one for o in ready for one in driver.apply(o)])

    def _passed(self, watermark: int) -> list[Told]:
        """Dates before the watermark have passed, of whatever key."""
        return [
            one for key, driver in self.sessions.due(watermark) for one in _of(key, driver.advance(watermark))
        ]

    def _next_moment(self) -> int | None:
        return self.sessions.next_date()

    def _parts(self, found: Iterable[Told]) -> Iterable[pa.Table]:
        return (pa.Table.from_batches([batch]) for batch in rule_told.batches_of(found))

    def _changed_segments(self) -> Any:
        return self.sessions.commit()


def _dated(operations: list[Operation], clock: int | None) -> list[Operation]:
    """What was always so comes first, at the time it is now, or that of `in_order`."""
    times = [o.time for o in operations if not o.always]
    start = min([BEGINNING, *times[:1]]) if clock is None else clock
    return [replace(o, time=start, always=False) if o.always else o for o in operations]


def _of(key: str, told: Iterable[Told]) -> list[Told]:
    value = load(key)
    return [replace(one, key=value) for one in told]
