"""Copies of a bucket's state in files, for the other workers of the machine.

Spark gives a task to any worker that is idle, so a bucket often comes to one that has not its state in memory. From
Spark's store state comes to Python slowly, byte after byte as text. So whoever writes state leaves a copy in a file, in
a folder that Spark clears away at its end. A copy is called after the attempt that wrote it, and the store says
which attempt its state is of: a copy that an attempt left which then failed is asked for by nobody. Where there is
none, on another machine or after a restart, the store is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


class LocalCopies:
    """Of one bucket of one query."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def leave(self, name: str, body: bytes) -> None:
        """If there is no room for it, there is no copy."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(body)
        except OSError:
            self._remove([name])

    def find(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return None

    def keep_only(self, wanted: Iterable[str]) -> None:
        """Those whose names begin so."""
        beginnings = tuple(wanted)
        try:
            found = [entry.name for entry in os.scandir(self.folder)]
        except OSError:
            return
        self._remove(name for name in found if not name.startswith(beginnings))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError:  # it is in the way of nobody
                continue


def folder_of(identity: str, bucket: int) -> Path:
    """Where the workers of a machine find each other's copies, as long as the application runs."""
    from pyspark.files import SparkFiles

    return Path(SparkFiles.getRootDirectory()).absolute() / "cepheid" / identity / str(bucket)
