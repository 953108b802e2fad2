"""The demonstration finds what the generator planted: all of it, and nothing that only looks like it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import cepheid
from cepheid.cli import main
from cepheid.demo import EVENTS, QUERY, make_data
from cepheid.engines.local.run import Results


@pytest.fixture(scope="module")
def planted() -> make_data.Planted:
    return make_data.planted()


@pytest.fixture(scope="module")
def found() -> Results:
    return cepheid.run(QUERY.read_text(), str(EVENTS))  # type: ignore[no-any-return]


def test_the_shipped_file_is_what_the_script_makes() -> None:
    assert EVENTS.read_text() == "".join(make_data.lines())


def test_the_data_are_small() -> None:
    assert EVENTS.stat().st_size < 600_000
    assert len(EVENTS.read_text().splitlines()) > 3000


def test_there_is_something_to_find(planted: make_data.Planted) -> None:
    counts = [len(value) for value in vars(planted).values()]
    assert counts == [3, 6, 2, 5, 1, 3]


def test_takeovers(found: Results, planted: make_data.Planted) -> None:
    rows = found["AccountTakeover"].select(["user", "tries", "amount"]).to_pylist()
    assert rows == planted.takeovers


def test_card_tests(found: Results, planted: make_data.Planted) -> None:
    rows = found["CardTesting"].select(["card", "probes", "merchant"]).to_pylist()
    assert rows == planted.card_tests


def test_rings(found: Results, planted: make_data.Planted) -> None:
    assert [(r["one"], r["two"]) for r in found["FraudRing"].to_pylist()] == planted.rings


def test_unconfirmed_payments(found: Results, planted: make_data.Planted) -> None:
    assert found["Unconfirmed"]["payment"].to_pylist() == planted.unconfirmed
    assert [row["p"]["payment"] for row in found.pending["Unconfirmed"].to_pylist()] == planted.pending


def test_sprees(found: Results, planted: make_data.Planted) -> None:
    assert found["Spree"].select(["card", "payments"]).to_pylist() == planted.sprees


def test_nothing_to_warn_about(found: Results) -> None:
    assert found.warnings == []


def test_the_command_shows_tables_and_writes_a_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--engine", "local", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    for stream, count in {
        "AccountTakeover": 3,
        "CardTesting": 6,
        "Unconfirmed": 5,
        "Spree": 3,
        "FraudRing": 2,
    }.items():
        assert f"{stream}  {count} matches" in result.stdout
    path = tmp_path / "new" / "cepheid-demo.html"
    assert f"report: {path}" in result.stdout
    assert "A day of card payments" in path.read_text()


@pytest.mark.spark
def test_the_command_shows_the_same_on_spark(tmp_path: Path) -> None:
    """As a process of its own, so that what Java writes is heard too."""
    pytest.importorskip("pyspark", reason="needs the extra spark")
    shown = {engine: _demo(engine, tmp_path / engine) for engine in ("local", "spark")}
    assert _without_times(shown["spark"].stdout) == _without_times(shown["local"].stdout)
    assert shown["spark"].stderr == ""
    pages = {engine: (tmp_path / engine / "cepheid-demo.html").read_text() for engine in shown}
    assert "tries +18s LoginFailed(" in pages["spark"]
    assert pages["spark"].count("<circle") == pages["local"].count("<circle") > 20


def _demo(engine: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cepheid", "demo", "--engine", engine, "--out", str(folder)]
    env = {**os.environ, "PYTHONPATH": str(Path(cepheid.__file__).parents[1])}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=env)


def _without_times(text: str) -> str:
    """Without what may differ: how long it took, and where the report is."""
    return re.sub(r" in \d.*|^report: .*", "", text, flags=re.MULTILINE)
