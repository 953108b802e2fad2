"""What rules told on Spark, as DataFrames with columns: of a stream, of derived facts and events, of firings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.local.frames import arrow_type, fit
from cepheid.engines.rules.told import firing_text
from cepheid.engines.spark.rule_told import told_from
from cepheid.errors import InputMistake, nearest
from cepheid.matching.values import dump, load
from cepheid.pattern.types import DECIMAL, INT, NULL, UNKNOWN, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIRINGS = pa.schema(
    [
        ("firing", pa.int64()),
        ("rule", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
        ("explanation", pa.string()),
    ]
)
Made = Mapping[tuple[str, str], Mapping[str, Type]]


@dataclass(frozen=True)
class SparkRuleResults:
    """All that happens is in `told`, a row for each: the others are views of it.

    Over a stream each view that is started is a query of its own, with a state of its own. To write several from one
    query, start `told` with `foreachBatch` and take the views of each batch: `results.of(batch).emitted("Late")`.
    """

    told: DataFrame
    made: Made  # what rules make, with the types of its fields
    ids: Mapping[tuple[str, str], Type]  # the types of identities, where they are known

    def of(self, told: DataFrame) -> SparkRuleResults:
        """The same views of other rows, as of a micro-batch."""
        return replace(self, told=told)

    @property
    def firings(self) -> DataFrame:
        """A row for each firing: its number (each key counts for itself), rule, time, and what it matched in words."""
        return self._view("kind = 'fired'", _fired, _FIRINGS)

    def emitted(self, stream: str) -> DataFrame:
        """The rows of a stream; without fields of such names they have the time and the rule, too."""
        fields = self._fields("emit", stream)
        head = {"time": pa.timestamp("us", "UTC"), "rule": pa.string()}
        return self._view(f"kind = 'emitted' AND name = {_text(stream)}", _values, _schema(head, fields))

    def facts(self, type: str) -> DataFrame:
        """What rules did to facts of a type: `op` is asserted, modified or retracted."""
        return self._derived("fact", type)

    def events(self, type: str) -> DataFrame:
        return self._derived("event", type)

    def _derived(self, kind: str, type: str) -> DataFrame:
        fields = self._fields(kind, type)
        head = {
            "op": pa.string(),
            "id": _arrow(self._identity(kind, type)),
            "time": pa.timestamp("us", "UTC"),
            "rule": pa.string(),
        }
        of_kind = "kind IN ('asserted', 'modified', 'retracted')"
        which = f"{of_kind} AND event = {str(kind == 'event').lower()} AND name = {_text(type)}"
        return self._view(which, _values, _schema(head, fields))

    def _identity(self, kind: str, type: str) -> Type:
        """Events that rules assert are numbered, unless their type has a key."""
        known = self.ids.get((kind, type), UNKNOWN)
        return INT if known == UNKNOWN and kind == "event" else known

    def _fields(self, kind: str, name: str) -> Mapping[str, Type]:
        found = self.made.get((kind, name))
        if found is not None:
            return found
        known = [n for k, n in self.made if k == kind]
        raise InputMistake(
            f"the rules make no `{name}`",
            code="unknown_stream",
            hint=nearest(name, known) or ("they make " + ", ".join(known) if known else None),
        )

    def _view(
        self, which: str, make: Callable[[dict[str, Any]], dict[str, Any]], schema: pa.Schema
    ) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                rows = [_fitted(make(row), schema) for row in batch.to_pylist()]
                yield pa.RecordBatch.from_pylist(rows, schema=schema)

        return self.told.where(which).mapInArrow(read, from_arrow_schema(schema))


def _text(name: str) -> str:
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


def _values(row: dict[str, Any]) -> dict[str, Any]:
    head = {"op": row["kind"], "id": load(row["id"]), "time": row["time"], "rule": row["rule"]}
    return {**head, **load(row["fields"])}


def _fired(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "explanation": firing_text(told_from(row))}


def _schema(head: Mapping[str, pa.DataType], fields: Mapping[str, Type]) -> pa.Schema:
    return pa.schema(list({**head, **{name: _arrow(kind) for name, kind in fields.items()}}.items()))


def _arrow(kind: Type) -> pa.DataType:
    """What is not known beforehand is text."""
    if kind == DECIMAL:
        return pa.decimal128(38, 18)
    try:
        return pa.string() if kind in (UNKNOWN, NULL) else arrow_type(kind)
    except KeyError:  # something unknown is inside
        return pa.string()


def _fitted(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    return {f.name: _fit(row.get(f.name), f.type) for f in schema}


def _fit(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return value if value is None or isinstance(value, str) else dump(value)
    return fit(value, kind)
