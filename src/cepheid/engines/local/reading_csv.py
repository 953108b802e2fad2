"""Events from CSV: the types of its columns are found by reading all of it once."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from cepheid.engines.local.arrow_types import as_declared, refuse_twins, type_from_arrow
from cepheid.engines.local.arrow_values import python_values
from cepheid.engines.local.events import Columns, check_columns
from cepheid.engines.local.open_files import bytes_of, explained, lines_in, lossy
from cepheid.engines.local.reading import BATCH, Place, Row
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
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Record(NamedTuple):
    """The values of a CSV record and the line it ends on, or what is wrong with it."""

    line: int
    values: list[str]
    mistake: InputMistake | None = None


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
        with bytes_of(self.path) as (lines, raw):
            for chunk in self._chunks(lines):
                typed = iter(self._typed([record.values for record in chunk if record.mistake is None]))
                for record in chunk:
                    values = next(typed) if record.mistake is None else {}
                    place = Place(str(self.path), record.line)
                    yield Row(place, values, ",".join(record.values), record.mistake), raw.tell()

    def _typed(self, records: list[list[str]]) -> Iterator[dict[str, Any]]:
        lists = [self._values(at, [record[at] for record in records]) for at in range(len(self._names))]
        return (dict(zip(self._names, values, strict=True)) for values in zip(*lists, strict=True))

    def _values(self, at: int, texts: list[str]) -> list[Any]:
        name = self._names[at]
        if name in self._columns.times():
            return [_csv_time(text) for text in texts]
        return python_values(name, _csv_cast(pa.array(texts, pa.string()), self._types[at]))

    @cached_property
    def _types(self) -> list[pa.DataType]:
        # Times and types are read as what they are, so that one bad value is one bad row.
        settled = {*self._columns.times(), self._columns.type}
        guesses = {at: _Guess() for at, name in enumerate(self._names) if name not in settled}
        with explained(self.path), bytes_of(self.path) as (lines, _):
            for chunk in self._chunks(lines):
                records = [record.values for record in chunk if record.mistake is None]
                for at, guess in guesses.items():
                    guess.look_at(pa.array([record[at] for record in records], pa.string()))
        return [guesses[at].type() if at in guesses else pa.string() for at in range(len(self._names))]

    def _header(self) -> list[str]:
        with explained(self.path), bytes_of(self.path) as (lines, _):
            first = next(_csv_records(lines), None)
        if first is None or first.mistake is not None:
            reason = "is empty" if first is None or first.mistake is None else f"is {first.mistake.message}"
            raise InputMistake(f"{self.path} {reason}: a CSV file needs a header line", code="bad_file")
        names = [name.strip() for name in first.values]
        refuse_twins(names)
        return names

    def _chunks(self, lines: Iterable[bytes]) -> Iterator[list[Record]]:
        records = _csv_records(lines)
        next(records, None)  # the header
        while chunk := [self._counted(record) for record in islice(records, BATCH)]:
            yield chunk

    def _counted(self, record: Record) -> Record:
        if record.mistake is not None or len(record.values) == len(self._names):
            return record
        counts = f"{len(record.values)} values for {len(self._names)} columns"
        return record._replace(mistake=InputMistake(counts))


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


def _csv_records(lines: Iterable[bytes]) -> Iterator[Record]:
    """Records in the order of the file. A quoted value may hold line ends."""
    broken: list[Record] = []
    reader = csv.reader(_csv_lines(lines, broken))
    while True:
        try:
            values = next(reader, None)
            record = None if values is None else Record(reader.line_num, values)
        except csv.Error as failure:
            record = Record(reader.line_num, [], InputMistake(f"not CSV ({failure})"))
        yield from broken
        broken.clear()
        if record is None:
            return
        if record.values or record.mistake:
            yield record


def _csv_lines(lines: Iterable[bytes], broken: list[Record]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            broken.append(Record(number, [lossy(line)], InputMistake("not UTF-8 text")))
            yield "\n"  # so that the lines after it keep their numbers


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


def _csv_time(text: str) -> str | int | Decimal | None:
    """A number as a number, so that it is read as an epoch; everything else as text."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else Decimal(text)
    return text or None
