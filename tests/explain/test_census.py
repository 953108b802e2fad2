"""How far runs came and how many were open, against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cepheid.engines.local.observing import Observed
from cepheid.engines.local.run import Job, collect
from cepheid.engines.options import make_options
from cepheid.explain.census import Census
from cepheid.explain.over_time import Counts, Levels

S = 1_000_000


def counted(query: str, events: str, **options: Any) -> Census:
    """Events as `A0x`: a type, a time in seconds, a user."""
    rows = [{"type": e[0], "time": int(e[1:-1]), "u": e[-1]} for e in events.split()]
    job = Job(query, rows, make_options(**options))
    census = Observed(job).census["matches"]
    collect(job)
    return census


def funnel(census: Census) -> dict[str, int]:
    return {stage.step: stage.starts for stage in census.funnel()}


def endings(census: Census) -> dict[str, dict[str, int]]:
    return {stage.step: dict(stage.endings) for stage in census.funnel() if stage.endings}


def seconds(levels: Levels) -> list[tuple[float, int]]:
    return [(time / S, count) for time, count in levels.points()]


def test_a_sequence() -> None:
    """x: begins at 0, goes on at 2 (a copy waits on), complete at 3 (a copy waits on); over at 10: two copies.
    y: begins at 1, goes on at 4; over at 11: two copies. x again at 30, which is open at the end."""
    census = counted("A as a -> B as b -> C as c within 10s partition by u", "A0x A1y B2x C3x B4y A30x")
    assert funnel(census) == {"a": 3, "b": 2, "c": 1, "match": 1}
    assert endings(census) == {"a": {"expired": 2}, "b": {"expired": 2}}
    assert census.peaks() == {"a": 2, "b": 2}
    assert census.total.peak == 4
    assert census.largest == 2
    assert census.open_by_step() == {"a": 1}
    assert seconds(census.levels[1]) == [
        (0, 1), (1, 2), (10, 2), (10.001, 1), (11, 1), (11.001, 0), (30, 1)
    ]  # fmt: skip
    assert seconds(census.levels[2]) == [(2, 1), (4, 2), (10, 2), (10.001, 1), (11, 1), (11.001, 0)]
    assert (census.events, len(census.keys), census.seconds) == (6, 2, 30.0)


def test_a_guard_kills_and_copies_of_a_start_count_once() -> None:
    """One start, two B: two matches of it, and X kills the copies that wait on: after a, and after each b."""
    census = counted("A as a -> B as b -> C as c unless X .partition_by(u)", "A0x B1x B2x C3x X4x")
    assert funnel(census) == {"a": 1, "b": 1, "c": 1, "match": 1}
    assert endings(census) == {"a": {"killed": 1}, "b": {"killed": 2}}
    assert census.peaks() == {"a": 1, "b": 2}
    assert census.open_by_step() == {}


def test_an_absence_at_the_end_takes_time() -> None:
    """x is certain at 5, y is seen by B, z is not certain when the input ends."""
    census = counted("A as a -> NOT B within 5s .partition_by(u)", "A0x A1y B2y A8z")
    assert funnel(census) == {"a": 3, "match": 1}
    assert endings(census) == {"a": {"killed": 1}}
    assert seconds(census.total) == [(0, 1), (1, 2), (2, 2), (2.001, 1), (5, 1), (5.001, 0), (8, 1)]
    assert census.open_by_step() == {"a": 1}


def test_under_stnm_a_run_takes_the_first() -> None:
    census = counted("A as a -> B as b -> C as c .stnm() .partition_by(u)", "A0x B1x B2x C3x A4x")
    assert funnel(census) == {"a": 2, "b": 1, "c": 1, "match": 1}
    assert census.peaks() == {"a": 1, "b": 1}
    assert census.open_by_step() == {"a": 1}


def test_every_has_one_run() -> None:
    """The second A takes the place of the first."""
    census = counted("every (A as a -> B as b) .partition_by(u)", "A0x A1x B2x A3x")
    assert funnel(census) == {"a": 3, "b": 1, "match": 1}
    assert endings(census) == {"a": {"dropped": 1}}
    assert census.peaks() == {"a": 1}


def test_a_closure_that_the_end_closes_is_not_open() -> None:
    census = counted("A as a -> all B as b .longest() .partition_by(u)", "A0x B1x B2x")
    assert funnel(census) == {"a": 1, "b": 1, "match": 1}
    assert census.open_by_step() == {}


def test_late_events_count_when_they_come() -> None:
    """B is late: when it comes time is at 10, and the run waits no longer than that in the picture."""
    census = counted(
        "A as a -> B as b -> C as c within 20s partition by u",
        "A5x D10x B7x D40x",
        disorder="0s",
        lateness="10s",
    )
    assert funnel(census) == {"a": 1, "b": 1, "c": 0, "match": 0}
    assert census.peaks() == {"a": 1, "b": 1}
    assert census.open_by_step() == {}


def test_the_compiled_matcher_tells_nothing_of_runs() -> None:
    rows = [{"type": "A", "time": t, "v": 1} for t in range(100)]
    job = Job("A as a -> A[v > a.v] as b", rows, make_options(), engine="compiled")
    assert Observed(job).census == {}


def test_events_over_time() -> None:
    rows = [{"type": "A", "time": t} for t in (0, 0, 1, 5)]
    job = Job("A as a -> B as b", rows, make_options())
    observed = Observed(job)
    collect(job)
    assert observed.events.points() == [(0, 2), (S, 1), (5 * S, 1)]
    assert (observed.first, observed.last) == (0, 5 * S)


@pytest.mark.parametrize("most", [600, 4, 1])
def test_many_slots_become_fewer(most: int) -> None:
    """Nothing is lost: neither a count nor a peak."""
    counts, levels = Counts(most), Levels(most)
    for i in range(5000):
        counts.add(i * 700_000)
        levels.set(i * 700_000, i % 50)
    assert counts.total == 5000
    assert len(counts.points()) <= max(most, 10)
    assert sum(n for _, n in counts.points()) == 5000
    assert levels.peak == max(value for _, value in levels.points()) == 49
    assert list(levels.points())[-1][1] == levels.now == 49
    assert len(levels.levels) <= most


def test_a_level_stays_until_it_changes() -> None:
    levels = Levels()
    for time, value in ((0, 1), (0, 5), (0, 2), (10 * S, 0)):
        levels.set(time, value)
    assert seconds(levels) == [(0, 5), (0.001, 2), (10, 2), (10.001, 0)]
