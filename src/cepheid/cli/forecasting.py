"""`cepheid forecast-train` and `cepheid forecast-report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from cepheid.engines.forecast_training import train_forecast
from cepheid.errors import InputMistake
from cepheid.forecast.report import percent, seconds_text, write_report
from cepheid.forecast.scoring import Score, score


def train(text: str, events: str, out: str, **options: Any) -> None:
    models = train_forecast(text, events, **options)
    models.save(out)
    for name, count in models.events.items():
        click.echo(f"{name}: learned from {count:,} events", err=True)


def report(file: str, stream: str | None, threshold: float, html: str | None) -> None:
    forecasts, outcomes, names = _rows(file, stream)
    if len(names) > 1:
        listed = ", ".join(sorted(names))
        raise InputMistake(
            f"{file} has forecasts of several streams: {listed}",
            code="several_streams",
            hint=f"choose one: --stream {min(names)}",
        )
    found = score(forecasts, outcomes, threshold)
    _print(found)
    if html is not None:
        write_report(found, html, f"Forecasts of {next(iter(names), 'a stream')}")
        click.echo(f"the report is in {html}", err=True)


def _rows(file: str, stream: str | None) -> tuple[list[Any], list[Any], set[str]]:
    """Forecasts, outcomes, and whose they are. A folder, as Spark writes it, holds files."""
    path = Path(file)
    if not path.exists():
        raise InputMistake(f"there is no file {file}", code="no_such_file")
    files = sorted(path.rglob("*.json*")) if path.is_dir() else [path]
    by_kind: dict[str, list[Any]] = {"forecast": [], "outcome": []}
    names: set[str] = set()
    for one in files:
        for number, line in enumerate(one.read_text(encoding="utf-8").splitlines(), 1):
            row = _row(line, one, number)
            name = row.get("stream") or one.parent.name
            kind = row.get("kind") or ("outcome" if "outcome" in row else "forecast")
            if kind in by_kind and stream in (None, name):
                by_kind[kind].append(row)
                names.add(name)
    return by_kind["forecast"], by_kind["outcome"], names


def _row(line: str, file: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise InputMistake(
            f"{file}, line {number} is no forecast",
            code="bad_file",
            hint="give what `cepheid run --forecasts PATH` has written",
        )
    return row


def _print(found: Score) -> None:
    console = Console()
    console.print(
        f"{found.forecasts:,} forecasts, {percent(found.base_rate)} came true; "
        f"{found.undecided:,} left out, as the input ended before their horizon"
    )
    console.print(f"Brier score {found.brier:.4f}, of the base rate {found.brier_of_base_rate:.4f}")
    console.print(f"log loss    {found.log_loss:.4f}, of the base rate {found.log_loss_of_base_rate:.4f}")
    deciles = _table("foretold", "forecasts", "mean", "happened", "gap")
    for d in found.deciles:
        cells = (f"{d.count:,}", percent(d.foretold), percent(d.happened), f"{100 * d.gap:+.1f}")
        deciles.add_row(f"{d.low:.1f} – {d.high:.1f}", *cells)
    console.print(deciles)
    horizons = _table(f"alarms of {found.threshold:g}, within", "precision", "recall")
    for h in found.horizons:
        horizons.add_row(seconds_text(h.within), percent(h.precision), percent(h.recall))
    console.print(horizons)
    thresholds = _table("threshold", "runs alarmed", "precision", "recall", "lead time")
    for t in found.thresholds:
        cells = (f"{t.alarms:,}", percent(t.precision), percent(t.recall), seconds_text(t.lead))
        thresholds.add_row(f"{t.threshold:g}", *cells)
    console.print(thresholds)
    if found.time is not None:
        time = found.time
        console.print(
            f"time: off by {seconds_text(time.error)} on average ({seconds_text(time.plain)} for the best single "
            f"number), bias {seconds_text(time.bias)}, inside the interval {percent(time.covered)}"
        )


def _table(*names: str) -> Table:
    table = Table()
    for name in names:
        table.add_column(name, justify="right")
    return table
