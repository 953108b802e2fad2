"""Where matches go: tables on the screen, lines as they are found, files at the end."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import click
import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cepheid.cli.jobs import AnyJob
from cepheid.cli.words import cell
from cepheid.engines.local.frames import build_table
from cepheid.engines.local.writers import cell_text, json_line, write_table
from cepheid.errors import InputMistake

TABLE_ROWS = 50
Row = dict[str, Any]


class Sink(Protocol):
    """Takes rows as they are found. `flush` after each batch, `finish` at the end."""

    def take(self, stream: str, row: Row) -> None: ...

    def flush(self) -> None: ...

    def finish(self) -> None: ...


class NoSink:
    """For `cepheid report`, which shows matches on its page alone."""

    def take(self, stream: str, row: Row) -> None:
        pass

    def flush(self) -> None:
        pass

    finish = flush


class TableSink:
    """The first rows of each stream, as tables."""

    def __init__(self, job: AnyJob, streams: list[str], out: str | None, limit: int | None) -> None:
        self.job, self.out = job, out
        self.limit = TABLE_ROWS if limit is None else limit
        self.rows: dict[str, list[Row]] = {name: [] for name in streams}
        self.counts = dict.fromkeys(streams, 0)

    def take(self, stream: str, row: Row) -> None:
        self.counts[stream] += 1
        if len(self.rows[stream]) < self.limit:
            self.rows[stream].append(row)

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        with opened(self.out) as file:
            console = console_on(file)
            for name, rows in self.rows.items():
                columns = [column for column, _ in self.job.columns(name)]
                show_table(console, name, columns, rows, self.counts[name])


class JsonSink:
    """One object a line, as soon as it is found."""

    def __init__(self, streams: list[str], file: IO[str], limit: int | None) -> None:
        self.several, self.file = len(streams) > 1, file
        self.left = _Left(limit)

    def take(self, stream: str, row: Row) -> None:
        if self.left.one(stream):
            self.file.write(json_line({"stream": stream, **row} if self.several else row) + "\n")

    def flush(self) -> None:
        self.file.flush()

    finish = flush


class CsvSink:
    """A file a stream, rows as soon as they are found."""

    def __init__(self, job: AnyJob, files: dict[str, IO[str]], limit: int | None) -> None:
        self.files = files
        self.left = _Left(limit)
        self.columns = {name: [column for column, _ in job.columns(name)] for name in files}
        self.writers = {name: csv.writer(file, lineterminator="\n") for name, file in files.items()}
        for name, writer in self.writers.items():
            writer.writerow(self.columns[name])

    def take(self, stream: str, row: Row) -> None:
        if self.left.one(stream):
            self.writers[stream].writerow([cell_text(row.get(column)) for column in self.columns[stream]])

    def flush(self) -> None:
        for file in self.files.values():
            file.flush()

    finish = flush


class ParquetSink:
    """Columns have one type each, so a file is written when all its rows are there."""

    def __init__(self, job: AnyJob, targets: dict[str, Path | None], limit: int | None) -> None:
        self.job, self.targets = job, targets
        self.left = _Left(limit)
        self.rows: dict[str, list[Row]] = {name: [] for name in targets}
        self.tables: dict[str, pa.Table] = {}

    def take(self, stream: str, row: Row) -> None:
        if self.left.one(stream):
            self.rows[stream].append(row)

    def take_table(self, stream: str, table: pa.Table) -> None:
        """All matches of a stream: no row is made."""
        self.tables[stream] = table.slice(0, self.left.limit)

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        for name, target in self.targets.items():
            table = self.tables.get(name)
            if table is None:
                table = build_table(self.rows[name], self.job.columns(name))
            write_table(table, target, "parquet")


class _Left:
    """Counts down the rows that may still be written of each stream."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.written: dict[str, int] = {}

    def one(self, stream: str) -> bool:
        self.written[stream] = self.written.get(stream, 0) + 1
        return self.limit is None or self.written[stream] <= self.limit


@contextmanager
def open_sink(
    job: AnyJob, streams: list[str], format: str, out: str | None, limit: int | None
) -> Iterator[Sink]:
    """The sink of a format. csv and parquet of several streams are a file each, in a directory."""
    if format == "none":
        yield NoSink()
    elif format == "table":
        yield TableSink(job, streams, out, limit)
    elif format == "json":
        with opened(out) as file:
            yield JsonSink(streams, file, limit)
    elif format == "csv":
        targets = _targets(streams, format, out)
        with _all_opened(targets) as files:
            yield CsvSink(job, files, limit)
    else:
        targets = _targets(streams, format, out)
        if None in targets.values() and sys.stdout.isatty():
            raise click.UsageError("Parquet is not for the screen: say where it goes with --out.")
        yield ParquetSink(job, targets, limit)


def _targets(streams: list[str], format: str, out: str | None) -> dict[str, Path | None]:
    if len(streams) == 1:
        return {streams[0]: None if out in (None, "-") else Path(str(out))}
    if out in (None, "-"):
        raise click.UsageError(
            f"{len(streams)} streams do not fit into one {format}: name one with --stream, "
            f"or a directory with --out. The streams are {', '.join(streams)}."
        )
    folder = Path(str(out))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise InputMistake(
            f"{folder} cannot be made a directory: {failure.strerror}",
            code="cannot_write",
            hint=f"{format} of several streams is a file each; --stream NAME gives one",
        ) from None
    return {name: folder / f"{name}.{format}" for name in streams}


@contextmanager
def opened(out: str | Path | None) -> Iterator[IO[str]]:
    """A text file to write, or standard output."""
    if out is None or out == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    with _opened_file(Path(out)) as file:
        yield file


def _opened_file(path: Path) -> IO[str]:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as failure:
        raise InputMistake(f"cannot write {path}: {failure.strerror}", code="cannot_write") from None


@contextmanager
def _all_opened(targets: dict[str, Path | None]) -> Iterator[dict[str, IO[str]]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(opened(target)) for name, target in targets.items()}


# --- tables -------------------------------------------------------------------------------------------------


def console_on(file: IO[str]) -> Console:
    """A file or a pipe has no width: lines there are as long as they need to be."""
    return Console(file=file, highlight=False, width=None if file.isatty() else 100_000, soft_wrap=False)


def show_table(console: Console, stream: str, columns: list[str], rows: list[Row], count: int) -> None:
    title = Text.assemble((stream, "bold"), f"  {count:,} match{'es' if count != 1 else ''}")
    console.print(title)
    if not rows:
        console.print()
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        numbers = all(_is_number(row.get(column)) for row in rows)
        table.add_column(Text(column), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(row.get(column))) for column in columns))
    console.print(table)
    if count > len(rows):
        console.print(f"... {count - len(rows):,} more; --limit N shows more of them", markup=False)
    console.print()


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
