"""How far a stream is, as a small file that other processes read: `cepheid watch` and `cepheid report`.

A line of JSON for each micro-batch, in the checkpoint's folder. It is written where the batch is written, after its
rows, and whatever goes wrong with it is no concern of the query's.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from cepheid.errors import CepheidWarning, InputMistake

FILE = "cepheid-progress.jsonl"
_MOST_BYTES = 1 << 20  # then the file becomes the old one, and a new one begins
SUMS = ("events", "late", "too_late", "dead_letters")
BY_STREAM = ("matches", "timeouts")
_KINDS = {"match": "matches", "timeout": "timeouts"}

Found = Mapping[tuple[str, str], int]  # how many of each kind and stream
Metrics = Mapping[str, Any]  # what a bucket said at the end of a micro-batch


@dataclass
class ProgressFile:
    """Writes the lines of one start of a query. Over Connect it travels to where the batches are written."""

    path: str
    query: str | None
    steps: Mapping[str, tuple[str, ...]]  # of each stream, what its states are called
    held: dict[tuple[Any, ...], Metrics] = field(
        default_factory=dict
    )  # of each bucket, the last that was said
    last: dict[str, Any] | None = None
    start: float | None = None
    gave_up: bool = False

    def write(self, batch: int, seconds: float, found: Found, buckets: Iterable[Metrics]) -> None:
        """One micro-batch. One that comes again has its line again: the last of a number counts."""
        if self.gave_up:
            return
        try:
            self._write(batch, seconds, found, list(buckets))
        except (OSError, InputMistake) as failure:
            self.gave_up = True
            warnings.warn(
                f"the progress of the stream cannot be written to {self.path}, so `cepheid watch` will not see it: "
                f"{failure}",
                CepheidWarning,
                stacklevel=2,
            )

    def _write(self, batch: int, seconds: float, found: Found, buckets: list[Metrics]) -> None:
        if self.start is None:
            # A folder that is not here belongs to another file system: Spark has made its own by now.
            if not Path(self.path).parent.is_dir():
                self.gave_up = True
                return
            self._begin()
        line = self._line(batch, seconds, found, buckets)
        path = Path(self.path)
        if path.exists() and path.stat().st_size > _MOST_BYTES:
            os.replace(path, old_file(path))
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.last = line

    def _begin(self) -> None:
        lines = read_lines(Path(self.path))
        self.last = lines[-1] if lines else None
        self.start = time.time()
        if self.query is not None:
            leave_note(self.query, self.path)

    def _line(self, batch: int, seconds: float, found: Found, buckets: list[Metrics]) -> dict[str, Any]:
        sums = {name: sum(b[name] for b in buckets) for name in ("events", "late", "too_late")}
        sums["dead_letters"] = sum(n for (kind, _), n in found.items() if kind == "dead_letter")
        by_stream: dict[str, dict[str, int]] = {name: {} for name in BY_STREAM}
        for (kind, stream), count in found.items():
            if kind in _KINDS:
                by_stream[_KINDS[kind]][stream] = count
        for bucket in buckets:
            self.held[(bucket["bucket"], *json.loads(bucket["open"] or "{}"))] = bucket
        watermarks = [datetime.fromisoformat(b["watermark"]).timestamp() for b in buckets if b["watermark"]]
        known = [*watermarks, *([self.last["watermark"]] if self.last and self.last["watermark"] else [])]
        this = {**sums, **by_stream}
        return {
            "at": round(time.time(), 3),
            "batch": batch,
            "seconds": round(seconds, 3),
            **this,
            "totals": _added(self._before(batch), this),
            "open": self._open(),
            "keys": sum(b["keys"] for b in self.held.values()),
            "waiting": sum(b["waiting"] for b in self.held.values()),
            "watermark": max(known, default=None),
            "query": self.query,
            "started": round(self.start or 0, 3),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }

    def _before(self, batch: int) -> dict[str, Any]:
        """The totals up to the batch before: of a batch that comes again, what it counted does not count."""
        if self.last is None:
            return {}
        totals: dict[str, Any] = self.last["totals"]
        if self.last["batch"] != batch:
            return totals
        return _added(totals, self.last, -1)

    def _open(self) -> dict[str, dict[str, int] | None]:
        """Runs by stream and step, of all buckets that have had work since the start."""
        found: dict[str, Counter[str] | None] = {name: Counter() for name in self.steps}
        for bucket in self.held.values():
            for stream, counts in json.loads(bucket["open"] or "{}").items():
                before = found.get(stream)
                if counts is None or before is None:
                    found[stream] = None
                    continue
                for state, count in counts.items():
                    before[self.steps[stream][int(state)]] += count
        return {name: None if counts is None else dict(counts) for name, counts in found.items()}


def _added(one: Mapping[str, Any], other: Mapping[str, Any], sign: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = {name: one.get(name, 0) + sign * other[name] for name in SUMS}
    for name in BY_STREAM:
        mine, theirs = one.get(name, {}), other[name]
        streams = dict.fromkeys([*mine, *theirs])
        found[name] = {stream: mine.get(stream, 0) + sign * theirs.get(stream, 0) for stream in streams}
    return found


# Where it lies.


def progress_path(checkpoint: str) -> str | None:
    """In the checkpoint's folder, if that is on this machine as far as its name tells."""
    if checkpoint.startswith("file:"):
        checkpoint = unquote("/" + checkpoint.removeprefix("file:").lstrip("/"))
    return None if "://" in checkpoint else str(Path(checkpoint).absolute() / FILE)


def old_file(path: Path) -> Path:
    return path.with_name(path.name + ".1")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of the old file and of the new one, one for each micro-batch, in their order."""
    found: dict[int, dict[str, Any]] = {}
    for part in (old_file(path), path):
        try:
            text = part.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        for row in text.splitlines():
            try:
                line = json.loads(row)
            except ValueError:  # it is being written
                continue
            if not isinstance(line, dict) or "totals" not in line:
                raise InputMistake(
                    f"{part} is not what a stream writes of its progress",
                    code="no_progress",
                    hint="give the folder of its checkpoint",
                )
            found.pop(line["batch"], None)
            found[line["batch"]] = line
    return list(found.values())


# Queries by their names, on this machine.


def notes_folder() -> Path:
    return (
        Path(tempfile.gettempdir())
        / f"cepheid-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        / "queries"
    )


def leave_note(query: str, path: str) -> None:
    """So that a query is found by its name. Nothing is lost if it cannot be left."""
    folder = notes_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / quote(query, safe="")).write_text(path, encoding="utf-8")
    except OSError:
        return


def noted_queries() -> dict[str, str]:
    """The names of queries that ran here, and where their progress lies."""
    try:
        notes = list(notes_folder().iterdir())
    except OSError:
        return {}
    return {unquote(note.name): note.read_text(encoding="utf-8") for note in notes if note.is_file()}
