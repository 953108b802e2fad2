"""Input that can be read in columns: pieces that are read by themselves, so that several threads can."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

Columns = Mapping[str, Any]  # names and Arrow arrays of one length
BATCH = 1 << 17


@dataclass(frozen=True)
class Batch:
    """Some rows of a piece."""

    first: int  # rows of the source before it
    rows: int
    columns: Columns
    may_pass: Any = None  # which rows can pass a test of one event at all, where that is known before: marks


@dataclass(frozen=True)
class Piece:
    """A part of the input. `read` gives the named columns of its rows; None: all columns."""

    source: str  # a file's name; frames have none
    first: int  # rows of the source before it
    before: int  # rows of the whole input before it
    rows: int
    done: int  # how far reading has come after it
    read: Callable[[Sequence[str] | None], Iterator[Batch]]


@dataclass(frozen=True)
class Scan:
    """The whole input, in the order of its arrival."""

    types: Mapping[str, pa.DataType]  # of the columns
    pieces: tuple[Piece, ...]
    unfit: Mapping[str, str] = field(default_factory=dict)  # what cannot be a column, and why

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


def scan_arrays(arrays: Mapping[str, Any], rows: int) -> Scan | None:
    """A frame's columns; None where one of them is plain Python values."""
    if any(isinstance(values, list) for values in arrays.values()):
        return None

    def piece(first: int) -> Piece:
        size = min(BATCH, rows - first)

        def read(names: Sequence[str] | None) -> Iterator[Batch]:
            wanted = arrays if names is None else {name: arrays[name] for name in names}
            yield Batch(
                first, size, {n: _one_array(values.slice(first, size)) for n, values in wanted.items()}
            )

        return Piece("", first, first, size, first + size, read)

    pieces = tuple(piece(first) for first in range(0, rows, BATCH))
    return Scan({name: values.type for name, values in arrays.items()}, pieces)


def _one_array(values: Any) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 1:
            return values.chunk(0)  # nothing is copied
        values = values.unify_dictionaries() if pa.types.is_dictionary(values.type) else values
        return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return values


@dataclass(frozen=True)
class ParquetFile:
    """What is known of a file before it is read."""

    path: Path
    schema: pa.Schema
    groups: tuple[int, ...]  # rows of each row group
    metadata: Any = field(default=None, compare=False, repr=False)  # so that nobody reads it again


def scan_parquet(files: Iterable[ParquetFile], dictionaries: Sequence[str] = ()) -> Scan | None:
    """Row groups of files, each a piece; None where the files do not have the same columns."""
    listed = list(files)
    types = {column.name: column.type for column in listed[0].schema}
    if any({c.name: c.type for c in file.schema} != types for file in listed):
        return None
    pieces: list[Piece] = []
    rows = bytes_before = 0
    for file in listed:
        size, total, first = file.path.stat().st_size, sum(file.groups), 0
        for group, count in enumerate(file.groups):
            done = bytes_before + size * (first + count) // max(total, 1)
            pieces.append(_row_group(file, group, first, rows, done, dictionaries))
            first, rows = first + count, rows + count
        bytes_before += size
    return Scan(types, tuple(pieces))


def _row_group(
    file: ParquetFile, group: int, first: int, before: int, done: int, dictionaries: Sequence[str]
) -> Piece:
    def read(names: Sequence[str] | None) -> Iterator[Batch]:
        from pyarrow import parquet

        as_codes = [name for name in dictionaries if _is_text(file.schema, name)]
        at = first
        with parquet.ParquetFile(
            file.path, metadata=file.metadata, read_dictionary=as_codes or None
        ) as opened:
            # A dot in a name would be taken for a path.
            plain = names is not None and not any("." in name for name in names)
            columns = list(names) if plain and names is not None else None
            # A row group is a piece anyway: the more of it at once, the less is done for each batch.
            for batch in opened.iter_batches(2 * BATCH, [group], columns, use_threads=False):
                found = dict(zip(batch.schema.names, batch.columns, strict=True))
                wanted = found if names is None else {name: found[name] for name in names}
                yield Batch(at, batch.num_rows, wanted)
                at += batch.num_rows

    return Piece(str(file.path), first, before, file.groups[group], done, read)


def _is_text(schema: pa.Schema, name: str) -> bool:
    return name in schema.names and pa.types.is_string(schema.field(name).type)
