"""Facts and events of DataFrames as rows that travel: one layout for all, values as text that keeps their type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.graph.clock import Clock
from cepheid.engines.local.arrow_values import batch_rows
from cepheid.engines.rules.keyed import key_of
from cepheid.engines.rules.keys import Keys
from cepheid.engines.rules.operations import EVENT, Operation
from cepheid.engines.rules.reading import OperationMaker, RuleColumns, is_log
from cepheid.engines.spark.failures import without_stack
from cepheid.errors import InputMistake
from cepheid.matching.values import dump, load
from cepheid.pattern.rule_model import RuleSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY, TIME, CLASS, SOURCE, ALWAYS = "_k", "_t", "_c", "_table", "_a"
SCHEMA = pa.schema(
    [
        (KEY, pa.string()),
        (TIME, pa.int64()),
        (CLASS, pa.int32()),  # facts before events
        (SOURCE, pa.int32()),  # tables in the order they were given
        (ALWAYS, pa.bool_()),
        ("_o", pa.string()),
        ("_y", pa.string()),
        ("_i", pa.string()),
        ("_f", pa.string()),
    ]
)
SPARK_SCHEMA = (
    "_k string, _t bigint, _c int, _table int, _a boolean, _o string, _y string, _i string, _f string"
)


@dataclass(frozen=True)
class Source:
    """One of the tables: its type, or None if a column has it."""

    number: int
    type: str | None
    events: bool


@dataclass(frozen=True)
class Encoding:
    """How rows become operations, in a task."""

    rules: RuleSet
    keys: Keys
    columns: RuleColumns
    time_unit: str

    def of(self, source: Source) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            maker = OperationMaker(self.rules, self.columns, Clock(self.time_unit))
            for batch in batches:
                with without_stack():
                    yield self._encoded(batch, source, maker)

        return encode

    def _encoded(self, batch: pa.RecordBatch, source: Source, maker: OperationMaker) -> pa.RecordBatch:
        rows = batch_rows(dict(zip(batch.schema.names, batch.columns, strict=True)))
        logged = is_log(batch.schema.names, self.columns)
        found = [row for values in rows for row in self._rows(values, source, logged, maker)]
        return pa.RecordBatch.from_pylist(found, schema=SCHEMA)

    def _rows(
        self, values: dict[str, Any], source: Source, logged: bool, maker: OperationMaker
    ) -> Iterator[dict[str, Any]]:
        """Of a type that nobody reads there is none."""
        named = dict(maker.unnamed)
        for operation in _operations(values, source, logged, maker):
            key = key_of(operation, self.keys)
            if key is None:
                continue
            if operation.kind != EVENT and (operation.identity is None or maker.unnamed != named):
                raise _no_identity(operation)
            yield _row(operation, key, source)


def _operations(
    values: dict[str, Any], source: Source, logged: bool, maker: OperationMaker
) -> Iterable[Operation]:
    if source.events:
        return (maker.event(values, source.type),)
    return (maker.change(values, source.type),) if logged else list(maker.fact(values, source.type))


def _no_identity(operation: Operation) -> InputMistake:
    """Tasks could only number rows each for itself."""
    return InputMistake(
        f"on Spark a fact has an identity, and this `{operation.type}` has none",
        code="no_identity",
        hint=f"declare its key: fact {operation.type}(name string key, ...), or give a column `id`",
    )


def _row(operation: Operation, key: Any, source: Source) -> dict[str, Any]:
    return {
        KEY: dump(key),
        TIME: operation.time,
        CLASS: int(operation.kind == EVENT),
        SOURCE: source.number,
        ALWAYS: operation.always,
        "_o": operation.kind,
        "_y": operation.type,
        "_i": dump(operation.identity),
        "_f": dump(dict(operation.fields)),
    }


def operation_of(row: dict[str, Any], place: int, time_column: str | None) -> Operation:
    stamped = time_column if row["_o"] == EVENT else None
    return Operation(
        row["_o"], row["_y"], row[TIME], load(row["_f"]), load(row["_i"]), place, row[ALWAYS], stamped
    )


def encoded(df: DataFrame, source: Source, encoding: Encoding) -> DataFrame:
    return df.mapInArrow(encoding.of(source), SPARK_SCHEMA)
