"""`cepheid run --unfinished`: what did not become a match is not lost."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from cepheid.cli import main


def test_timeouts_and_pending_absences_are_written(tmp_path: Path) -> None:
    query = tmp_path / "q.cep"
    query.write_text(
        "stream Pair = A as a -> B as b .stnm() .within(5s) .timeouts()\nstream Quiet = A as a -> NOT B within 1m"
    )
    events = tmp_path / "e.jsonl"
    events.write_text('{"type": "A", "time": 0, "n": 1}\n{"type": "X", "time": 9}\n')
    out = tmp_path / "open.jsonl"
    result = CliRunner().invoke(main, ["run", str(query), str(events), "--unfinished", str(out)])
    assert result.exit_code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["stream"], r["kind"], r["a"]["n"]) for r in rows] == [
        ("Pair", "timeout", 1),
        ("Quiet", "pending", 1),
    ]
    assert rows[0]["deadline"] == "1970-01-01T00:00:05Z"
    assert rows[0]["waiting_for"] == ["B"]
