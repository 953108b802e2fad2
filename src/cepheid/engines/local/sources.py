"""Where events come from: frames, dicts, files. Each gives batches of events; files are never read whole."""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, reduce
from glob import glob
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engines.local.events import Columns, EventMaker, SchemaScan, check_columns, plain
from cepheid.engines.local.times import from_microseconds
from cepheid.errors import InputMistake
from cepheid.pattern.event import Event
from cepheid.pattern.types import (
    BOOL,
    BYTES,
    DATE,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Schema,
    Type,
    common,
    list_of,
    struct_of,
)

BATCH = 8192
EXAMPLES = 20

BadRowsPolicy = Literal["fail", "skip", "dead_letter"]
Kind = Literal["pandas", "polars", "arrow", "duckdb", "dicts", "path"]


class BadRow(TypedDict):
    """A row that is no event, where it stood, and why."""

    source: str
    line: int
    text: str
    reason: str


@dataclass
class BadRows:
    """What becomes of rows that are no events: every one is an error, or counted and kept to be shown."""

    policy: BadRowsPolicy = "fail"
    on_bad: Callable[[BadRow], None] | None = None
    count: int = 0
    examples: list[BadRow] = field(default_factory=list)  # the first few
    letters: list[BadRow] = field(default_factory=list)  # all of them: dead_letter without a callback

    def report(self, place: Place, text: str, mistake: InputMistake) -> None:
        if self.policy == "fail":
            raise _failure(place, text, mistake)
        self.count += 1
        row = BadRow(source=place.source, line=place.line, text=text, reason=mistake.message)
        if len(self.examples) < EXAMPLES:
            self.examples.append(row)
        if self.policy == "dead_letter":
            (self.on_bad or self.letters.append)(row)


@dataclass
class Progress:
    """How far reading has come. `total` None: nobody knows, as with standard input."""

    done: int = 0
    total: int | None = None
    unit: Literal["bytes", "rows"] = "rows"

    @property
    def fraction(self) -> float | None:
        return None if self.total is None else min(1.0, self.done / self.total) if self.total else 1.0


class Place(NamedTuple):
    """Where a row stands. Files have names and lines, frames have rows; both count from 1."""

    source: str
    line: int
    unit: Literal["line", "row"] = "line"

    def __str__(self) -> str:
        if not self.source:
            return f"row {self.line} (counting from 1)"
        return f"{self.source}, {self.unit} {self.line}"


class Row(NamedTuple):
    """A row before it is an event, or what is wrong with it. `text`: as it stood in the file."""

    place: Place
    values: Mapping[str, Any]
    text: str | None = None
    mistake: InputMistake | None = None


class Reader(Protocol):
    """One way to get rows. `typed`: is there a type column? None: the first row says it."""

    typed: bool | None

    def schema(self) -> Schema | None: ...

    def rows(self, progress: Progress) -> Iterator[Row]: ...


