"""Chances worked out in several ways are the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cepheid.forecast import completion
from cepheid.forecast.completion import Completion
from cepheid.forecast.context_counts import BEGINNING, ContextCounts
from cepheid.forecast.evidence import Evidence
from cepheid.forecast.model import Learned
from cepheid.forecast.outcomes import DONE
from cepheid.forecast.reach import Reach


def _evidence() -> Evidence:
    """Of three symbols; many events have one time. A run waits for a 1, then for a 2; a 1 may also undo the first."""
    rng, learned, recent = random.Random(3), Learned(ContextCounts(2)), (BEGINNING, BEGINNING)
    for at in range(600):
        symbol = learned.symbol(rng.choice([1, 1, 2, 4]) if recent[0] else rng.choice([1, 2, 2, 4]))
        learned.learn(recent, symbol, rng.choice([0, 0, 2, 5]) if at else None)
        recent = (symbol, recent[0])
    waiting, halfway = learned.outcomes.number(("waiting",)), learned.outcomes.number(("halfway",))
    for place, symbol, outcome, count in [
        (waiting, 1, (halfway,), 5),
        (waiting, 2, (waiting,), 5),
        (halfway, 1, (waiting,), 1),
        (halfway, 1, (halfway,), 3),
        (halfway, 2, DONE, 4),
        (halfway, 2, (), 1),
    ]:
        learned.outcomes.learn(place, symbol, outcome, count)
    return learned.evidence()


def test_solved_or_approached(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, reach = _evidence(), Reach(40, None)
    solved = Completion.of(evidence, reach, 2).chances
    assert solved.max() > 0.5
    assert (np.diff(solved, axis=2) >= -1e-12).all()
    monkeypatch.setattr(completion, "_MOST_SOLVED", 0)
    approached = Completion.of(evidence, reach, 2).chances
    assert np.allclose(solved, approached, atol=1e-7)


def test_more_events_than_there_is_time_for_are_no_bound() -> None:
    evidence = _evidence()
    unbounded = Completion.of(evidence, Reach(40, None), 2)
    bounded = Completion.of(evidence, Reach(40, 500), 2)
    ends = (unbounded.chances[:, :, -1], bounded.chances[:, :, -1])
    assert np.allclose(*ends, atol=0.02)  # their grids may differ
    few = Completion.of(evidence, Reach(40, 2), 2).chances[:, :, -1]
    assert (few <= bounded.chances[:, :, -1] + 1e-9).all()


def test_an_inverse_by_quarters() -> None:
    rng = np.random.default_rng(1)
    matrix = np.eye(150) - rng.random((150, 150)) / 200
    assert np.allclose(completion._inverse(matrix) @ matrix, np.eye(150))


def test_evidence_as_plain_data() -> None:
    evidence = _evidence()
    again = Evidence.from_data(evidence.as_data())
    chances = [Completion.of(one, Reach(40, None), 2).chances for one in (evidence, again)]
    assert (chances[0] == chances[1]).all()
