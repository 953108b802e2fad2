"""Events from JSON lines: a file, or lines that are open already."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.events import Columns
from cepheid.engines.local.open_files import bytes_of, explained, lines_in, lossy
from cepheid.engines.local.reading import ColumnRows, DictRows, Place, Progress, Repeatable, Row, in_lists
from cepheid.errors import InputMistake
from cepheid.pattern.types import Schema, Type

_TOLD = 256  # rows between two looks at how far reading has come
# What json.loads does at last, after several calls.
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class JsonReader:
    """A file of JSON lines."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path

    def struct(self) -> Type | None:
        return None

    def count(self) -> int:
        with explained(self.path), bytes_of(self.path) as (file, _):
            return lines_in(file)

    def batches(self) -> Iterator[tuple[DictRows | ColumnRows, int]]:
        name = str(self.path)
        with bytes_of(self.path) as (file, raw):
            lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
            for some in in_lists(lines):
                values = [
                    _quick_object(line) or _json_row(number, line, name).values for number, line in some
                ]
                yield DictRows(values, partial(_row_at, some, name)), raw.tell()

    def rows(self) -> Iterator[tuple[Row, int]]:
        with bytes_of(self.path) as (lines, raw):
            done = 0
            for number, row in enumerate(_json_rows(lines, str(self.path))):
                if not number % _TOLD:  # it takes a while to ask
                    done = raw.tell()
                yield row, done


class LinesReader:
    """JSON lines from an open file, such as standard input."""

    typed: bool | None = None

    def __init__(self, lines: Iterable[str | bytes], name: str) -> None:
        self._lines = lines
        self._name = name

    def schema(self) -> Schema | None:
        return None

    def scan(self) -> Scan | None:
        return None

    def repeatable(self) -> Repeatable | None:
        return None

    def rows(self, progress: Progress) -> Iterator[Row]:
        return _json_rows(_counted(self._lines, progress), self._name)


def _counted(lines: Iterable[str | bytes], progress: Progress) -> Iterator[str | bytes]:
    for line in lines:
        progress.done += len(line)
        yield line


def _json_rows(lines: Iterable[str | bytes], name: str) -> Iterator[Row]:
    return (_json_row(number, line, name) for number, line in enumerate(lines, 1) if line.strip())


def _row_at(lines: list[tuple[int, bytes]], name: str, at: int) -> Row:
    return _json_row(*lines[at], name)


def _json_row(number: int, line: str | bytes, name: str) -> Row:
    place = Place(name, number)
    try:
        text = _decoded(line, number)
        return Row(place, _json_object(text), text)
    except InputMistake as mistake:
        return Row(place, {}, lossy(line), mistake)


def _decoded(line: str | bytes, number: int) -> str:
    if isinstance(line, str):
        return line.strip()
    try:
        # Only the first line may begin with a byte order mark.
        return line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise InputMistake("not UTF-8 text") from None


def _quick_object(line: bytes) -> dict[str, Any] | None:
    """An object as json.loads reads it, without the detours; None: nothing that is read so."""
    try:
        text = line.decode().strip()
        values, end = _scan(text, 0)
    except (ValueError, StopIteration, RecursionError):
        return None
    return values if end == len(text) and type(values) is dict else None


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
