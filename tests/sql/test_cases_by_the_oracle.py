"""Every case that runs, by the oracle: a wrong expectation would mislead whoever builds an engine by it."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from cases import Case, load_cases
from naive import run
from preferment import SkipMistake

CASES = [c for c in load_cases() if c.file != "errors.yaml" and c.only != "spark"]


def comparable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers by value; Decimal and float of YAML and of the database meet in a rounded number."""

    def plain(value: Any) -> Any:
        if isinstance(value, bool) or value is None or isinstance(value, (str, date, datetime)):
            return value
        if isinstance(value, (int, float, Decimal)):
            return round(float(value), 9)
        return value

    return tuple(plain(v) for v in row)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.file}-{c.name}")
def test_case(case: Case) -> None:
    if case.error is not None:
        with pytest.raises(SkipMistake):
            run(case.query, case.tables)
        return
    columns, rows = run(case.query, case.tables)
    assert [c.lower() for c in columns] == [c.lower() for c in case.columns]
    wanted = [comparable(r) for r in case.rows]
    got = [comparable(r) for r in rows]
    if case.ordered:
        assert got == wanted
    else:
        assert Counter(got) == Counter(wanted)
