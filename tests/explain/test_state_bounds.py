"""What a plan keeps: bounds worked out by hand, and no run of any scenario beyond its bound."""

from __future__ import annotations

from pathlib import Path

import pytest

import cepheid
from cepheid.engines.program import compile
from cepheid.errors import InputMistake
from cepheid.explain.happenings import TracedRun
from cepheid.explain.recorder import trace
from cepheid.explain.state_bounds import NEXT, Growth, StateBound, state_bounds
from cepheid.explain.state_text import Load
from cepheid.testing.scenarios import Scenario, load_scenarios

S = 1_000_000
SCENARIOS = [
    s for s in load_scenarios(Path(__file__).parent.parent / "scenarios") if "error" not in s.options
]


def bounds(query: str) -> dict[str, StateBound]:
    return {b.step: b for b in state_bounds(compile(query).last.plan)}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        # step: since, lasts (seconds), span, runs, bounded
        ("A as a -> B as b within 10s", {"a": ("first", 10, 10, "n", True)}),
        ("A as a -> B as b", {"a": ("first", None, None, "n", False)}),
        ("A as a -> B as b .strict()", {"a": ("next", None, 0, "1", True)}),
        # One run a partition, however long it waits.
        ("every (A as a -> B as b)", {"a": ("first", None, None, "1", True)}),
        # Each wait has its own bound; the second may begin when the first is nearly over.
        (
            "A as a -> B as b within 5s -> C as c within 7s .partition_by(u)",
            {"a": ("last", 5, 5, "n", True), "b": ("last", 7, 12, "n²", True)},
        ),
        # The first wait is without end, so there may be any number of pairs, although the second is short.
        (
            "A as a -> B as b -> C as c within 7s -> D as d within 1s .partition_by(u)",
            {
                "a": ("first", None, None, "n", False),
                "b": ("last", 7, None, "n²", False),
                "c": ("last", 1, None, "n³", False),
            },
        ),
        # A run takes the first B, and a copy waits on after each further one.
        (
            "A as a -> B+ as b -> C as c .within(9s)",
            {"a": ("first", 9, 9, "n", True), "b": ("first", 9, 9, "n²", True)},
        ),
        # At most three copies of each start.
        ("A{1,3} as a -> B as b .within(9s)", {"a": ("first", 9, 9, "3·n", True)}),
        (
            "A as a -> all any B as b -> C as c .within(9s)",
            {"a": ("first", 9, 9, "n", True), "b": ("first", 9, 9, "2ⁿ", True)},
        ),
        # The first event that fits is taken, and no copy waits on.
        (
            "A as a -> B as b -> C as c .stnm() .within(9s)",
            {"a": ("first", 9, 9, "n", True), "b": ("first", 9, 9, "n", True)},
        ),
        ("A as a -> NOT B within 5s", {"a": ("first", 5, 5, "n", True)}),
        ("A[v > 1] as a", {}),
    ],
)  # fmt: skip
def test_bounds(query: str, wanted: dict[str, tuple[str, int | None, int | None, str, bool]]) -> None:
    found = {step: (b.since, b.lasts, b.span, str(b.growth), b.bounded) for step, b in bounds(query).items()}

    def in_seconds(value: int | None) -> int | None:
        return None if value is None else value * S

    assert found == {
        step: (since, in_seconds(lasts), in_seconds(span), runs, bounded)
        for step, (since, lasts, span, runs, bounded) in wanted.items()
    }


def test_how_many_runs() -> None:
    """Pairs of 4 events, an event with itself among them: 10. Of 4 events over 2 keys: 3 pairs each."""
    assert Growth(2).most(4) == 10
    assert Growth(2).most(4, keys=2) == 6
    assert Growth(1).most(4, keys=2) == 4
    assert Growth(1).most(4, keys=1000) == 4  # of so many keys only four have an event
    assert Growth(0).most(4, keys=1000) == 1000
    assert Growth(1, factor=3).most(4) == 12
    assert Growth(2, ordered=False).most(4) == 16
    assert Growth(0, exponential=True).most(10) == 1024


