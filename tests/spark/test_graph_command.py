"""`cepheid graph --engine spark` shows what the command shows without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from cepheid.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = pytest.mark.spark

FOLDER = Path(__file__).parents[2] / "examples" / "purchase-orders"


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["graph", str(FOLDER / "deviations.graph"), *arguments])


def test_the_same_on_both_engines(spark: SparkSession) -> None:
    log = [str(FOLDER / "log.csv"), "--time", "time", "--node", "event", "--format", "json"]
    here, there = command(*log), command(*log, "--engine", "spark")
    assert (here.exit_code, there.exit_code) == (0, 0), there.output
    found = [json.loads(line) for line in here.stdout.splitlines()]
    assert [json.loads(line) for line in there.stdout.splitlines()] == found
    assert len(found) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["log.csv", "--time", "when", "--node", "event"], "there is no column `when`"),
        (["log.csv", "--time", "time"], "name the column that says which node a row is"),
        (["nowhere.csv", "--time", "time", "--node", "event"], "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_said(spark: SparkSession, arguments: list[str], said: str) -> None:
    file, *more = arguments
    shown = command(str(FOLDER / file), *more, "--engine", "spark")
    assert shown.exit_code in (1, 2)
    assert said in shown.output
    assert "Traceback" not in shown.output
