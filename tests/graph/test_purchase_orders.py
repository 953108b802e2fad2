"""The example of `examples/purchase-orders`: what is found in the log, and by the command, and day by day."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cepheid
from cepheid.cli import main
from cepheid.graph.happenings import Expired

FOLDER = Path(__file__).parent.parent.parent / "examples" / "purchase-orders"
DEVIATIONS = (FOLDER / "deviations.graph").read_text(encoding="utf-8")
LOG = FOLDER / "log.csv"
WANTED = {
    "skipped_approval": [{"case": "PO-2", "amount": 4800, "created": "e4", "sent": "e5"}],
    "four_eyes": [{"case": "PO-3", "who": "lena", "created": "e6", "approved": "e7"}],
    "stale_approval": [{"case": "PO-6", "amount": 9900, "approved": "e15", "changed": "e17", "sent": "e18"}],
    "paid_late": [{"case": "PO-4", "invoiced": "e28", "paid": "e40"}],
}


def by_pattern(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["pattern"], []).append(row["bindings"])
    return found


def test_the_whole_log() -> None:
    graph = cepheid.Graph().read_events(LOG, time="time", node="event")
    assert by_pattern(graph.find(DEVIATIONS).rows()) == WANTED


def test_event_by_event() -> None:
    sifter = cepheid.Sifter(DEVIATIONS)
    sifter.read_events(LOG, time="time", node="event")
    sifter.finish_all()
    assert by_pattern(sifter.drain_completed().rows()) == WANTED


def command(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["graph", str(FOLDER / "deviations.graph"), *arguments])


def test_the_command() -> None:
    shown = command(str(LOG), "--time", "time", "--node", "event", "--format", "json")
    assert shown.exit_code == 0, shown.output
    assert by_pattern([json.loads(line) for line in shown.stdout.splitlines()]) == WANTED


def test_the_command_in_words(tmp_path: Path) -> None:
    shown = command(str(LOG), "--time", "time", "--node", "event", "--format", "csv")
    rows = list(csv.DictReader(shown.stdout.splitlines()))
    assert [row["pattern"] for row in rows] == list(WANTED)
    assert rows[3] == {
        "pattern": "paid_late",
        "bindings": "invoiced=e28 case=PO-4 paid=e40",
        "stages": "invoiced 2024-03-21 09:00:00, paid 2024-05-01 09:30:00",
    }
    table = command(str(LOG), "--time", "time", "--node", "event")
    assert "PO-6" in table.stdout
    parquet = command(
        str(LOG), "--time", "time", "--format", "parquet", "--out", str(tmp_path / "found.parquet")
    )
    assert parquet.exit_code == 0, parquet.output
    assert (tmp_path / "found.parquet").stat().st_size > 0


def test_the_command_over_edges(tmp_path: Path) -> None:
    edges = tmp_path / "edges.csv"
    edges.write_text("s,what,text,number,since\ne1,kind,enter,,1\ne1,floor,,7,1\ne2,kind,leave,,2\n")
    patterns = tmp_path / "p.graph"
    patterns.write_text(
        'graph pattern p { stage a { .kind = "enter", .floor > 5 -> ?f } stage b { .kind = "leave" } }'
    )
    names = ["--source", "s", "--label", "what", "--target", "text", "--target", "number", "--start", "since"]
    shown = CliRunner().invoke(main, ["graph", str(patterns), str(edges), *names, "--format", "json"])
    assert shown.exit_code == 0, shown.output
    row = json.loads(shown.stdout)
    assert row["bindings"] == {"a": "e1", "b": "e2", "f": 7}
    assert (row["first"], row["last"]) == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([str(LOG)], "there is no column `start`"),
        ([str(LOG), "--node", "event"], "--time"),
        ([str(LOG), "--time", "when"], "there is no time column `when`"),
        (["nowhere.csv"], "there is no file nowhere.csv"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], said: str) -> None:
    shown = command(*arguments)
    assert shown.exit_code in (1, 2)
    assert said in shown.output


def test_a_mistake_in_the_patterns_is_shown_with_its_file(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.graph"
    wrong.write_text("graph pattern p {\n  stage a { kind = 3 }\n}\n")
    shown = CliRunner().invoke(main, ["graph", str(wrong), str(LOG)])
    assert shown.exit_code == 1
    assert f"{wrong}, line 2, column 13: a label begins with a dot" in shown.output


def test_the_service_level_day_by_day() -> None:
    """Invoices of PO-4 and PO-7 were not paid within 30 days: what the end of the 31st day tells."""
    sifter = cepheid.Sifter((FOLDER / "service_level.graph").read_text(encoding="utf-8"))
    with LOG.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    day, last = (
        datetime.fromisoformat(rows[0]["time"]).date(),
        datetime.fromisoformat(rows[-1]["time"]).date(),
    )
    missed = {}
    while day <= last:
        today = [row for row in rows if row["time"].startswith(day.isoformat())]
        sifter.read_events([{k: v for k, v in row.items() if v} for row in today], node="event")
        _, told = sifter.end_tick()
        missed |= {h.binds["case"]: (day, h.elapsed) for h in told if isinstance(h, Expired)}
        day += timedelta(days=1)
    assert {case: (str(d), n) for case, (d, n) in missed.items()} == {
        "PO-4": ("2024-04-20", 31),
        "PO-7": ("2024-04-28", 31),
    }
    assert sorted(m.binds["case"] for m in sifter.drain_completed()) == [
        "PO-1",
        "PO-2",
        "PO-3",
        "PO-5",
        "PO-6",
    ]
