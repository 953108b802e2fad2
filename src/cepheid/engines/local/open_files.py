"""Opening a file of lines, packed or not, and saying what is wrong with one that cannot be read."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

import pyarrow as pa

from cepheid.errors import InputMistake

_BLOCK = 1 << 20


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """What the system says about a file it cannot read, as one message with the file's name."""
    try:
        yield
    except (OSError, EOFError, zlib.error, pa.ArrowException) as failure:
        raise InputMistake(f"{path} cannot be read: {failure}", code="bad_file") from None


@contextmanager
def bytes_of(path: Path) -> Iterator[tuple[IO[bytes] | gzip.GzipFile, IO[bytes]]]:
    """Its lines, and the file itself, whose position says how far reading has come."""
    with path.open("rb") as raw:
        if path.suffix.lower() == ".gz":
            with closing(gzip.GzipFile(fileobj=raw)) as unpacked:
                yield unpacked, raw
        else:
            yield raw, raw


def lines_in(file: IO[bytes] | gzip.GzipFile) -> int:
    """Counted without looking at them, up to where the file can be read; the last may have no end."""
    count = 1
    with suppress(OSError, EOFError, zlib.error):
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
    return count


def lossy(line: str | bytes) -> str:
    return (line if isinstance(line, str) else line.decode("utf-8", "backslashreplace")).strip()