class Source:
    """Events from somewhere, in batches, with what is known of their types."""

    def __init__(
        self,
        kind: Kind,
        reader: Reader,
        columns: Columns,
        bad: BadRows,
        progress: Progress,
        batch_size: int = BATCH,
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.bad = bad
        self.progress = progress
        self._reader = reader
        self._batch_size = batch_size

    @cached_property
    def schema(self) -> Schema | None:
        """None: unknown before it is read (`scan_schema` of `events.py` finds it by reading)."""
        return self._reader.schema()

    def batches(self) -> Iterator[list[Event]]:
        """Lists of events in arrival order, each of at most the batch size."""
        maker = EventMaker(self.columns, self._reader.typed)
        batch: list[Event] = []
        for row in self._reader.rows(self.progress):
            if (event := self._event(row, maker)) is not None:
                batch.append(event)
            if len(batch) >= self._batch_size:
                yield batch
                batch = []
        if batch:
            yield batch

    def _event(self, row: Row, maker: EventMaker) -> Event | None:
        try:
            if row.mistake is not None:
                raise row.mistake
            return maker.make(row.values)
        except InputMistake as mistake:
            text = str(dict(row.values)) if row.text is None else row.text
            self.bad.report(row.place, text, mistake)
            return None


def open_source(
    events: Any,
    columns: Columns | None = None,
    *,
    bad_rows: str = "fail",
    on_bad: Callable[[BadRow], None] | None = None,
    batch_size: int = BATCH,
) -> Source:
    """A source over anything events may come in: a frame, dicts, a path, `-`, an open file."""
    columns = columns or Columns()
    kind, reader, progress = _reader_of(events, columns)
    return Source(kind, reader, columns, BadRows(_policy(bad_rows), on_bad), progress, batch_size)


def _reader_of(events: Any, columns: Columns) -> tuple[Kind, Reader, Progress]:
    if isinstance(events, (str, PathLike)):
        return _path_reader(str(events), columns)
    if (kind := frame_kind(events)) is not None:
        return kind, *_frame_reader(events, kind, columns)
    if hasattr(events, "read") and hasattr(events, "readline"):
        return "path", LinesReader(events, str(getattr(events, "name", "<file>"))), Progress(unit="bytes")
    if isinstance(events, Iterable) and not isinstance(events, (Mapping, bytes, bytearray)):
        return "dicts", DictReader(events, columns), Progress(total=_length(events))
    raise InputMistake(
        f"events cannot be read from a {type(events).__name__}",
        code="bad_input",
        hint="give a pandas, polars or Arrow table, a DuckDB relation, a list of dicts, or a path",
    )


def frame_kind(events: Any) -> Kind | None:
    """The kind of a frame by the module of its class: no library is imported to find out."""
    home, name = type(events).__module__.partition(".")[0].lstrip("_"), type(events).__name__
    if home == "pandas" and name == "DataFrame":
        return "pandas"
    if home == "polars" and name in ("DataFrame", "LazyFrame"):
        return "polars"
    if name == "DuckDBPyRelation":
        return "duckdb"
    return "arrow" if hasattr(events, "__arrow_c_stream__") or isinstance(events, pa.RecordBatch) else None


# --- dicts --------------------------------------------------------------------------------------------------


class DictReader:
    """Dicts: a list can be looked at before it is read, any other iterable is read once."""

    def __init__(self, rows: Iterable[Any], columns: Columns) -> None:
        self._rows = rows
        self._columns = columns
        self.typed = self._has_types() if isinstance(rows, (list, tuple)) else None

    def schema(self) -> Schema | None:
        if not isinstance(self._rows, (list, tuple)):
            return None
        scan = SchemaScan(self._columns)
        for row in self._rows:
            if isinstance(row, Mapping) and (kind := self._kind(row)) is not None:
                scan.add(kind, {str(name): plain(value) for name, value in row.items()})
        return scan.schema()

    def rows(self, progress: Progress) -> Iterator[Row]:
        for number, row in enumerate(self._rows, 1):
            progress.done = number
            place = Place("", number, "row")
            if isinstance(row, Mapping):
                yield Row(place, row)
            else:
                yield Row(
                    place, {}, str(row), InputMistake(f"a {type(row).__name__}, not a dict", code="bad_row")
                )

    def _has_types(self) -> bool | None:
        return any(isinstance(row, Mapping) and self._columns.type in row for row in self._rows) or None

    def _kind(self, row: Mapping[str, Any]) -> str | None:
        value = plain(row.get(self._columns.type, self._columns.plain_type))
        return None if value is None else str(value)


# --- frames and Parquet: Arrow batches ----------------------------------------------------------------------

# A column is an Arrow array, or plain Python values where Arrow has no type for what a pandas column holds.
Column = Any


class TableReader:
    """Batches of columns. `open` starts anew each time it is called, where the frame allows it."""

    def __init__(
        self, open: Callable[[], Iterator[Mapping[str, Column]]], struct: Type, columns: Columns
    ) -> None:
        check_columns([name for name, _ in struct.fields], columns)
        self._open = open
        self._struct = _as_declared(struct, columns)
        self.typed: bool | None = struct.field(columns.type) is not None

    def schema(self) -> Schema:
        return Schema(common_fields=self._struct)

    def rows(self, progress: Progress) -> Iterator[Row]:
        number = 0
        for batch in self._open():
            for values in _batch_rows(batch):
                number += 1
                yield Row(Place("", number, "row"), values)
            progress.done = number


def _frame_reader(events: Any, kind: Kind, columns: Columns) -> tuple[TableReader, Progress]:
    if kind == "pandas":
        arrays = _pandas_columns(events, columns)
        struct = struct_of({name: _column_type(values) for name, values in arrays.items()})
        return TableReader(lambda: _slices(arrays, len(events)), struct, columns), Progress(total=len(events))
    if kind == "duckdb":
        struct = _struct_of_arrow(_duckdb_reader(events.limit(0)).schema)
        return TableReader(lambda: _named(_duckdb_reader(events)), struct, columns), Progress()
    table = _arrow_table(events)
    struct = _struct_of_arrow(table.schema)
    if isinstance(table, pa.RecordBatchReader):
        return TableReader(lambda: _named(table), struct, columns), Progress()
    return TableReader(lambda: _named(table.to_batches(BATCH)), struct, columns), Progress(
        total=table.num_rows
    )


def _arrow_table(events: Any) -> Any:
    if type(events).__name__ == "LazyFrame":
        events = events.collect()
    if isinstance(events, (pa.Table, pa.RecordBatchReader)):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    return events.to_arrow() if hasattr(events, "to_arrow") else pa.RecordBatchReader.from_stream(events)


def _duckdb_reader(relation: Any) -> Any:
    """Its name differs between DuckDB versions."""
    for name in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
        if hasattr(relation, name):
            return getattr(relation, name)(BATCH)
    return pa.RecordBatchReader.from_stream(relation)


def _named(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Column]]:
    for batch in batches:
        yield dict(zip(batch.schema.names, batch.columns, strict=True))


