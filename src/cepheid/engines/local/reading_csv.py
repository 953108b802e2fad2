"""Events from CSV: the types of its columns are found by reading all of it once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.engines.local.arrow_types import as_declared, refuse_twins, type_from_arrow
from cepheid.engines.local.arrow_values import python_values
from cepheid.engines.local.csv_chunks import Chunk, Record, chunks, first_record
from cepheid.engines.local.csv_times import csv_time, csv_times
from cepheid.engines.local.events import Columns, check_columns
from cepheid.engines.local.open_files import bytes_of, explained, lines_in
from cepheid.engines.local.reading import ColumnRows, DictRows, Place, Row
from cepheid.errors import InputMistake
from cepheid.pattern.types import Type, struct_of

# What a column may be, the first that holds all its values. Text is what remains.
_CSV_TYPES = (
    pa.int64(),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
)
_CSV_NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
_LONG_INTEGER = r"^[+-]?\d{16,}$"  # as a float it would lose digits: an id, not a measurement


class CsvReader:
    """A CSV file with a header. It is read twice: once for the types of its columns, once for the events."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self._columns = columns
        self._names = self._header()
        check_columns(self._names, columns)

    def struct(self) -> Type:
        found = {name: type_from_arrow(kind) for name, kind in zip(self._names, self._types, strict=True)}
        return as_declared(struct_of(found), self._columns)

    def count(self) -> int:
        with explained(self.path), bytes_of(self.path) as (file, _):
            return lines_in(file)

    def rows(self) -> Iterator[tuple[Row, int]]:
        for chunk, done in self._chunks():
            lists = [self._values(at, texts) for at, texts in enumerate(chunk.texts)]
            texts = zip(*(column.to_pylist() for column in chunk.texts), strict=True)
            good = zip(chunk.lines, texts, zip(*lists, strict=True), strict=True)
            broken = dict(chunk.broken)
            for at in range(len(chunk.lines) + len(broken)):
                if at in broken:
                    yield self._broken(broken[at]), done
                else:
                    yield self._row(*next(good)), done

    def batches(self) -> Iterator[tuple[DictRows | ColumnRows, int]]:
        for chunk, done in self._chunks():
            yield self._column_rows(chunk), done

    def _column_rows(self, chunk: Chunk) -> ColumnRows:
        def row(at: int) -> Row:
            one = [column.slice(at, 1) for column in chunk.texts]
            values = [self._values(i, text)[0] for i, text in enumerate(one)]
            return self._row(chunk.lines[at], [text[0].as_py() for text in one], values)

        fields = {
            name: _csv_cast(texts, kind)
            for name, texts, kind in zip(self._names, chunk.texts, self._types, strict=True)
        }
        times = chunk.texts[self._names.index(self._columns.time)]
        broken = [(at, self._broken(record)) for at, record in chunk.broken]
        return ColumnRows(fields, csv_times(times, self._columns.time_unit), row, broken)

    def _row(self, line: int, texts: Sequence[str], values: Sequence[Any]) -> Row:
        return Row(Place(str(self.path), line), dict(zip(self._names, values, strict=True)), ",".join(texts))

    def _broken(self, record: Record) -> Row:
        return Row(Place(str(self.path), record.line), {}, ",".join(record.values), record.mistake)

    def _values(self, at: int, texts: pa.Array) -> list[Any]:
        name = self._names[at]
        if name in self._columns.times():
            return [csv_time(text) for text in texts.to_pylist()]
        return python_values(name, _csv_cast(texts, self._types[at]))

    @cached_property
    def _types(self) -> list[pa.DataType]:
        # Times and types are read as what they are, so that one bad value is one bad row.
        settled = {*self._columns.times(), self._columns.type}
        guesses = {at: _Guess() for at, name in enumerate(self._names) if name not in settled}
        with explained(self.path):
            for chunk, _ in self._chunks():
                for at, guess in guesses.items():
                    guess.look_at(chunk.texts[at])
        return [guesses[at].type() if at in guesses else pa.string() for at in range(len(self._names))]

    def _header(self) -> list[str]:
        with explained(self.path), bytes_of(self.path) as (lines, _):
            first = first_record(lines)
        if first is None or first.mistake is not None:
            reason = "is empty" if first is None or first.mistake is None else f"is {first.mistake.message}"
            raise InputMistake(f"{self.path} {reason}: a CSV file needs a header line", code="bad_file")
        names = [name.strip() for name in first.values]
        refuse_twins(names)
        return names

    def _chunks(self) -> Iterator[tuple[Chunk, int]]:
        """Each with the number of bytes read so far."""
        with bytes_of(self.path) as (file, raw):
            for chunk in chunks(file, len(self._names)):
                yield chunk, raw.tell()


class _Guess:
    """The types that are still possible for a column."""

    def __init__(self) -> None:
        self._possible = list(_CSV_TYPES)
        self._has_text = self._has_values = False

    def look_at(self, texts: pa.Array) -> None:
        import pyarrow.compute as pc

        self._has_text = self._has_text or pc.any(pc.not_equal(texts, "")).as_py()
        values = _csv_nulls(texts)
        self._has_values = self._has_values or values.null_count < len(values)
        self._possible = [kind for kind in self._possible if _can_cast(values, kind)]
        if (
            pa.int64() not in self._possible
            and pc.any(pc.match_substring_regex(texts, _LONG_INTEGER)).as_py()
        ):
            self._possible = [kind for kind in self._possible if kind != pa.float64()]

    def type(self) -> pa.DataType:
        if not self._has_values:
            return pa.string() if self._has_text else pa.null()
        return self._possible[0] if self._possible else pa.string()


def _csv_nulls(texts: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(texts, pa.array(_CSV_NULLS)), pa.scalar(None, pa.string()), texts)


def _csv_cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    if pa.types.is_null(kind):
        return pa.nulls(len(texts))
    if pa.types.is_string(kind):  # in text only nothing is null: `NA` may be a country
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return _csv_nulls(texts).cast(kind)


def _can_cast(values: pa.Array, kind: pa.DataType) -> bool:
    try:
        values.cast(kind)
    except pa.ArrowException:
        return False
    return True