def test_a_rate_makes_numbers_of_them() -> None:
    """10 events a second for 60 seconds: 600 starts; over 100 keys 6 events each, so 21 pairs each."""
    query = "A as a -> B as b -> C as c within 1m partition by u"
    found = compile(query).explain(rate=10, keys=100)["matches"]
    assert found.load is not None
    assert [found.load.most(b) for b in found.state] == [600, 2100]
    assert Load(10).most(bounds("A as a -> B as b")["a"]) is None
    whole = compile("A as a -> B as b within 1m").explain(rate=10, keys=100)["matches"]
    assert whole.load == Load(10)  # there is one partition
    with pytest.raises(InputMistake, match="more than 0"):
        compile(query).explain(rate=0)


def test_a_sample_says_what_was_open() -> None:
    """x: a at 0, (a, b) from 2; y: a at 1. All of x is over at 10, y at 11; then one more start."""
    rows = [
        {"type": kind, "time": time, "u": user}
        for kind, time, user in (("A", 0, "x"), ("A", 1, "y"), ("B", 2, "x"), ("D", 3, "x"), ("A", 30, "x"))
    ]
    query = "A as a -> B as b -> C as c within 10s partition by u"
    sample = compile(query).explain(rows)["matches"].sample
    assert sample is not None
    assert dict(sample.peaks) == {"a": 2, "b": 1}
    assert (sample.peak, sample.largest, sample.events, sample.keys, sample.seconds) == (3, 2, 4, 2, 30.0)
    assert sample.whole


def test_events_that_come_once_and_streams_that_are_not_there() -> None:
    found = compile("A as a -> B as b within 10s").explain({"type": "A", "time": t} for t in range(3))
    assert found["matches"].sample is not None
    assert dict(found["matches"].sample.peaks) == {"a": 3}
    with pytest.raises(InputMistake, match="there is no stream `match`"):
        found["match"]


def test_a_sample_of_a_pattern_that_explodes_stops() -> None:
    rows = [{"type": "A", "time": 0}, *({"type": "B", "time": t} for t in range(1, 60))]
    found = compile("A as a -> all any B as b -> C as c").explain(rows)["matches"]
    assert found.sample is not None
    assert not found.sample.whole
    assert "sample: the first " in str(found)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_no_run_is_beyond_its_bound(scenario: Scenario) -> None:
    """The reference matcher, event by event: where runs wait, for how long, and how many there are."""
    for planned in compile(scenario.query):
        if planned.feeds_on or planned.plan.trends is not None:
            continue
        known = {b.state: b for b in state_bounds(planned.plan)}
        events = sorted((e for e in scenario.events), key=lambda e: e.place_in_order())
        seen = trace(planned.plan, [e for e in events if not e.late], passes=False)
        for frame in seen.frames:
            if frame.kind != "event":
                continue
            for key in list(seen.keys()):
                _check(seen.open_at(frame.number, key), known, frame.time, len(events))


def _check(runs: list[TracedRun], known: dict[int, StateBound], now: int, events: int) -> None:
    counts: dict[int, int] = {}
    for run in runs:
        bound = known[run.state]
        counts[run.state] = counts.get(run.state, 0) + 1
        times = [event.time for _, event in run.held]
        since = times[-1] if bound.since == "last" else min(times)
        if bound.lasts is not None and bound.since != NEXT:
            assert now - since <= bound.lasts
        if bound.span is not None and bound.since != NEXT:
            assert now - min(times) <= bound.span
    for state, count in counts.items():
        assert count <= known[state].growth.most(events)


def test_the_explanation_in_a_notebook() -> None:
    program = cepheid.compile("stream S = A['<b>' == v] as a -> B as b .within(1h) .emit(v: a.v)")
    page = program._repr_html_()
    assert page == program.explain()._repr_html_()
    assert page.count("<circle") == 3
    assert "not partitioned" in page
    assert "&lt;b&gt;" in page
    assert "<b>'" not in page
    assert "http" not in page


def test_the_explanation_as_data() -> None:
    found = compile("event A { v: int }\nstream S = A[v > 1] as a -> A[v > a.v] as b .within(1h)").explain()
    data = found.as_dict()["S"]
    assert [(t["step"], t["test"], t["where"]) for t in data["tests"]] == [
        ("a", "v > 1", "Arrow, many events at once"),
        ("b", "v > a.v", "the kernel"),
    ]
    assert data["state"][0]["lasts"] == 3600 * S
    assert found.warnings == (
        "S: not partitioned: events of all users, devices, ... meet in one match; add .partition_by(...)",
    )
