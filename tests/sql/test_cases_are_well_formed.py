"""The files of cases: enough of them, each complete, no name twice."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from cases import FOLDER, PYTHON_TYPES, Case, load_cases

CASES = load_cases()


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 300


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(c.name for c in CASES).items() if count > 1] == []


@pytest.mark.parametrize("file", sorted(p.name for p in FOLDER.iterdir()))
def test_file(file: str) -> None:
    assert file.endswith(".yaml")
    cases = [c for c in CASES if c.file == file]
    assert cases
    for case in cases:
        assert problems(case) == [], case.name


def problems(case: Case) -> list[str]:
    found = []
    if not case.why:
        found.append("it says no reason")
    if "match_recognize" not in case.query.lower() and not case.file.startswith("window_"):
        found.append("the query has no MATCH_RECOGNIZE")
    if case.only not in (None, "local", "spark"):
        found.append(f"only: {case.only}")
    for name, table in case.tables.items():
        if not re.search(rf"\b{name}\b", case.query):
            found.append(f"table {name} is not used")
        for kind in table.columns.values():
            if kind not in PYTHON_TYPES and not re.fullmatch(r"decimal\(\d+,\d+\)", kind):
                found.append(f"type {kind} is not known")
    if case.error is not None:
        if not case.error or set(case.error) - {"code", "contains"}:
            found.append("an error is a code, a fragment of its message, or both")
        if case.rows or case.columns:
            found.append("a query that fails has no rows")
        return found
    if not case.columns:
        found.append("no columns")
    if len(set(case.columns)) != len(case.columns):
        found.append("a column twice")
    found += [f"{row} does not fit the columns" for row in case.rows if len(row) != len(case.columns)]
    return found
