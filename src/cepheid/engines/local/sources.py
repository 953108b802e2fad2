"""Where events come from: frames, dicts, files. Each gives batches of events; files are never read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from os import PathLike
from typing import Any

import pyarrow as pa

from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.bad_rows import BadRow, BadRows, policy_of
from cepheid.engines.local.events import Columns, EventMaker
from cepheid.engines.local.gathering import Asked, Gathered, Gatherer
from cepheid.engines.local.paths import path_reader
from cepheid.engines.local.reading import BATCH, Kind, Place, Progress, Reader, Row
from cepheid.engines.local.reading_dicts import DictReader
from cepheid.engines.local.reading_json import LinesReader
from cepheid.engines.local.reading_tables import frame_reader
from cepheid.errors import InputMistake
from cepheid.pattern.event import Event
from cepheid.pattern.types import Schema


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
        self.gathered: Gathered | None = None  # what was seen when rows became columns
        self._reader = reader
        self._batch_size = batch_size

    @cached_property
    def schema(self) -> Schema | None:
        """None: unknown before it is read (`scan_schema` of `events.py` finds it by reading)."""
        return self._reader.schema()

    def count(self) -> int | None:
        """How many rows there are, or nearly; None: it cannot be read in columns."""
        scan, rows = self._reader.scan(), self._reader.repeatable()
        return scan.rows if scan is not None else rows.count() if rows is not None else None

    def scan(self, asked: Asked) -> Scan:
        """The input in columns; raises NotInColumns. Rows are gathered by reading all of it."""
        return self._reader.scan() or self._gather(asked)

    def _gather(self, asked: Asked) -> Scan:
        reader = self._reader.repeatable()
        assert reader is not None
        gatherer = Gatherer(EventMaker(self.columns, reader.typed), asked, reader.json)
        for rows in reader.batches(self.progress):
            gatherer.add(rows)
            for bad in gatherer.gathered.bad if self.bad.policy == "fail" else ():
                self.report(bad.row, bad.mistake)
        self.gathered = gatherer.gathered
        return gatherer.scan(self.progress.done)

    def report_bad(self, place: Place, values: Mapping[str, Any]) -> bool:
        """A row that is no event; False: it is one."""
        maker = EventMaker(self.columns, self.columns.type in values)
        return self._event(Row(place, values), maker) is None

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
            self.report(row, mistake)
            return None

    def report(self, row: Row, mistake: InputMistake) -> None:
        text = str(dict(row.values)) if row.text is None else row.text
        self.bad.report(row.place, text, mistake)


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
    kind, reader, progress = reader_of(events, columns)
    return Source(kind, reader, columns, BadRows(policy_of(bad_rows), on_bad), progress, batch_size)


def reader_of(events: Any, columns: Columns) -> tuple[Kind, Reader, Progress]:
    if isinstance(events, (str, PathLike)):
        return path_reader([str(events)], columns)
    if isinstance(events, (list, tuple)) and events and all(isinstance(e, (str, PathLike)) for e in events):
        return path_reader([str(e) for e in events], columns)
    if (kind := frame_kind(events)) is not None:
        return kind, *frame_reader(events, kind, columns)
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


def _length(events: Iterable[Any]) -> int | None:
    return len(events) if isinstance(events, (list, tuple)) else None
