"""Every case that runs, by the oracle: a wrong expectation would mislead whoever builds an engine by it."""

from __future__ import annotations

import pytest
from cases import Case, differences, load_cases
from naive import run
from preferment import SkipMistake

# Those of windows are no concern of this oracle: theirs is `frame_rules`.
CASES = [
    c
    for c in load_cases()
    if c.file != "errors.yaml" and not c.file.startswith("window_") and c.only != "spark"
]


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.file}-{c.name}")
def test_case(case: Case) -> None:
    if case.error is None:
        assert differences(case, *run(case.query, case.tables)) == []
        return
    with pytest.raises(SkipMistake):
        run(case.query, case.tables)
