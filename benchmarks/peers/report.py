"""The figures as a table on the terminal and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from peers.queries import Query
from peers.running import Result

# What the rates are divided by: each engine is shown beside all of ours.
BESIDE = ("cepheid", "cepheid-memory", "cepheid-spark")


def warn_if_busy(console: Console) -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        console.print(f"This machine is busy (load {load:.1f}, {cores} cores): the times below say little.")


def show(query: Query, results: Sequence[Result], console: Console) -> None:
    """One query's lines; a ratio above 1 is an engine that is faster than Cepheid."""
    table = Table(title=f"{query.name}: {query.asks}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("engine", no_wrap=True)
    for head in ("events", "matches", "seconds", "events/s", *(f"x {name}" for name in BESIDE)):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("why there is no figure", overflow="fold")
    rates = {r.peer: r.rate for r in results}
    for result in results:
        table.add_row(*_cells(result, [rates.get(name) for name in BESIDE]))
    console.print(table)


def _cells(result: Result, beside: list[float | None]) -> list[str]:
    rate = result.rate
    if result.answer is None or rate is None:
        why = result.why_not.splitlines()[0][:300]
        return [
            result.peer,
            f"{result.events:,}",
            *[""] * (3 + len(BESIDE)),
            f"WRONG: {why}" if result.wrong else why,
        ]
    ratios = [f"{rate / other:,.2f}" if other else "" for other in beside]
    figures = [f"{len(result.answer.rows):,}", f"{result.answer.seconds:,.2f}", f"{rate:,.0f}"]
    return [result.peer, f"{result.events:,}", *figures, *ratios, ""]


def write_json(path: Path, results: Sequence[Result], settings: dict[str, Any]) -> None:
    machine: dict[str, Any] = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    lines = [_as_dict(r) for r in results]
    path.write_text(json.dumps({"machine": machine, "settings": settings, "results": lines}, indent=1) + "\n")


def _as_dict(result: Result) -> dict[str, Any]:
    line: dict[str, Any] = {"query": result.query, "engine": result.peer, "events": result.events}
    if result.answer is None:
        return line | {"why_not": result.why_not, "wrong": result.wrong}
    return line | {
        "matches": len(result.answer.rows),
        "digest": result.answer.digest,
        "seconds": round(result.answer.seconds, 4),
        "warm_up_seconds": round(result.answer.warm_up, 3),
        "process_start_seconds": round(result.answer.start, 3),
        "load_before": round(result.load, 1),
        "events_a_second": round(result.rate or 0),
    }
