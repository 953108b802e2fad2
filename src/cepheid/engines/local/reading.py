"""What every reader gives: rows, where they stand, and how far reading has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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


Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ColumnRows:
    """Rows in columns. Those that are broken lie between them: each with its place among all."""

    fields: Mapping[str, pa.Array]  # of one kind each; the time as it was written
    times: tuple[Numbers, Marks]  # in microseconds, and which are no times
    row: Callable[[int], Row]  # one of them as a row
    broken: Sequence[tuple[int, Row]] = ()


@dataclass(frozen=True)
class DictRows:
    """Rows as dicts; what is broken is empty. A Row is made only of those that somebody asks for."""

    values: Sequence[Mapping[str, Any]]
    row: Callable[[int], Row]


_Item = TypeVar("_Item")


def in_lists(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """What comes before a failure is given out before it."""
    batch: list[_Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) >= BATCH:
                yield batch
                batch = []
    except Exception:
        yield batch
        raise
    yield batch


class Reader(Protocol):
    """One way to get rows. `typed`: is there a type column? None: the first row says it."""

    typed: bool | None

    def schema(self) -> Schema | None: ...

    def scan(self) -> Scan | None:
        """The input in columns, where it lies so."""

    def repeatable(self) -> Repeatable | None:
        """Itself, where it can be read several times."""

    def rows(self, progress: Progress) -> Iterator[Row]: ...


class Repeatable(Protocol):
    """Rows that can be counted before they are read, and read again."""

    typed: bool | None
    json: bool  # all values come from JSON: those that lie in others are plain, too

    def count(self) -> int:
        """Of rows, or nearly so many."""

    def batches(self, progress: Progress) -> Iterator[DictRows | ColumnRows]:
        """Rows by the thousand, in columns where they lie so."""


class FileReader(Protocol):
    """Rows of one file, each with the number of bytes read so far."""

    path: Path

    def struct(self) -> Type | None: ...

    def rows(self) -> Iterator[tuple[Row, int]]: ...
