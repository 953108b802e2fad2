"""`cepheid forecast-train` and `cepheid forecast-report`."""

from __future__ import annotations

import click

from cepheid.cli.arguments import event_columns
from cepheid.cli.reading import read_text


@click.command("forecast-train")
@click.argument("file", metavar="FILE.cep")
@click.argument("events", metavar="EVENTS")
@click.option("--out", required=True, metavar="PATH", help="Where the model goes.")
@event_columns
def forecast_train(
    file: str,
    events: str,
    out: str,
    time_column: str,
    type_column: str,
    order: tuple[str, ...],
    time_unit: str,
) -> None:
    """Learn what the forecasts of FILE.cep can learn from EVENTS, and save it."""
    from cepheid.cli.forecasting import train

    train(read_text(file), events, out, time=time_column, type=type_column, order=order, time_unit=time_unit)


@click.command("forecast-report")
@click.argument("file", metavar="FORECASTS")
@click.option("--stream", metavar="NAME", help="Only this stream's forecasts.")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Of an alarm.")
@click.option("--html", metavar="PATH", help="Also write a page with the reliability diagram.")
def forecast_report(file: str, stream: str | None, threshold: float, html: str | None) -> None:
    """Hold forecasts against what happened: FORECASTS is what `cepheid run --forecasts` has written.

    \b
    cepheid run fraud.cep payments.jsonl --forecasts foretold.jsonl
    cepheid forecast-report foretold.jsonl --html report.html
    """
    from cepheid.cli.forecasting import report

    report(file, stream, threshold, html)
