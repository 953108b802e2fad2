"""Events from dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.events import Columns, SchemaScan, plain
from cepheid.engines.local.reading import ColumnRows, Place, Progress, Repeatable, Row, in_lists
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

    def batches(self, progress: Progress) -> Iterator[list[Row] | ColumnRows]:
        yield from in_lists(self.rows(progress))

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
