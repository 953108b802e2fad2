"""What was found, as rows of Spark: one table that holds every kind of finding, each in a column of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.local.events import plain
from cepheid.engines.local.frames import SCALARS, fit
from cepheid.engines.rows import match_columns, side_columns
from cepheid.engines.session import Found
from cepheid.engines.spark.inputs import Input
from cepheid.engines.spark.units import Unit
from cepheid.errors import InputMistake, PatternMistake
from cepheid.pattern.types import DECIMAL, NULL, UNKNOWN, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

KIND, STREAM = "kind", "stream"
# Payloads of everything found in a stream, as text (`evidence.py`): with the fields of events that the query reads,
# or with all of them.
EVIDENCE, WHOLE_EVIDENCE = "evidence", "whole_evidence"
# Where a sum or a quotient of decimals has no scale of its own.
_ANY_DECIMAL = pa.decimal128(38, 18)


@dataclass(frozen=True)
class Payload:
    """The columns of one kind of finding of one stream."""

    kind: str
    stream: str
    columns: tuple[tuple[str, pa.DataType], ...]

    def struct(self) -> pa.DataType:
        return pa.struct([pa.field(name, kind) for name, kind in self.columns])


@dataclass(frozen=True)
class Answer:
    """The table of all findings of a unit."""

    payloads: tuple[Payload, ...]

    @property
    def schema(self) -> pa.Schema:
        tags = [(KIND, pa.string()), (STREAM, pa.string())]
        return pa.schema(tags + [(f"_p{i}", p.struct()) for i, p in enumerate(self.payloads)])

    def spark_schema(self) -> StructType:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.schema)

    def batch(self, found: Iterable[Found]) -> pa.RecordBatch:
        """Findings as rows, in their order."""
        rows = list(found)
        places = {(p.kind, p.stream): i for i, p in enumerate(self.payloads)}
        bodies: list[list[Any]] = [[None] * len(rows) for _ in self.payloads]
        for at, item in enumerate(rows):
            number = places[item.kind, item.stream]
            bodies[number][at] = self._body(item.row, self.payloads[number])
        arrays = [
            pa.array([r.kind for r in rows], pa.string()),
            pa.array([r.stream for r in rows], pa.string()),
        ]
        arrays += [self._array(b, p) for b, p in zip(bodies, self.payloads, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def payload(self, kind: str, stream: str) -> Payload | None:
        return next((p for p in self.payloads if (p.kind, p.stream) == (kind, stream)), None)

    def matches(self, stream: str, columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
        """Matches of one stream that are columns already."""
        arrays = [pa.array([kind] * count, pa.string()) for kind in ("match", stream)]
        for payload in self.payloads:
            if (payload.kind, payload.stream) == ("match", stream):
                struct = payload.struct()
                arrays.append(
                    pa.StructArray.from_arrays([columns[f.name] for f in struct], fields=list(struct))
                )
            else:
                arrays.append(pa.nulls(count, payload.struct()))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def wants(self, item: Found) -> bool:
        return any((p.kind, p.stream) == (item.kind, item.stream) for p in self.payloads)

    def evidence_kind(self, stream: str) -> str | None:
        kinds = (p.kind for p in self.payloads if p.stream == stream)
        return next((kind for kind in kinds if kind in (EVIDENCE, WHOLE_EVIDENCE)), None)

    def _body(self, row: Mapping[str, Any], payload: Payload) -> dict[str, Any]:
        return {name: _fitted(plain(row.get(name)), kind) for name, kind in payload.columns}

    def _array(self, values: list[Any], payload: Payload) -> pa.Array:
        try:
            return pa.array(values, payload.struct())
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as problem:
            raise InputMistake(
                f"a {payload.kind} of `{payload.stream}` does not fit its columns: {problem}",
                code="mixed_types",
                hint="cast the value in `.emit`",
            ) from None

    def part(self, table: DataFrame, kind: str, stream: str) -> DataFrame:
        """The findings of one kind of one stream, with their own columns."""
        from pyspark.sql import functions as F

        number = next(i for i, p in enumerate(self.payloads) if (p.kind, p.stream) == (kind, stream))
        names = [name for name, _ in self.payloads[number].columns]
        rows = table.where((F.col(KIND) == kind) & (F.col(STREAM) == stream))
        return rows.select(*(F.col(f"_p{number}").getField(name).alias(name) for name in names))


def match_payloads(unit: Unit, given: Input, late: bool, kinds: Iterable[str]) -> list[Payload]:
    """The payloads of all streams of a unit: `match`, `timeout`, `pending`, as asked for."""
    found = []
    for planned in unit.program:
        for kind in kinds:
            if kind == "match":
                columns = match_columns(planned, late)
            elif kind == "pending" or (kind == "timeout" and planned.plan.pattern.timeouts):
                columns = side_columns(unit.program, planned.name, kind)
            else:
                continue
            typed = [(name, spark_type(t, name, given, planned.name)) for name, t in columns]
            found.append(Payload(kind, planned.name, tuple(typed)))
    return found


def spark_type(kind: Type, name: str, given: Input, stream: str) -> pa.DataType:
    """The Arrow type of a column of the answer: as locally, with a scale for decimals."""
    if kind == UNKNOWN:
        raise PatternMistake(
            f"the type of column `{name}` of `{stream}` is not known, and Spark needs it",
            code="unknown_type",
            hint="cast it in `.emit`, for example `name: string(...)`, or declare the events",
        )
    if kind.item is not None:
        return pa.list_(spark_type(kind.item, name, given, stream))
    if kind.name == "struct":
        return pa.struct([(n, spark_type(t, n, given, stream)) for n, t in kind.fields])
    if kind == DECIMAL:
        own = given.kind(name) if name in given.arrow.names else None
        return own if own is not None and pa.types.is_decimal(own) else _ANY_DECIMAL
    return pa.string() if kind == NULL else SCALARS[kind]


def _fitted(value: Any, target: pa.DataType) -> Any:
    value = fit(value, target)
    return _rounded(value, target)


def _rounded(value: Any, target: pa.DataType) -> Any:
    """Decimals to the scale of their column."""
    if value is None:
        return None
    if pa.types.is_decimal(target):
        return Decimal(value).quantize(Decimal(1).scaleb(-target.scale))
    if pa.types.is_list(target):
        return [_rounded(item, target.value_type) for item in value]
    if pa.types.is_struct(target):
        return {f.name: _rounded(value.get(f.name), f.type) for f in target}
    return value