def _slices(arrays: Mapping[str, Column], length: int) -> Iterator[dict[str, Column]]:
    for start in range(0, length, BATCH):
        yield {name: values[start : start + BATCH] for name, values in arrays.items()}


def _pandas_columns(frame: Any, columns: Columns) -> dict[str, Column]:
    wanted = {columns.time, columns.type, columns.end, *columns.order}
    if wanted & set(frame.index.names) - {None}:  # a time index is as good as a time column
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _refuse_twins(names)
    return {name: _pandas_column(frame.iloc[:, at]) for at, name in enumerate(names)}


def _pandas_column(series: Any) -> Column:
    try:
        array = pa.array(series, from_pandas=True)
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
        OverflowError,
    ):  # values of several kinds, huge integers
        return [plain(value) for value in series.tolist()]
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _batch_rows(batch: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    lists = [_python_values(name, column) for name, column in batch.items()]
    names = list(batch)
    return (dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True))


def _python_values(name: str, column: Column) -> list[Any]:
    if isinstance(column, list):
        return column
    try:
        target = _plain_arrow(column.type)
        if target != column.type:
            column = column.cast(target, safe=False)  # nanoseconds are cut off
        if pa.types.is_timestamp(target):
            ints = column.cast(pa.int64()).to_pylist()
            return [None if value is None else from_microseconds(value) for value in ints]
        return list(column.to_pylist(maps_as_pydicts="lossy"))
    except (InputMistake, pa.ArrowException, ValueError, OverflowError) as failure:
        raise InputMistake(f"column `{name}` cannot be read: {failure}", code="bad_column") from None


