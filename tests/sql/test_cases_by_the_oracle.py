"""Every case that runs, by the oracle: a wrong expectation would mislead whoever builds an engine by it."""

from __future__ import annotations

import pytest
from cases import Case, differences, load_cases
from naive import run
from preferment import SkipMistake

# What stands in these files the oracle does not read, or finds no fault with; windows have their own, `frame_rules`.
NOT_READ = ("errors.yaml", "inputs.yaml")
CASES = [
    c
    for c in load_cases()
    if c.file not in NOT_READ and not c.file.startswith("window_") and c.only != "spark"
]


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.file}-{c.name}")
def test_case(case: Case) -> None:
    if case.error is None:
        assert differences(case, *run(case.query, case.tables)) == []
        return
    with pytest.raises(SkipMistake):
        run(case.query, case.tables)
