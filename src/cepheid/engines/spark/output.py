"""What was found, as a table of Spark that holds every kind of finding.

A row holds many findings of one kind and stream, as an array for each of their columns: Python hands Spark a few rows
and not many, and Spark takes them apart where they are wanted (`Answer.part`). The arrays of one type lie together in
one column of the table, so that it is as wide for a hundred streams as for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheid.engines.local.events import plain
from cepheid.engines.local.frames import SCALARS, fit
from cepheid.engines.program import PlannedStream
from cepheid.engines.rows import match_columns, side_columns
from cepheid.engines.session import Found
from cepheid.engines.spark.inputs import Input
from cepheid.engines.spark.units import Unit
from cepheid.errors import InputMistake, PatternMistake
from cepheid.pattern.expr import Key
from cepheid.pattern.types import DECIMAL, INT, NULL, UNKNOWN, Type
from cepheid.plan.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

KIND, STREAM, COUNT = "kind", "stream", "count"
_AT_ONCE = 1 << 16  # findings of one row
_PLAIN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_timestamp)  # numpy has them as they are
# Payloads of everything found in a stream, as text (`evidence.py`): with the fields of events that the query reads,
# or with all of them.
EVIDENCE, WHOLE_EVIDENCE = "evidence", "whole_evidence"
# Where a sum or a quotient of decimals has no scale of its own.
_ANY_DECIMAL = pa.decimal128(38, 18)
_DIGITS = Context(prec=100_000)  # what has too many of them for its column is refused by Arrow
_WHOLE_NUMBER = pa.decimal128(38, 0)  # of trends there are soon more than 64 bits can count


@dataclass(frozen=True)
class Payload:
    """The columns of one kind of finding of one stream."""

    kind: str
    stream: str
    columns: tuple[tuple[str, pa.DataType], ...]


@dataclass(frozen=True)
class Answer:
    """The table of all findings of a unit."""

    payloads: tuple[Payload, ...]

    @cached_property
    def types(self) -> tuple[pa.DataType, ...]:
        """Of all columns, each once."""
        return tuple(dict.fromkeys(kind for p in self.payloads for _, kind in p.columns))

    @cached_property
    def schema(self) -> pa.Schema:
        tags = [(KIND, pa.string()), (STREAM, pa.string()), (COUNT, pa.int64())]
        return pa.schema(tags + [(_column(i), pa.list_(pa.list_(t))) for i, t in enumerate(self.types)])

    def places(self, payload: Payload) -> list[tuple[str, int]]:
        """Where the columns of a payload are: in which column of the table, and which of its arrays each is."""
        taken: Counter[str] = Counter()
        found = []
        for _, kind in payload.columns:
            name = _column(self.types.index(kind))
            found.append((name, taken[name]))
            taken[name] += 1
        return found

    def arrays(self, payload: Payload) -> list[Column]:
        """The columns of a payload, as arrays; null in rows of a payload that has fewer."""
        from pyspark.sql import functions as F

        return [F.get(F.col(name), F.lit(number)) for name, number in self.places(payload)]

    def spark_schema(self) -> StructType:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.schema)

    def batches(self, found: Iterable[Found]) -> list[pa.RecordBatch]:
        """Findings as rows, each kind of each stream in their order."""
        rows: dict[int, list[Found]] = {}
        places = {(p.kind, p.stream): i for i, p in enumerate(self.payloads)}
        for item in found:
            rows.setdefault(places[item.kind, item.stream], []).append(item)
        return [part for number, own in rows.items() for part in self._of_payload(number, own)]

    def _of_payload(self, number: int, found: list[Found]) -> list[pa.RecordBatch]:
        payload = self.payloads[number]
        columns = {
            name: self._array([_fitted(plain(item.row.get(name)), kind) for item in found], kind, payload)
            for name, kind in payload.columns
        }
        return self._rows(number, columns, len(found))

    def payload(self, kind: str, stream: str) -> Payload | None:
        return next((p for p in self.payloads if (p.kind, p.stream) == (kind, stream)), None)

    def matches(self, stream: str, columns: Mapping[str, pa.Array], count: int) -> list[pa.RecordBatch]:
        """Matches of one stream that are columns already."""
        number = next(i for i, p in enumerate(self.payloads) if (p.kind, p.stream) == ("match", stream))
        return self._rows(number, columns, count)

    def _rows(self, number: int, columns: Mapping[str, pa.Array], count: int) -> list[pa.RecordBatch]:
        cuts = [*range(0, count, _AT_ONCE), count]
        return [
            self._row(number, {n: c.slice(first, end - first) for n, c in columns.items()}, end - first)
            for first, end in pairwise(cuts)
        ]

    def _row(self, number: int, columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
        own = self.payloads[number]
        arrays = [pa.array([value]) for value in (own.kind, own.stream, count)]
        for kind in self.types:
            mine = [columns[name].cast(kind) for name, own_kind in own.columns if own_kind == kind]
            arrays.append(_together(mine, kind, count))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def findings(self, table: pa.Table) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The findings in rows of the table, one by one: kind, stream and values."""
        for row in table.to_pylist():
            payload = self.payload(row[KIND], row[STREAM])
            assert payload is not None
            names = [name for name, _ in payload.columns]
            columns = [row[name][number] for name, number in self.places(payload)]
            for values in zip(*columns, strict=True):
                yield payload.kind, payload.stream, dict(zip(names, values, strict=True))

    def wants(self, item: Found) -> bool:
        return any((p.kind, p.stream) == (item.kind, item.stream) for p in self.payloads)

    def evidence_kind(self, stream: str) -> str | None:
        kinds = (p.kind for p in self.payloads if p.stream == stream)
        return next((kind for kind in kinds if kind in (EVIDENCE, WHOLE_EVIDENCE)), None)

    def _array(self, values: list[Any], kind: pa.DataType, payload: Payload) -> pa.Array:
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as problem:
            raise InputMistake(
                f"a {payload.kind} of `{payload.stream}` does not fit its columns: {problem}",
                code="mixed_types",
                hint="cast the value in `.emit`",
            ) from None

    def part(self, table: DataFrame, kind: str, stream: str) -> DataFrame:
        """The findings of one kind of one stream, with their own columns."""
        from pyspark.sql import functions as F

        payload = self.payload(kind, stream)
        assert payload is not None
        rows = table.where((F.col(KIND) == kind) & (F.col(STREAM) == stream))
        return each_finding(rows, self.arrays(payload), [name for name, _ in payload.columns])


