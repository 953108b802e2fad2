"""Events from dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.events import Columns, SchemaScan, plain
from cepheid.engines.local.reading import BATCH, ColumnRows, DictRows, Place, Progress, Repeatable, Row
from cepheid.errors import InputMistake
from cepheid.pattern.types import Schema


class DictReader:
    """Dicts: a list can be looked at before it is read, any other iterable is read once."""

    json = False

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

    def scan(self) -> Scan | None:
        return None

    def repeatable(self) -> Repeatable | None:
        return self if isinstance(self._rows, (list, tuple)) else None

    def count(self) -> int:
        assert isinstance(self._rows, (list, tuple))
        return len(self._rows)

    def batches(self, progress: Progress) -> Iterator[DictRows | ColumnRows]:
        rows = self._rows
        assert isinstance(rows, (list, tuple))
        for first in range(0, len(rows), BATCH):
            some = rows[first : first + BATCH]
            progress.done = first + len(some)
            values = [row if isinstance(row, Mapping) else {} for row in some]
            yield DictRows(values, partial(_row_at, some, first))

    def rows(self, progress: Progress) -> Iterator[Row]:
        for number, row in enumerate(self._rows, 1):
            progress.done = number
            yield _row(row, number)

    def _has_types(self) -> bool | None:
        return any(isinstance(row, Mapping) and self._columns.type in row for row in self._rows) or None

    def _kind(self, row: Mapping[str, Any]) -> str | None:
        value = plain(row.get(self._columns.type, self._columns.plain_type))
        return None if value is None else str(value)


def _row_at(rows: Sequence[Any], before: int, at: int) -> Row:
    return _row(rows[at], before + at + 1)


def _row(row: Any, number: int) -> Row:
    place = Place("", number, "row")
    if isinstance(row, Mapping):
        return Row(place, row)
    return Row(place, {}, str(row), InputMistake(f"a {type(row).__name__}, not a dict", code="bad_row"))
