"""`cepheid sql` over files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from cepheid.cli import main

STATEMENT = """
-- ends of falls
SELECT shop, low FROM prices MATCH_RECOGNIZE (
    PARTITION BY shop ORDER BY day MEASURES LAST(DOWN.price) AS low
    PATTERN (DOWN+ UP) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)) AS m
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"shop": ["a"] * 4, "day": [1, 2, 3, 4], "price": [9, 7, 6, 8]})
    pq.write_table(table, tmp_path / "prices.parquet")
    lines = ["shop,day,price", *(",".join(map(str, row.values())) for row in table.to_pylist())]
    (tmp_path / "prices.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "falls.sql").write_text(STATEMENT)
    return tmp_path


@pytest.mark.parametrize("file", ["prices.parquet", "prices.csv"])
def test_a_statement_over_a_file(folder: Path, file: str) -> None:
    asked = ["sql", "falls.sql", "--table", f"prices={file}", "--format", "json"]
    shown = CliRunner().invoke(main, asked)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout) == {"shop": "a", "low": 6}


def test_rows_go_to_a_file(folder: Path) -> None:
    asked = [
        "sql",
        "falls.sql",
        "--table",
        "prices=prices.parquet",
        "--format",
        "parquet",
        "--out",
        "out.parquet",
    ]
    assert CliRunner().invoke(main, asked).exit_code == 0
    assert pq.read_table(folder / "out.parquet").to_pylist() == [{"shop": "a", "low": 6}]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("prices", "`prices` is no table"),
        ("prices=nowhere.parquet", "there is no file or folder nowhere.parquet"),
        ("prices=falls.sql", "falls.sql is of no known kind"),
    ],
)
def test_tables_that_are_none(folder: Path, table: str, said: str) -> None:
    shown = CliRunner().invoke(main, ["sql", "falls.sql", "--table", table])
    assert shown.exit_code == 1
    assert said in shown.output


def test_a_mistake_has_its_place(folder: Path) -> None:
    (folder / "falls.sql").write_text(STATEMENT.replace("DEFINE DOWN", "DEFINE DAWN"))
    shown = CliRunner().invoke(main, ["sql", "falls.sql", "--table", "prices=prices.parquet"])
    assert shown.exit_code == 1
    assert "DOWN" in shown.output
    assert "^" in shown.output
