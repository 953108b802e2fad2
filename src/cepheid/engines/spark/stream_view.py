"""A stream as its progress file shows it: what `cepheid watch` and `cepheid report` make pictures of."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cepheid.engines.spark.progress import FILE, noted_queries, read_lines
from cepheid.errors import InputMistake, nearest

_RATED = 20  # micro-batches: the rate is that of the last ones
_HISTORY = 60


@dataclass(frozen=True)
class ViewedStream:
    """One pattern of the program. `open` is runs by step; None: not known of state that is older than the counting."""

    name: str
    matches: int
    last_matches: int
    timeouts: int
    open: Mapping[str, int] | None


@dataclass(frozen=True)
class StreamView:
    """The moment of the last micro-batch. Times are seconds since 1970, as the clock has them."""

    query: str | None
    batch: int
    at: float
    age: float  # of the last micro-batch
    seconds: float  # that it took
    events: int
    rate: float  # events a second, over the last micro-batches
    rates: tuple[float, ...]
    watermark: float | None
    lag: float | None
    late: int
    too_late: int
    dead_letters: int
    keys: int
    waiting: int
    streams: tuple[ViewedStream, ...]
    running: bool | None  # None: it runs on another machine, if at all
    host: str
    pid: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_progress(place: str) -> Path:
    """The progress file of a checkpoint's folder, or of a query by its name; or the file itself."""
    path = Path(place)
    if path.is_file():
        return path
    if path.is_dir():
        if (path / FILE).exists():
            return path / FILE
        raise InputMistake(
            f"{place} has no {FILE}",
            code="no_progress",
            hint="a stream writes it after its first micro-batch; is this the folder of its checkpoint?",
        )
    known = noted_queries()
    if place in known:
        return Path(known[place])
    names = sorted(known)
    raise InputMistake(
        f"{place} is neither a folder nor a query that ran on this machine",
        code="no_progress",
        hint=nearest(place, names)
        or (f"known are {', '.join(names)}" if names else "give the folder of the stream's checkpoint"),
    )


def view_of(lines: Sequence[Mapping[str, Any]], now: float) -> StreamView:
    """The view of lines, of which there is one at least, at a moment of the clock."""
    last, totals = lines[-1], lines[-1]["totals"]
    streams = tuple(
        ViewedStream(
            name,
            totals["matches"].get(name, 0),
            last["matches"].get(name, 0),
            totals["timeouts"].get(name, 0),
            counts,
        )
        for name, counts in last["open"].items()
    )
    rates = rates_of(lines)
    return StreamView(
        query=last["query"],
        batch=last["batch"],
        at=last["at"],
        age=max(0.0, now - last["at"]),
        seconds=last["seconds"],
        events=totals["events"],
        rate=_rate(lines[-_RATED:]),
        rates=tuple(rates[-_HISTORY:]),
        watermark=last["watermark"],
        lag=None if last["watermark"] is None else now - last["watermark"],
        late=totals["late"],
        too_late=totals["too_late"],
        dead_letters=totals["dead_letters"],
        keys=last["keys"],
        waiting=last["waiting"],
        streams=streams,
        running=_running(last),
        host=last["host"],
        pid=last["pid"],
    )


def viewed(path: Path, now: float) -> StreamView:
    lines = read_lines(path)
    if not lines:
        raise InputMistake(f"{path} has no line yet", code="no_progress")
    return view_of(lines, now)


def rates_of(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """Events a second of each micro-batch: from the end of the one before to its own end."""
    found = []
    for i, line in enumerate(lines):
        before = lines[i - 1] if i else None
        same = before is not None and before["started"] == line["started"]
        took = line["at"] - before["at"] if before is not None and same else line["seconds"]
        found.append(line["events"] / took if took > 0 else 0.0)
    return found


def _rate(lines: Sequence[Mapping[str, Any]]) -> float:
    """Of the micro-batches of the last start: a pause before it is no work."""
    own = [line for line in lines if line["started"] == lines[-1]["started"]]
    took = own[-1]["at"] - own[0]["at"] + own[0]["seconds"]
    return float(sum(line["events"] for line in own) / took) if took > 0 else 0.0


def _running(line: Mapping[str, Any]) -> bool | None:
    if line["host"] != socket.gethostname():
        return None
    try:
        os.kill(line["pid"], 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
