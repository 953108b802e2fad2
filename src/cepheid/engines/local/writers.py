"""An answer as text or a file: a table to look at, JSON lines, CSV, Parquet."""

from __future__ import annotations

import csv
import json
import math
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from cepheid.engines.local.times import aware
from cepheid.errors import InputMistake
from cepheid.pattern.duration import duration, duration_text


def write_table(table: pa.Table, out: str | Path | IO[str] | None = None, format: str = "table") -> None:
    """Writes a table to a path, an open text file, or (None, "-") standard output."""
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise InputMistake(
            f"{format!r} is not an output format", code="bad_option", hint=f"use one of {known}"
        )
    with _writing(out, binary=format == "parquet") as file:
        FORMATS[format](table, file)


def write_rows(rows: Iterable[dict[str, Any]], out: str | Path | IO[str] | None = None) -> None:
    """Rows of any shape as JSON lines, to where a table goes."""
    with _writing(out, binary=False) as file:
        for row in rows:
            file.write(json_line(row) + "\n")


@contextmanager
def _writing(out: str | Path | IO[str] | None, binary: bool) -> Iterator[Any]:
    try:
        with _opened(out, binary) as file:
            yield file
    except (OSError, pa.ArrowException) as failure:
        # A reader that has seen enough (`| head`) is not a failure to write.
        if isinstance(failure, BrokenPipeError):
            raise
        target = out if isinstance(out, (str, Path)) else "standard output"
        raise InputMistake(f"cannot write {target}: {failure}", code="cannot_write") from None


def json_line(row: dict[str, Any]) -> str:
    """One row as one line of JSON, without the line end.

    >>> json_line({"n": 1, "at": datetime(2024, 5, 1), "who": None})
    '{"n": 1, "at": "2024-05-01T00:00:00Z", "who": null}'
    """
    return json.dumps(_jsonable(row), ensure_ascii=False, allow_nan=False)


def _write_json(table: pa.Table, file: IO[str]) -> None:
    for row in _rows(table):
        file.write(json_line(row) + "\n")


def _write_csv(table: pa.Table, file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in _rows(table):
        writer.writerow([cell_text(value) for value in row.values()])


def _write_parquet(table: pa.Table, file: IO[bytes]) -> None:
    from pyarrow import parquet

    parquet.write_table(table, file)


def _write_rich(table: pa.Table, file: IO[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table()
    for column in table.schema:
        shown.add_column(Text(column.name), justify="right" if _is_number(column.type) else "left")
    for row in _rows(table):
        shown.add_row(*(Text(cell_text(value)) for value in row.values()))
    # A file has no width: lines there are as long as they need to be.
    Console(file=file, width=None if file.isatty() else 1_000_000).print(shown)


FORMATS: dict[str, Callable[[pa.Table, Any], None]] = {
    "table": _write_rich,
    "json": _write_json,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=8192):
        yield from batch.to_pylist()


@contextmanager
def _opened(out: str | Path | IO[str] | None, binary: bool) -> Iterator[Any]:
    if out is None or out == "-":
        yield _raw(sys.stdout) if binary else sys.stdout
        sys.stdout.flush()
    elif isinstance(out, (str, Path)):
        with Path(out).open("wb") if binary else Path(out).open("w", encoding="utf-8", newline="") as file:
            yield file
    else:
        yield _raw(out) if binary else out


def _raw(file: IO[str]) -> Any:
    """The bytes below a text file; a file that has none is taken to be binary itself."""
    return getattr(file, "buffer", file)


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _jsonable(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Decimal):
        return _json_number(value)
    return value if value is None or isinstance(value, (str, int, float)) else cell_text(value)


def _json_number(value: Decimal) -> int | float | str:
    """A number if that is exact; text otherwise, because most readers of JSON would round it."""
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def cell_text(value: Any) -> str:
    """A value in a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return aware(value).isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        microseconds = duration(value)
        return ("-" if microseconds < 0 else "") + duration_text(abs(microseconds))
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(_jsonable(value), ensure_ascii=False, allow_nan=False)
    return value.isoformat() if isinstance(value, date) else str(value)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
