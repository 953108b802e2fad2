"""`cepheid report CHECKPOINT`: a page about a stream, from the file it writes beside its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cepheid import __version__
from cepheid.cli.reporting import write_page, written
from cepheid.engines.program import Program, compile
from cepheid.engines.spark.progress import read_lines
from cepheid.engines.spark.stream_view import find_progress, rates_of, view_of
from cepheid.errors import CepheidError, InputMistake
from cepheid.explain.charts import Line
from cepheid.explain.report import Chart, RunReport, StreamReport, render_report

Lines = Sequence[Mapping[str, Any]]
_UNKNOWN = (
    "Single matches: they are where the stream writes them.",
    "How many runs reached each step: a stream counts what is open, not what has been.",
    "Rows that no pattern reads: Spark leaves them out before anything is counted.",
)
_CUT = "Micro-batches before the first that is shown: of a long stream the file keeps the last ones. Totals are of all."


def report_stream(place: str, out: Path, title: str | None) -> None:
    path = find_progress(place)
    lines = read_lines(path)
    if not lines:
        raise InputMistake(f"{path} has no line yet", code="no_progress")
    write_page(out, render_report(stream_report(lines, path, title)))


def stream_report(lines: Lines, path: Path, title: str | None = None) -> RunReport:
    """Micro-batch by micro-batch, by the clock."""
    view, program = view_of(lines, lines[-1]["at"]), _program(path.parent)
    return RunReport(
        title=title or f"The stream {view.query or path.parent.name}",
        source=f"{len(lines):,} micro-batches up to number {view.batch:,}, {path.parent}",
        streams=[_stream(name, lines, program) for name in lines[-1]["open"]],
        events=view.events,
        elapsed=sum(line["seconds"] for line in lines),
        charts=list(_charts(lines)),
        facts=[
            ("micro-batches", view.batch + 1),
            ("late", view.late),
            ("too late", view.too_late),
            ("dead letters", view.dead_letters),
        ],
        unknown=_UNKNOWN if lines[0]["batch"] == 0 else (*_UNKNOWN, _CUT),
        made=f"Made by Cepheid {__version__}.",
        timed=False,
        clock=True,
    )


def _stream(name: str, lines: Lines, program: Program | None) -> StreamReport:
    totals = lines[-1]["totals"]
    known = [line for line in lines if line["open"].get(name) is not None]
    steps = dict.fromkeys(step for line in known for step in line["open"][name])
    timeouts = totals["timeouts"].get(name, 0)
    return StreamReport(
        name=name,
        pattern="" if program is None else written(program, name),
        count=totals["matches"].get(name, 0),
        counts=[(_time(line), line["matches"].get(name, 0)) for line in lines],
        open_runs=[Line(step, _points(known, lambda r, s=step: r["open"][name].get(s, 0))) for step in steps],
        notes=[f"{timeouts:,} timeouts"] if timeouts else [],
    )


def _charts(lines: Lines) -> list[Chart]:
    rates = [(_time(line), rate) for line, rate in zip(lines, rates_of(lines), strict=True)]
    timed = [line for line in lines if line["watermark"] is not None]
    return [
        Chart("Throughput", [Line("events a second", rates)]),
        Chart("Latency", [Line("seconds a micro-batch took", _points(lines, lambda r: r["seconds"]))], " s"),
        Chart(
            "Watermark",
            [Line("seconds behind the clock", _points(timed, lambda r: r["at"] - r["watermark"]))],
            " s",
        ),
        Chart(
            "State",
            [
                Line("keys with open runs", _points(lines, lambda r: r["keys"])),
                Line("events that wait for the watermark", _points(lines, lambda r: r["waiting"])),
            ],
        ),
        Chart(
            "Late events, in all",
            [
                Line(name, _points(lines, lambda r, n=column: r["totals"][n]))
                for name, column in (
                    ("matched late", "late"),
                    ("too late", "too_late"),
                    ("dead letters", "dead_letters"),
                )
            ],
        ),
    ]


def _points(lines: Lines, value: Callable[..., float]) -> list[tuple[int, float]]:
    return [(_time(line), value(line)) for line in lines]


def _time(line: Mapping[str, Any]) -> int:
    return int(line["at"] * 1_000_000)


def _program(checkpoint: Path) -> Program | None:
    """What the checkpoint was started with; None: it lies elsewhere."""
    try:
        (part,) = (checkpoint / "cepheid").glob("part-*")
        return compile(json.loads(part.read_text(encoding="utf-8"))["program"])
    except (OSError, ValueError, KeyError, CepheidError):
        return None