def _plain_arrow(kind: pa.DataType) -> pa.DataType:
    """The same type with times in microseconds, in UTC, and without dictionaries."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_dictionary(kind):
        return _plain_arrow(kind.value_type)
    if _is_list(kind):
        return pa.list_(_plain_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(inner.name, _plain_arrow(inner.type)) for inner in kind])
    return kind


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


_ARROW_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Type], ...] = (
    (pa.types.is_boolean, BOOL),
    (pa.types.is_integer, INT),
    (pa.types.is_floating, FLOAT),
    (pa.types.is_decimal, DECIMAL),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_binary, BYTES),
    (pa.types.is_large_binary, BYTES),
    (pa.types.is_fixed_size_binary, BYTES),
    (pa.types.is_timestamp, TIMESTAMP),
    (pa.types.is_duration, DURATION),
    (pa.types.is_date, DATE),
    (pa.types.is_null, NULL),
)


def type_from_arrow(kind: pa.DataType) -> Type:
    """Our type of an Arrow type; unknown where we have none."""
    if pa.types.is_dictionary(kind):
        return type_from_arrow(kind.value_type)
    if _is_list(kind):
        return list_of(type_from_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return struct_of({inner.name: type_from_arrow(inner.type) for inner in kind})
    return next((ours for test, ours in _ARROW_KINDS if test(kind)), UNKNOWN)


def _struct_of_arrow(schema: pa.Schema) -> Type:
    _refuse_twins(schema.names)
    return struct_of({column.name: type_from_arrow(column.type) for column in schema})


def _column_type(values: Column) -> Type:
    return UNKNOWN if isinstance(values, list) else type_from_arrow(values.type)


def _as_declared(struct: Type, columns: Columns) -> Type:
    """Time columns are instants in events, whatever they are written as."""
    instants = columns.times()
    return struct_of({name: TIMESTAMP if name in instants else kind for name, kind in struct.fields})


def _refuse_twins(names: list[str]) -> None:
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise InputMistake(
            f"there are several columns `{twins[0]}`", code="duplicate_column", hint="rename all but one"
        )


# --- files --------------------------------------------------------------------------------------------------


class FilesReader:
    """Files one after the other, each by its format."""

    typed: bool | None = None

    def __init__(self, files: list[FileReader]) -> None:
        self._files = files

    def schema(self) -> Schema | None:
        structs = [file.struct() for file in self._files]
        known = [struct for struct in structs if struct is not None]
        if not known or len(known) < len(structs):
            return None
        return Schema(common_fields=reduce(_either, known))

    def rows(self, progress: Progress) -> Iterator[Row]:
        before = 0
        for file in self._files:
            with _explained(file.path):
                for row, done in file.rows():
                    progress.done = before + done
                    yield row
            before += file.path.stat().st_size
            progress.done = before


class FileReader(Protocol):
    """Rows of one file, each with the number of bytes read so far."""

    path: Path

    def struct(self) -> Type | None: ...

    def rows(self) -> Iterator[tuple[Row, int]]: ...


def _path_reader(name: str, columns: Columns) -> tuple[Kind, Reader, Progress]:
    if name == "-":
        return "path", LinesReader(getattr(sys.stdin, "buffer", sys.stdin), "<stdin>"), Progress(unit="bytes")
    paths = _paths(name)
    total = sum(path.stat().st_size for path in paths)
    reader = FilesReader([_file_reader(path, columns) for path in paths])
    return "path", reader, Progress(total=total, unit="bytes")


def _paths(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        found = sorted(child for child in path.iterdir() if child.name[0] not in "._")
    else:
        found = [path] if path.exists() else sorted(Path(match) for match in glob(name, recursive=True))
    if not found:
        what = f"there are no event files in {name}" if path.is_dir() else f"there is no file {name}"
        raise InputMistake(what, code="no_such_file")
    return found


def _file_reader(path: Path, columns: Columns) -> FileReader:
    ending = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
    format = _FORMATS.get(ending.lower().removesuffix(".gz"))
    if format is None or path.is_dir() or (format is ParquetReader and path.suffix.lower() == ".gz"):
        raise InputMistake(
            f"{path} is {'a directory' if path.is_dir() else 'of an unknown format'}",
            code="unknown_format",
            hint="events are read from .jsonl, .ndjson, .json (one object a line) and .csv, also with .gz, "
            "and from .parquet; a pattern such as `logs/*.jsonl` picks files",
        )
    return format(path, columns)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the system says about a file it cannot read, as one message with the file's name."""
    try:
        yield
    except (OSError, EOFError, zlib.error, pa.ArrowException) as failure:
        raise InputMistake(f"{path} cannot be read: {failure}", code="bad_file") from None


def _either(left: Type, right: Type) -> Type:
    """The columns of two files; a column whose types clash is of unknown type."""
    merged = dict(left.fields)
    for name, kind in right.fields:
        merged[name] = common(merged.get(name, NULL), kind) or UNKNOWN
    return struct_of(merged)


@contextmanager
def _bytes_of(path: Path) -> Iterator[tuple[Iterable[bytes], IO[bytes]]]:
    """Its lines, and the file itself, whose position says how far reading has come."""
    with path.open("rb") as raw:
        if path.suffix.lower() == ".gz":
            with closing(gzip.GzipFile(fileobj=raw)) as unpacked:
                yield unpacked, raw
        else:
            yield raw, raw


# --- JSON lines ---------------------------------------------------------------------------------------------


