"""Scores worked out by hand, the command line, and the example of the machines."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cepheid
from cepheid.cli import main
from cepheid.errors import CepheidError
from cepheid.forecast.report import report_page
from cepheid.forecast.scoring import score

MACHINES = Path(__file__).parent.parent.parent / "examples" / "machines"


def _row(
    run: str, event: int, time: float, p: float, until: float | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "run_id": run,
        "event": event,
        "time": time,
        "forecast_probability": p,
        "forecast_until": until,
        **more,
    }


def _end(run: str, event: int, time: float, outcome: str) -> dict[str, Any]:
    return {"run_id": run, "event": event, "time": time, "outcome": outcome}


def test_a_score_by_hand() -> None:
    forecasts = [
        _row(
            "a", 1, 0.0, 0.8, 10.0, forecast_time=4.0, forecast_low=1.0, forecast_high=6.0
        ),  # completed after 5 s
        _row("a", 2, 3.0, 0.6, 13.0, forecast_time=4.0, forecast_low=3.0, forecast_high=6.0),  # after 2 s
        _row("b", 1, 0.0, 0.3, 10.0),  # completed too late
        _row("c", 1, 0.0, 0.1, 10.0),  # ended
        _row("d", 1, 0.0, 0.9, 10.0),  # the input ends before: left out
        _row("e", 1, 0.0, 0.2, 10.0),  # open at the end, but beyond its horizon: it did not come true
        _row("f", 1, 0.0, 0.5, 10.0),  # nothing is known of it
        _row("g", 1, 8.0, 0.5, 18.0),  # came true, but had it not, that would not be known yet: left out
    ]
    outcomes = [
        _end("a", 3, 5.0, "completed"),
        _end("b", 9, 11.0, "completed"),
        _end("c", 4, 6.0, "ended"),
        _end("d", 2, 9.0, "open"),
        _end("e", 2, 14.0, "open"),
        _end("g", 2, 9.0, "completed"),
    ]
    found = score(forecasts, outcomes)
    assert (found.forecasts, found.undecided, found.base_rate) == (5, 3, 0.4)
    assert found.brier == pytest.approx((0.2**2 + 0.4**2 + 0.3**2 + 0.1**2 + 0.2**2) / 5)
    assert found.brier_of_base_rate == pytest.approx(0.24)
    assert [(d.low, d.count, d.happened) for d in found.deciles] == [
        (0.1, 1, 0.0),
        (0.2, 1, 0.0),
        (0.3, 1, 0.0),
        (0.6, 1, 1.0),
        (0.8, 1, 1.0),
    ]
    # Within a quarter of the horizon one of the two alarms has come true, and it was the only one to find.
    assert [(h.within, h.precision, h.recall) for h in found.horizons] == [
        (1.25, 0.0, None),
        (2.5, 0.5, 1.0),
        (5.0, 1.0, 1.0),
        (10.0, 1.0, 1.0),
    ]
    at = {t.threshold: t for t in found.thresholds}
    assert (at[0.5].alarms, at[0.5].precision, at[0.5].recall, at[0.5].lead) == (1, 1.0, 1.0, 5.0)
    assert (at[0.3].alarms, at[0.3].precision) == (2, 0.5)
    assert found.time is not None
    assert (found.time.count, found.time.bias, found.time.error) == (2, -0.5, 1.5)
    assert found.time.covered == 0.5


def test_a_run_that_completes_is_told_of_anew() -> None:
    """The forecast at the very event that completed the run is about the next match."""
    forecasts = [_row("a", 1, 0.0, 0.9), _row("a", 3, 2.0, 0.9)]
    outcomes = [_end("a", 3, 2.0, "completed"), _end("a", 5, 9.0, "ended")]
    assert score(forecasts, outcomes).base_rate == 0.5


def test_a_horizon_in_events() -> None:
    forecasts = [
        _row("a", 1, 0.0, 0.9, forecast_until_event=3),
        _row("b", 1, 0.0, 0.9, forecast_until_event=3),
    ]
    outcomes = [_end("a", 3, 2.0, "completed"), _end("b", 4, 3.0, "completed")]
    assert score(forecasts, outcomes).base_rate == 0.5


def test_nothing_to_score() -> None:
    with pytest.raises(CepheidError) as caught:
        score([], [])
    assert caught.value.code == "nothing_to_score"


def test_the_machines_from_the_data_to_the_page(tmp_path: Path) -> None:
    """The data are what their script makes, and the figures those of the documents."""
    made = runpy.run_path(str(MACHINES / "make_data.py"))
    made["write"](tmp_path / "readings.csv")
    assert (tmp_path / "readings.csv").read_bytes() == (MACHINES / "readings.csv").read_bytes()
    with (MACHINES / "readings.csv").open() as file:
        assert sum(row["type"] == "Failure" for row in csv.DictReader(file)) == 210
    run = CliRunner().invoke
    foretold, page = str(tmp_path / "foretold.jsonl"), tmp_path / "report.html"
    query, readings = str(MACHINES / "failures.cep"), str(MACHINES / "readings.csv")
    done = run(
        main, ["run", query, readings, "--forecasts", foretold, "--engine", "reference", "--limit", "0"]
    )
    assert done.exit_code == 0, done.output
    assert "forecasts: Failing" in done.output
    done = run(main, ["forecast-report", foretold, "--html", str(page)])
    assert done.exit_code == 0, done.output
    documented = (MACHINES.parent.parent / "docs" / "forecasts.md").read_text(encoding="utf-8")
    for figure in ("3,674 forecasts", "41.5%", "0.1868", "0.2427"):
        assert figure in done.output
        assert figure in documented
    rows = [line.strip("│").split("│") for line in done.output.splitlines() if line.startswith("│       0.")]
    shown = ["| " + " | ".join(cell.strip() for cell in row) + " |" for row in rows]
    assert [row for row in shown if row in documented] == [
        row for row in shown if row[2:5] in ("0.3", "0.5", "0.7")
    ]
    text = page.read_text(encoding="utf-8")
    assert text.count("<circle") > 8
    assert "http" not in text  # it needs nothing else


def test_the_command_that_trains(tmp_path: Path) -> None:
    (tmp_path / "q.cep").write_text(
        "stream S = A -> first B .forecast(horizon: 2, confidence: 0, warmup: 10)"
    )
    rows = "\n".join(f"{i},{'AB'[i % 2]}" for i in range(40))
    (tmp_path / "e.csv").write_text(f"time,type\n{rows}\n")
    run = CliRunner().invoke
    query, events, model = (str(tmp_path / name) for name in ("q.cep", "e.csv", "m.json"))
    done = run(main, ["forecast-train", query, events, "--out", model])
    assert (done.exit_code, done.output) == (0, "S: learned from 40 events\n")
    told = str(tmp_path / "f.jsonl")
    done = run(main, ["run", query, events, "--model", model, "--forecasts", told, "-q"])
    assert done.exit_code == 0
    first = next(line for line in Path(told).read_text().splitlines() if '"kind": "forecast"' in line)
    assert '"event": 1,' in first  # it need not warm up
    (tmp_path / "bad.jsonl").write_text("no json\n")
    done = run(main, ["forecast-report", str(tmp_path / "bad.jsonl")])
    assert (done.exit_code, "line 1 is no forecast" in done.output) == (1, True)


def test_the_page_escapes_its_title() -> None:
    found = score([_row("a", 1, 0.0, 0.9)], [_end("a", 3, 2.0, "completed")])
    assert "&lt;b&gt;" in report_page(found, "<b>")
    assert cepheid.__version__
