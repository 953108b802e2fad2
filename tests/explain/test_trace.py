"""The trace: what is recorded, and that recording changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import engines
import pytest

from cepheid.engines.network import Network
from cepheid.engines.program import compile
from cepheid.errors import CepheidError
from cepheid.explain.failing import Rules
from cepheid.explain.happenings import (
    Advanced,
    Began,
    Dropped,
    Evicted,
    Expired,
    Happening,
    Killed,
    Looped,
    Matched,
    Passed,
    Trace,
    Waiting,
    Withheld,
)
from cepheid.explain.recorder import Recorder, trace
from cepheid.matching.partition import Partition
from cepheid.matching.reference import ReferenceMatcher
from cepheid.testing.scenarios import load_scenarios, problems, read_events
from cepheid.trends.matcher import matcher_of

SCENARIOS = [
    s for s in load_scenarios(Path(__file__).parent.parent / "scenarios") if "error" not in s.options
]


class Checked(Recorder):
    """A recorder that is compared with the matcher at every step."""

    def after_event(self, partition: Partition) -> None:
        super().after_event(partition)
        self.check(partition)

    def after_time(self, partition: Partition) -> None:
        super().after_time(partition)
        self.check(partition)

    def check(self, partition: Partition) -> None:
        known = {i for i, n in self.open.items() if self.threads[n].key == partition.key}
        assert known == {self._identity(run) for run in partition.runs}
        assert all(self.threads[n].gone is None for n in self.open.values())


def test_golden_scenarios_with_the_observer_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers, and at every step the trace knows exactly the open runs."""
    recorders: list[Recorder] = []

    def make(planned: Any, listener: Any, late_memory: int) -> ReferenceMatcher:
        if planned.plan.trends is not None:  # no runs are kept apart
            return matcher_of(planned.plan, listener, late_memory=late_memory)
        recorders.append(Checked(Rules.of(planned.plan)))
        return ReferenceMatcher(planned.plan, listener, late_memory=late_memory, observer=recorders[-1])

    for scenario in SCENARIOS:
        plain = engines.reference_whole(scenario)
        with monkeypatch.context() as patched:
            patched.setattr(engines, "Network", partial(Network, make=make))
            watched = engines.reference_whole(scenario)
        assert problems(scenario, watched) == [], scenario.name
        assert watched == plain, scenario.name
    matched = sum(isinstance(h, Matched) for r in recorders for f in r.frames for h in f.happened)
    assert matched > 500


def test_errors_are_the_same_with_the_observer_on() -> None:
    events = read_events("A1 A2 A3 B1")
    plan = compile("A as a -> B as b .limit(max_runs: 2)").last.plan
    with pytest.raises(CepheidError) as caught:
        trace(plan, events)
    assert caught.value.code == "max_runs"


def happened(query: str, events: str, now: int | None = None) -> Trace:
    return trace(compile(query).last.plan, read_events(events), now)


def of(found: Trace, kind: type[Happening]) -> list[Any]:
    return [h for f in found.frames for h in f.happened if type(h) is kind]


def held(found: Trace, run: int) -> str:
    return " ".join(e.fields["id"] for _, e in found.runs[run].held)


def test_began_advanced_forked_and_matched() -> None:
    """Under stam the run at A1 waits on after it has taken B1."""
    found = happened("A as a -> B as b", "A1 B1")
    (began,), (advanced,), (matched,) = of(found, Began), of(found, Advanced), of(found, Matched)
    assert (held(found, began.run), began.step) == ("A1", "a")
    assert (held(found, advanced.run), advanced.step, advanced.forked) == ("A1 B1", "b", True)
    assert (advanced.from_run, matched.run) == (began.run, advanced.run)
    assert [held(found, r.number) for r in found.open_at(1)] == ["A1"]
    assert found.runs[advanced.run].parent == began.run


def test_a_run_that_moves_leaves_no_copy() -> None:
    found = happened("A as a -> first B as b -> C as c", "A1 B1")
    assert [held(found, r.number) for r in found.open_at(1)] == ["A1 B1"]
    assert found.runs[0].moved
    assert found.runs[0].end is None


def test_looped() -> None:
    found = happened("A as a -> all B as b -> C as c", "A1 B1 B2 C1")
    (looped,) = of(found, Looped)
    assert held(found, looped.run) == "A1 B1 B2"
    assert sorted(held(found, m.run) for m in of(found, Matched)) == ["A1 B1 B2 C1", "A1 B1 C1"]


