"""What every reader gives: rows, where they stand, and how far reading has come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from cepheid.engines.columnar.scan import Scan
from cepheid.errors import InputMistake
from cepheid.pattern.types import Schema, Type

BATCH = 8192

Kind = Literal["pandas", "polars", "arrow", "duckdb", "dicts", "path"]


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
    json: bool  # all values come from JSON: what lies in others is plain, too

    def schema(self) -> Schema | None: ...

    def scan(self) -> Scan | None:
        """The input in columns, where it lies so."""

    def count(self) -> int | None:
        """How many rows there are, or nearly, where they can be read several times; None: they cannot."""

    def rows(self, progress: Progress) -> Iterator[Row]: ...


class FileReader(Protocol):
    """Rows of one file, each with the number of bytes read so far."""

    path: Path

    def count(self) -> int: ...

    def struct(self) -> Type | None: ...

    def rows(self) -> Iterator[tuple[Row, int]]: ...
