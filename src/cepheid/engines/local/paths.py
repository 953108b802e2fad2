"""Events from files: a path, a directory or a pattern, each file by its format."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from glob import glob
from pathlib import Path
from typing import TypeVar

from cepheid.engines.columnar.scan import Scan, scan_parquet
from cepheid.engines.local.events import Columns
from cepheid.engines.local.open_files import explained
from cepheid.engines.local.reading import (
    ColumnRows,
    DictRows,
    FileReader,
    Kind,
    Progress,
    Reader,
    Repeatable,
    Row,
)
from cepheid.engines.local.reading_csv import CsvReader
from cepheid.engines.local.reading_json import JsonReader, LinesReader
from cepheid.engines.local.reading_parquet import ParquetReader
from cepheid.errors import InputMistake
from cepheid.pattern.types import NULL, UNKNOWN, Schema, Type, common, struct_of

_Part = TypeVar("_Part")


def path_reader(names: Sequence[str], columns: Columns) -> tuple[Kind, Reader, Progress]:
    """Files, directories, patterns, one after the other; `-` alone is standard input."""
    if list(names) == ["-"]:
        return "path", LinesReader(getattr(sys.stdin, "buffer", sys.stdin), "<stdin>"), Progress(unit="bytes")
    paths = [path for name in names for path in _paths(name)]
    total = sum(path.stat().st_size for path in paths)
    reader = FilesReader([_file_reader(path, columns) for path in paths], columns.type)
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


_FORMATS: dict[str, Callable[[Path, Columns], FileReader]] = {
    ".jsonl": JsonReader,
    ".ndjson": JsonReader,
    ".json": JsonReader,
    ".csv": CsvReader,
    ".parquet": ParquetReader,
}


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


class FilesReader:
    """Files one after the other, each by its format."""

    typed: bool | None = None

    def __init__(self, files: list[FileReader], type: str) -> None:
        self._files, self._type = files, type
        self.json = all(isinstance(file, JsonReader) for file in files)

    def schema(self) -> Schema | None:
        structs = [file.struct() for file in self._files]
        known = [struct for struct in structs if struct is not None]
        if not known or len(known) < len(structs):
            return None
        return Schema(common_fields=reduce(_either, known))

    def scan(self) -> Scan | None:
        """Parquet alone, and with the same columns in all files."""
        files = [file for file in self._files if isinstance(file, ParquetReader)]
        if len(files) < len(self._files):
            return None
        return scan_parquet([file.file for file in files], [self._type])

    def repeatable(self) -> Repeatable | None:
        """Texts are; Parquet lies in columns, or it is of several kinds and read by rows."""
        return self if len(self._texts()) == len(self._files) else None

    def count(self) -> int:
        return sum(file.count() for file in self._texts())

    def batches(self, progress: Progress) -> Iterator[DictRows | ColumnRows]:
        for file in self._texts():
            yield from self._told(file, file.batches(), progress)

    def _texts(self) -> list[CsvReader | JsonReader]:
        return [file for file in self._files if isinstance(file, (CsvReader, JsonReader))]

    def rows(self, progress: Progress) -> Iterator[Row]:
        for file in self._files:
            yield from self._told(file, file.rows(), progress)

    def _told(
        self, file: FileReader, parts: Iterator[tuple[_Part, int]], progress: Progress
    ) -> Iterator[_Part]:
        """The parts of a file, and how far reading has come."""
        before = sum(other.path.stat().st_size for other in self._files[: self._files.index(file)])
        with explained(file.path):
            for part, done in parts:
                progress.done = before + done
                yield part
        progress.done = before + file.path.stat().st_size


def _either(left: Type, right: Type) -> Type:
    """The columns of two files; a column whose types clash is of unknown type."""
    merged = dict(left.fields)
    for name, kind in right.fields:
        merged[name] = common(merged.get(name, NULL), kind) or UNKNOWN
    return struct_of(merged)