def test_another_round_of_a_group() -> None:
    found = happened("A as a -> (B as b -> C as c){1,2} -> D as d", "A1 B1 C1 B2 C2 D1")
    assert [held(found, x.run) for x in of(found, Looped)] == ["A1 B1 C1 B2"]


def test_passed_with_the_values() -> None:
    found = happened("A as a -> B[v > a.v * 2] as b", "A1{v: 60} B1{v: 80}")
    (passed,) = of(found, Passed)
    (cause,) = passed.causes
    assert (cause.tested.left, cause.tested.op, cause.tested.right) == (80, ">", 120)
    assert str(cause.tested) == "`b.v > a.v * 2`: 80 > 120 is false"


def test_an_event_of_no_interest_is_not_passed() -> None:
    assert of(happened("A as a -> B as b", "A1 X1"), Passed) == []


@pytest.mark.parametrize(
    ("query", "events", "kind", "rule"),
    [
        ("A as a -> B as b unless X", "A1 X1 B1", "guard", "unless X"),
        ("A as a -> NOT X -> B as b", "A1 X1 B1", "absence", "NOT X"),
        ("A as a -> B as b .strict()", "A1 X1 B1", "contiguity", "the next event had to fit, and X did not"),
        (
            "A as a -> B{2,} as b until stop -> C",
            "A1 B1 S1{stop: true} C1",
            "closed",
            "its `until` came true with S1",
        ),
    ],
)
def test_killed(query: str, events: str, kind: str, rule: str) -> None:
    found = happened(query, events)
    killed = of(found, Killed)[-1]
    assert (killed.kind, killed.rule) == (kind, rule)
    assert found.runs[killed.run].end == killed
    assert found.frames[found.runs[killed.run].gone or 0].event is not None


def test_expired_by_the_window_and_by_a_step() -> None:
    found = happened("A as a -> B as b within 10s", "A1 X1@25")
    (expired,) = of(found, Expired)
    assert (expired.window, expired.bound, expired.deadline) == ("within 10s", 10**7, 10**7)
    assert [f.kind for f in found.frames] == ["event", "time", "event"]
    found = happened("A as a -> B as b within 5s -> C as c", "A1@2 X1@25")
    (expired,) = of(found, Expired)
    assert (expired.window, expired.deadline) == ("the step's within 5s", 7 * 10**6)
    found = happened("A as a -> (B as b -> C as c -> D as d) within 9s -> E", "A1 B1@2 C1@7 X1@40")
    assert of(found, Expired)[-1].window == "the step's within 9s"


def test_dropped_withheld_and_evicted() -> None:
    found = happened("A as a -> B as b .skip(past_last)", "A1 A2 B1")
    assert {d.reason for d in of(found, Dropped)} == {"skipped"}
    assert [w.reason for w in of(found, Withheld)] == ["an earlier match skipped it"]
    found = happened("A as a -> all B as b -> C .longest()", "A1 B1 B2 C1")
    assert [held(found, w.run) for w in of(found, Withheld)] == ["A1 B1 C1"]
    found = happened("A as a -> B as b .limit(max_runs: 1, on_limit: evict_oldest)", "A1 A2")
    (evicted,) = of(found, Evicted)
    assert (held(found, evicted.run), evicted.limit) == ("A1", "max_runs")


def test_stnm_puts_back_a_run_whose_event_was_used() -> None:
    """A2 took B1 as well, until the older run's match used it; it is then where it was before B1."""
    found = happened("A as a -> B as b -> C as c .stnm()", "A1 A2 B1 C1 B2 C2")
    assert [held(found, m.run) for m in of(found, Matched)] == ["A1 B1 C1", "A2 B2 C2"]
    assert "A2" in [held(found, r.number) for r in found.open_at(3)]


def test_waiting_for_an_absence() -> None:
    found = happened("A as a -> NOT X within 10s", "A1 Y1@3")
    (waiting,) = of(found, Waiting)
    assert waiting.deadline == 10**7
    assert of(happened("A as a -> NOT X within 10s", "A1 Y1@3", now=10_000_001), Waiting) == []


def frames_with(found: Trace, event: str) -> Iterator[int]:
    return (f.number for f in found.frames if f.event is not None and f.event.fields["id"] == event)


def test_partitions_are_told_apart() -> None:
    found = happened("A as a -> B as b .partition_by(u)", "A1{u: 1} A2{u: 2} B2{u: 2}")
    assert found.keys() == [(1,), (2,)]
    at = next(frames_with(found, "B2"))
    assert [held(found, r.number) for r in found.open_at(at, (1,))] == ["A1"]
