"""One bucket of partitions under MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa

from cepheid.engines.spark.open_partitions import STREAM, OpenPartitions
from cepheid.engines.spark.partition_rows import TIME, in_partitions
from cepheid.engines.spark.row_work import RowWork
from cepheid.engines.spark.segments import Segments
from cepheid.engines.spark.table_bucket import TableBucket
from cepheid.engines.sql.matched_table import RowMatching
from cepheid.errors import InputMistake


@dataclass
class RowBucket(TableBucket):
    time: ClassVar[str] = TIME
    setting: ClassVar[str] = "spark.sql.shuffle.partitions="

    @classmethod
    def started(cls, work: RowWork, number: int) -> Self:
        return cls(work, number, Segments([STREAM]))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.partitions = OpenPartitions(RowMatching(self.work.query), self.segments)

    def _judged(self, rows: pa.Table) -> pa.Table:
        _refuse_nulls(rows)
        if self.watermark is None:
            return rows
        in_time = self.times(rows) >= self.watermark
        self.counts.too_late += int(np.count_nonzero(~in_time))
        return rows.filter(pa.array(in_time))

    def _certain(self, due: pa.Table | None, reached: int) -> pa.Table | None:
        keyed = None if due is None else in_partitions(due, self.work.query)
        found = self.partitions.on_rows(keyed, reached)
        if found is None:
            return None
        answer, self.counts.matches = found
        return answer.cast(self.work.schema)

    def _next_moment(self) -> int | None:
        return self.partitions.next_look()


def _refuse_nulls(rows: pa.Table) -> None:
    if rows[TIME].null_count:
        raise InputMistake(
            "a row of the stream has no time: what ORDER BY begins with is null",
            code="bad_time",
            hint="leave such rows out with WHERE before MATCH_RECOGNIZE",
        )
