"""CSV as columns of texts: Arrow splits what holds no quotes, Python's csv module, which decides, everything else."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from gzip import GzipFile
from io import BytesIO
from itertools import chain, islice
from typing import IO, NamedTuple

import pyarrow as pa

from cepheid.engines.local.open_files import lossy
from cepheid.engines.local.reading import BATCH
from cepheid.errors import InputMistake

_BLOCK = 1 << 20  # bytes that are split at once
_LONGEST = csv.field_size_limit()  # of a value, to the csv module
_MARK = b"\xef\xbb\xbf"
# Arrow skips a mark at the beginning of a block, where it is none, and takes an empty line for empty values.
_NOT_FIRST = (_MARK, b"\n", b"\r\n")
_EMPTY_LINES = (b"\n\n", b"\n\r\n")


class Record(NamedTuple):
    """The values of a CSV record and the line it ends on, or what is wrong with it."""

    line: int
    values: list[str]
    mistake: InputMistake | None = None


@dataclass(frozen=True)
class Chunk:
    """Some records: the texts of the good ones by column, and the broken ones, each with its place among all."""

    lines: Sequence[int]  # of the good ones
    texts: Sequence[pa.Array]
    broken: Sequence[tuple[int, Record]]


def first_record(lines: Iterable[bytes]) -> Record | None:
    return next(_records(lines, 0), None)


def chunks(file: IO[bytes] | GzipFile, columns: int) -> Iterator[Chunk]:
    """All records after the header."""
    blocks = _blocks(file)
    head = next(blocks, b"")
    first, _, rest = head.partition(b"\n")
    if b'"' in first or first.strip(b"\r") in (b"", _MARK):  # nobody knows where the header ends
        lines = chain.from_iterable(BytesIO(block) for block in chain([head], blocks))
        yield from _by_python(lines, 0, columns, header=True)
        return
    before = 1
    for block in chain([rest], blocks):
        if b'"' in block:  # a value may go on in the next block, and so on
            lines = chain.from_iterable(BytesIO(b) for b in chain([block], blocks))
            yield from _by_python(lines, before, columns)
            return
        if block:
            texts = _by_arrow(block, columns)
            if texts is None:
                yield from _by_python(BytesIO(block), before, columns)
            else:
                yield Chunk(range(before + 1, before + 1 + len(texts[0])), texts, ())
        before += block.count(b"\n")


def _blocks(file: IO[bytes] | GzipFile) -> Iterator[bytes]:
    """Whole lines; only the last may have no end."""
    begun: list[bytes] = []
    while block := file.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if not end:
            begun.append(block)
            continue
        yield b"".join([*begun, block[:end]])
        begun = [block[end:]]
    if rest := b"".join(begun):
        yield rest


def _by_arrow(block: bytes, columns: int) -> list[pa.Array] | None:
    """None: it is not as plain as it must be for both to agree. There is no quote in it."""
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    if columns < 2 or block.startswith(_NOT_FIRST) or any(part in block for part in _EMPTY_LINES):
        return None
    if block.count(b"\r") != block.count(b"\r\n"):
        return None
    names = [str(at) for at in range(columns)]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
            arrow_csv.ParseOptions(quote_char=False, double_quote=False, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException:  # a line with more or fewer values, or not UTF-8
        return None
    texts = [column.combine_chunks() for column in table.columns]
    arrays = [pa.concat_arrays(t.chunks) if isinstance(t, pa.ChunkedArray) else t for t in texts]
    if any((pc.max(pc.binary_length(text)).as_py() or 0) > _LONGEST for text in arrays):
        return None
    return arrays


def _by_python(lines: Iterable[bytes], before: int, columns: int, header: bool = False) -> Iterator[Chunk]:
    records = _records(lines, before)
    if header:
        next(records, None)
    while some := [_counted(record, columns) for record in islice(records, BATCH)]:
        good = [record for record in some if record.mistake is None]
        texts = [pa.array([record.values[at] for record in good], pa.string()) for at in range(columns)]
        broken = [(at, record) for at, record in enumerate(some) if record.mistake is not None]
        yield Chunk([record.line for record in good], texts, broken)


def _counted(record: Record, columns: int) -> Record:
    if record.mistake is not None or len(record.values) == columns:
        return record
    return record._replace(mistake=InputMistake(f"{len(record.values)} values for {columns} columns"))


def _records(lines: Iterable[bytes], before: int) -> Iterator[Record]:
    """Records in the order of the file, after so many lines. A quoted value may hold line ends."""
    broken: list[Record] = []
    reader = csv.reader(_decoded(lines, before, broken))
    while True:
        try:
            values = next(reader, None)
            record = None if values is None else Record(before + reader.line_num, values)
        except csv.Error as failure:
            record = Record(before + reader.line_num, [], InputMistake(f"not CSV ({failure})"))
        yield from broken
        broken.clear()
        if record is None:
            return
        if record.values or record.mistake:
            yield record


def _decoded(lines: Iterable[bytes], before: int, broken: list[Record]) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            broken.append(Record(number, [lossy(line)], InputMistake("not UTF-8 text")))
            yield "\n"  # so that the lines after it keep their numbers
