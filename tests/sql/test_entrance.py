"""What `cepheid.sql` keeps, and what it refuses before anything runs."""

from __future__ import annotations

import pyarrow as pa

import cepheid

ROWS = pa.table({"n": [1, 2], "__key": ["x", "y"]})


def test_a_column_of_the_table_may_begin_as_ours_do() -> None:
    query = """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY n MEASURES COUNT(*) AS c ALL ROWS PER MATCH PATTERN (A) DEFINE A AS n > 0)"""
    found = cepheid.sql(query, t=ROWS).to_pylist()
    assert found == [{"n": 1, "c": 1, "__key": "x"}, {"n": 2, "c": 1, "__key": "y"}]


def test_a_statement_that_names_no_table() -> None:
    assert cepheid.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]