class JsonReader:
    """A file of JSON lines."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path

    def struct(self) -> Type | None:
        return None

    def rows(self) -> Iterator[tuple[Row, int]]:
        with _bytes_of(self.path) as (lines, raw):
            for row in _json_rows(lines, str(self.path)):
                yield row, raw.tell()


class LinesReader:
    """JSON lines from an open file, such as standard input."""

    typed: bool | None = None

    def __init__(self, lines: Iterable[str | bytes], name: str) -> None:
        self._lines = lines
        self._name = name

    def schema(self) -> Schema | None:
        return None

    def rows(self, progress: Progress) -> Iterator[Row]:
        return _json_rows(_counted(self._lines, progress), self._name)


def _counted(lines: Iterable[str | bytes], progress: Progress) -> Iterator[str | bytes]:
    for line in lines:
        progress.done += len(line)
        yield line


def _json_rows(lines: Iterable[str | bytes], name: str) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = Place(name, number)
        try:
            text = _decoded(line, number)
            yield Row(place, _json_object(text), text)
        except InputMistake as mistake:
            yield Row(place, {}, _lossy(line), mistake)


def _decoded(line: str | bytes, number: int) -> str:
    if isinstance(line, str):
        return line.strip()
    try:
        # Only the first line may begin with a byte order mark.
        return line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise InputMistake("not UTF-8 text") from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as failure:
        raise InputMistake(f"not JSON ({failure})") from None
    except RecursionError:
        raise InputMistake("not readable JSON (nested too deeply)") from None
    if not isinstance(values, dict):
        raise InputMistake("not a JSON object; there must be one object a line")
    return values


def _lossy(line: str | bytes) -> str:
    return (line if isinstance(line, str) else line.decode("utf-8", "backslashreplace")).strip()


# --- CSV ----------------------------------------------------------------------------------------------------

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
        return _as_declared(struct_of(found), self._columns)

    def rows(self) -> Iterator[tuple[Row, int]]:
        with _bytes_of(self.path) as (lines, raw):
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
        return _python_values(name, _csv_cast(pa.array(texts, pa.string()), self._types[at]))

    @cached_property
    def _types(self) -> list[pa.DataType]:
        # Times and types are read as what they are, so that one bad value is one bad row.
        settled = {*self._columns.times(), self._columns.type}
        guesses = {at: _Guess() for at, name in enumerate(self._names) if name not in settled}
        with _explained(self.path), _bytes_of(self.path) as (lines, _):
            for chunk in self._chunks(lines):
                records = [record.values for record in chunk if record.mistake is None]
                for at, guess in guesses.items():
                    guess.look_at(pa.array([record[at] for record in records], pa.string()))
        return [guesses[at].type() if at in guesses else pa.string() for at in range(len(self._names))]

    def _header(self) -> list[str]:
        with _explained(self.path), _bytes_of(self.path) as (lines, _):
            first = next(_csv_records(lines), None)
        if first is None or first.mistake is not None:
            reason = "is empty" if first is None or first.mistake is None else f"is {first.mistake.message}"
            raise InputMistake(f"{self.path} {reason}: a CSV file needs a header line", code="bad_file")
        names = [name.strip() for name in first.values]
        _refuse_twins(names)
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
            broken.append(Record(number, [_lossy(line)], InputMistake("not UTF-8 text")))
            yield "\n"  # so that the lines after it keep their numbers


def _csv_nulls(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_in(texts, pa.array(_CSV_NULLS)), pa.scalar(None, pa.string()), texts)


def _csv_cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
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


# --- Parquet ------------------------------------------------------------------------------------------------


class ParquetReader:
    """A Parquet file, by record batches."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self._columns = columns
        with _explained(path), closing(self._open()) as file:
            self._struct = _struct_of_arrow(file.schema_arrow)
            self._rows = file.metadata.num_rows
        check_columns([name for name, _ in self._struct.fields], columns)

    def struct(self) -> Type:
        return _as_declared(self._struct, self._columns)

    def rows(self) -> Iterator[tuple[Row, int]]:
        size, number = self.path.stat().st_size, 0
        with closing(self._open()) as file:
            for batch in _named(file.iter_batches(BATCH)):
                for values in _batch_rows(batch):
                    number += 1
                    place = Place(str(self.path), number, "row")
                    yield Row(place, values), size * number // self._rows

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.path)


_FORMATS: dict[str, Callable[[Path, Columns], FileReader]] = {
    ".jsonl": JsonReader,
    ".ndjson": JsonReader,
    ".json": JsonReader,
    ".csv": CsvReader,
    ".parquet": ParquetReader,
}


# --- mistakes -----------------------------------------------------------------------------------------------


def _failure(place: Place, text: str, mistake: InputMistake) -> InputMistake:
    """The error of the policy `fail`. Of a file: its own code, the text, and how to get past it."""
    message = f"{place}: {mistake.message}"
    if not place.source:
        return InputMistake(message, code=mistake.code, hint=mistake.hint)
    shown = text if len(text) <= 80 else text[:77] + "..."
    hint = "to go on without such rows: --bad-rows skip|dead-letter (in Python bad_rows=)"
    if mistake.hint:
        hint = f"{mistake.hint}; {hint}"
    return InputMistake(f"{message}: {shown}" if shown else message, code="bad_row", hint=hint)


def _policy(name: str) -> BadRowsPolicy:
    policies: dict[str, BadRowsPolicy] = {"fail": "fail", "skip": "skip", "dead_letter": "dead_letter"}
    policy = policies.get(name.replace("-", "_"))
    if policy is None:
        raise InputMistake(
            f"{name!r} is not a way to treat bad rows",
            code="bad_option",
            hint="use fail, skip or dead-letter",
        )
    return policy


def _length(events: Iterable[Any]) -> int | None:
    return len(events) if isinstance(events, (list, tuple)) else None
