"""What `cepheid.sql` keeps, and what it refuses before anything runs."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

import cepheid
from cepheid.errors import InputMistake, SetupMistake

ROWS = pa.table({"n": [1, 2], "__key": ["x", "y"]})


def test_a_column_of_the_table_may_begin_as_ours_do() -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY n MEASURES COUNT(*) AS c ALL ROWS PER MATCH PATTERN (A) DEFINE A AS n > 0)"""
    found = cepheid.sql(query, t=ROWS).to_pylist()
    assert found == [{"n": 1, "c": 1, "__key": "x"}, {"n": 2, "c": 1, "__key": "y"}]


@pytest.mark.parametrize("name", ["__group", "__match", "__t0", "__in0", "__c1"])
def test_a_column_with_a_name_of_ours_is_not_lost(name: str) -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES mode(n) AS m ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS n > 0)"""
    rows = pa.table({"n": [1, 2], name: ["x", "y"]})
    with pytest.raises(InputMistake) as caught:
        cepheid.sql(query, t=rows)
    assert caught.value.code == "reserved_column"


def test_a_statement_that_names_no_table() -> None:
    assert cepheid.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_all_matches_may_be_empty() -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (
        ORDER BY n MEASURES CLASSIFIER() AS c, LAST(n) AS l PATTERN (A?) DEFINE A AS n > 5)"""
    assert cepheid.sql(query, t=ROWS).to_pylist() == [{"c": None, "l": None}] * 2


def test_nan_is_one_partition() -> None:
    table = pa.table({"k": [float("nan"), 1.0, float("nan")], "n": [1, 2, 3]})
    query = "SELECT c FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES COUNT(*) AS c PATTERN (A+))"
    assert sorted(row["c"] for row in cepheid.sql(query, t=table).to_pylist()) == [1, 2]


def test_without_duckdb_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SetupMistake) as caught:
        cepheid.sql("SELECT 1")
    assert caught.value.code == "no_duckdb"
    assert caught.value.hint == "pip install 'cepheid[duckdb]'"
