"""Rules over bounded DataFrames: rows shuffled by key and sorted by Spark, replayed key by key in its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.rules.operations import BEGINNING, Operation, without_intervals
from cepheid.engines.rules.prepared import Prepared
from cepheid.engines.rules.told import Told
from cepheid.engines.spark import rule_told
from cepheid.engines.spark.failures import without_stack
from cepheid.engines.spark.rule_rows import ALWAYS, CLASS, KEY, SOURCE, TIME, operation_of
from cepheid.matching.values import load
from cepheid.sql_lang.asking import ARRIVAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def told_in(rows: DataFrame, prepared: Prepared, until: int | None) -> DataFrame:
    """All that happens over encoded rows."""
    from pyspark.sql import functions as F

    numbered = rows.withColumn(ARRIVAL, F.monotonically_increasing_id())
    order = [F.col(KEY), F.col(ALWAYS).desc(), *(F.col(c) for c in (TIME, CLASS, SOURCE, ARRIVAL))]
    in_order = numbered.repartition(F.col(KEY)).sortWithinPartitions(*order)
    return in_order.mapInArrow(replaying(prepared, until), rule_told.SPARK_SCHEMA)


def replaying(
    prepared: Prepared, until: int | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        with without_stack():
            yield from rule_told.batches_of(
                one
                for key, own in groupby(rows, key=lambda row: row[KEY])
                for one in _replayed(prepared, load(key), own, until)
            )

    return run


def _replayed(
    prepared: Prepared, key: Any, rows: Iterable[dict[str, Any]], until: int | None
) -> Iterator[Told]:
    """One key, operation by operation: nothing of it is held but what its rules need."""
    driver = prepared.driver()
    column = prepared.time_column
    operations = _dated(operation_of(row, place, column) for place, row in enumerate(rows))
    for operation in without_intervals(operations, driver.inside, prepared.clock.time):
        yield from (replace(one, key=key) for one in driver.apply(operation))
    last = driver.finish() if until is None else driver.advance(until)
    yield from (replace(one, key=key) for one in last)


def _dated(operations: Iterator[Operation]) -> Iterator[Operation]:
    """What was always so comes first, and has the time of `in_order`."""
    always: list[Operation] = []
    for operation in operations:
        if operation.always:
            always.append(operation)
            continue
        start = min(BEGINNING, operation.time)
        yield from (replace(o, time=start, always=False) for o in always)
        yield from chain([operation], operations)
        return
    yield from (replace(o, time=BEGINNING, always=False) for o in always)