def each_finding(
    rows: DataFrame, arrays: Sequence[Column], names: Sequence[str], *, beside: Sequence[str] = ()
) -> DataFrame:
    """One row for each finding, out of arrays of them. `beside`: columns that stay."""
    from pyspark.sql import functions as F

    each = F.explode(F.arrays_zip(*(a.alias(f"c{i}") for i, a in enumerate(arrays)))).alias("_found")
    found = rows.select(*beside, each)
    columns = [F.col("_found").getField(f"c{i}").alias(name) for i, name in enumerate(names)]
    return found.select(*beside, *columns)


def to_row(row: pa.RecordBatch) -> dict[str, Any]:
    """One row as Spark's Python worker takes it: arrays that need no look at each of their values where they can."""
    values = {name: row.column(name)[0].as_py() for name in (KIND, STREAM, COUNT)}
    for name in row.schema.names[len(values) :]:
        values[name] = tuple(_values(array.values) for array in row.column(name).flatten())
    return values


def _column(number: int) -> str:
    return f"_t{number}"


def _together(columns: list[pa.Array], kind: pa.DataType, count: int) -> pa.Array:
    """Some columns as one value: an array of arrays."""
    values = pa.concat_arrays(columns) if columns else pa.array([], kind)
    ends = np.arange(len(columns) + 1, dtype=np.int32)
    inner = pa.ListArray.from_arrays(pa.array(ends * np.int32(count)), values)
    return pa.ListArray.from_arrays(pa.array([0, len(columns)], pa.int32()), inner)


def _values(array: pa.Array) -> Any:
    """Not a list: Spark would look for rows in it."""
    if array.null_count == 0 and any(is_plain(array.type) for is_plain in _PLAIN):
        return array.to_numpy()
    return tuple(array.to_pylist())


def match_payloads(unit: Unit, given: Input, late: bool, kinds: Iterable[str]) -> list[Payload]:
    """The payloads of all streams of a unit: `match`, `timeout`, `pending`, `forecast`, `outcome`, as asked for."""
    found = []
    for planned in unit.program:
        for kind in kinds:
            if kind == "match":
                columns = match_columns(planned, late)
            elif _gives(planned.plan, kind):
                columns = side_columns(unit.program, planned.name, kind)
            else:
                continue
            huge = whole_aggregates(planned) if kind == "match" else frozenset()
            typed = [
                (name, _WHOLE_NUMBER if name in huge else spark_type(t, name, given, planned.name))
                for name, t in columns
            ]
            found.append(Payload(kind, planned.name, tuple(typed)))
    return found


def whole_aggregates(planned: PlannedStream) -> frozenset[str]:
    """Columns that are counts of trends or sums of whole numbers over them, as they are."""
    trends, outputs = planned.plan.trends, planned.stream.outputs
    if trends is None:
        return frozenset()
    adding = {c.name for c in trends.columns if c.function not in ("min_trends", "max_trends")}
    shown = {n: Key(n) for n, _ in planned.columns} if outputs is None else {o.name: o.expr for o in outputs}
    types = dict(planned.columns)
    return frozenset(
        n for n, e in shown.items() if isinstance(e, Key) and e.name in adding and types[n] == INT
    )


def _gives(plan: Plan, kind: str) -> bool:
    if kind in ("forecast", "outcome"):
        return plan.forecast is not None
    return kind == "pending" or (kind == "timeout" and plan.pattern.timeouts)


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
        return Decimal(value).quantize(Decimal(1).scaleb(-target.scale), context=_DIGITS)
    if pa.types.is_list(target):
        return [_rounded(item, target.value_type) for item in value]
    if pa.types.is_struct(target):
        return {f.name: _rounded(value.get(f.name), f.type) for f in target}
    return value
