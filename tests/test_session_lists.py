"""A session that is fed lists gives, call by call, what it gives through the reference matcher alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, note, reject
from hypothesis import strategies as st
from test_columnar import TESTS, made_up, typed
from test_compiled_waiting import GAPS, named, patterns
from test_session import STREAMS

import cepheid
from cepheid.engines.network import reference
from cepheid.engines.program import PlannedStream, Program, compile
from cepheid.engines.session import Session
from cepheid.errors import CepheidError, InputMistake, PatternMistake
from cepheid.matching.list_matcher import ListMatcher
from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds
from cepheid.testing.scenarios import Scenario
from cepheid.testing.strategies import FAMILIES, cases
from cepheid.time.lateness import Lateness, TooLatePolicy

TOOK: Counter[str] = Counter()


def in_lists(planned: PlannedStream, listener: Any, late_memory: int) -> ListMatcher:
    return ListMatcher(planned.plan, late_memory=late_memory, enough=3)


def both(program: Program, lateness: Lateness) -> list[Session]:
    return [Session(program, lateness, make=make) for make in (reference, in_lists)]


def tried(action: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except CepheidError as problem:
        return type(problem), str(problem)


def compare(query: str, arriving: list[Event], lateness: Lateness, seed: int) -> None:
    """Lists of any length; snapshots between them, read by either matcher; time that passes without events."""
    random = Random(seed)
    program = compile(query)
    sessions = both(program, lateness)
    while arriving:
        size = random.choice((1, 1, 2, 4, 6, 12))
        some, arriving = arriving[:size], arriving[size:]
        wanted, found = (tried(session.feed, some) for session in sessions)
        assert found == wanted
        if isinstance(wanted, tuple):
            return  # a session that failed is over
        what = random.randrange(8)
        if what == 0:  # each goes on from the other's snapshot
            states = [session.snapshot() for session in sessions]
            sessions = both(program, lateness)
            for session, state in zip(sessions, reversed(states), strict=True):
                session.restore(state)
        elif what == 1:
            assert sessions[1].snapshot()  # and goes on as if nothing were
        elif what == 2 and sessions[0].last_time is not None:
            time = sessions[0].last_time + random.choice((0, 10**6, 5 * 10**6))
            wanted, found = (tried(session.advance, time) for session in sessions)
            assert found == wanted
            if isinstance(wanted, tuple):
                return
        _count(sessions[1])
    assert tried(sessions[1].end) == tried(sessions[0].end)
    assert sessions[1].counters == sessions[0].counters


def _count(session: Session) -> None:
    for matcher in session.network.matchers.values():
        assert isinstance(matcher, ListMatcher)
        if matcher.kernel is not None:
            TOOK["left" if matcher.reason else "taken"] += 1
            TOOK["open"] += bool(matcher.kernel.keys)
            TOOK["both"] += bool(matcher.kernel.keys and matcher.reference.partitions)


def made_up_compare(query: str, events: list[Event], lateness: Lateness, seed: int) -> None:
    note(query)
    try:
        compare(query, shuffled(events, lateness, Random(seed)), lateness, seed)
    except PatternMistake:
        reject()


def shuffled(events: list[Event], lateness: Lateness, random: Random) -> list[Event]:
    """In the order they arrive, some of them late, and numbered by it."""
    spread = lateness.disorder + lateness.threshold + 10**6
    by_arrival = sorted(events, key=lambda e: e.time + random.choice((0, 0, random.randrange(spread))))
    return [Event(e.type, e.time, e.fields, (), i) for i, e in enumerate(by_arrival)]


LATENESS = st.sampled_from(
    [
        Lateness(0, 0, TooLatePolicy.DROP),
        Lateness(2 * 10**6, 0, TooLatePolicy.DROP),
        Lateness(10**6, 3 * 10**6, TooLatePolicy.DEAD_LETTER),
    ]
)


def stream(seed: int) -> list[Event]:
    """Longer than Hypothesis likes to make them."""
    random, time = Random(seed), 0
    found = []
    for i in range(random.randrange(20, 70)):
        time += random.choice(GAPS) * 10**6
        kind, v, k = random.choice("AABBBCCX"), random.choice((0, 1, 2, 3, None)), random.randrange(4)
        fields = {"type": kind, "time": from_microseconds(time), "id": f"{kind}{i}", "v": v, "k": k}
        found.append(Event(kind, time, fields, (), i))
    return found


def check_patterns(count: int) -> None:
    @made_up(count)
    @given(patterns(), LATENESS, st.booleans(), st.integers(0, 2**32))
    def run(query: str, late: Lateness, by_key: bool, seed: int) -> None:
        made_up_compare(f"{query} .partition_by(k)" if by_key else query, named(stream(seed)), late, seed)

    run()


def check_tests(count: int) -> None:
    @made_up(count)
    @given(st.sampled_from(TESTS), LATENESS, st.integers(0, 2**32))
    def run(query: str, late: Lateness, seed: int) -> None:
        made_up_compare(query, typed(stream(seed)), late, seed)

    run()


def check_family(family: str, count: int) -> None:
    @made_up(count)
    @given(cases(family, 12), LATENESS, st.integers(0, 2**32))
    def run(case: tuple[str, list[Event]], late: Lateness, seed: int) -> None:
        made_up_compare(*case, late, seed)

    run()


def test_made_up_patterns() -> None:
    """And most of it goes through the kernel, with keys open there and beside it."""
    TOOK.clear()
    check_patterns(120)
    assert TOOK["taken"] > 2 * TOOK["left"], TOOK
    assert TOOK["open"] > 50, TOOK
    assert TOOK["both"] > 10, TOOK


def test_made_up_tests() -> None:
    check_tests(80)


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    check_family(family, 12)


@pytest.mark.parametrize("scenario", STREAMS, ids=lambda s: s.name)
def test_scenario(scenario: Scenario) -> None:
    lateness = Lateness(
        duration(scenario.option("disorder", "0s")),
        duration(scenario.option("lateness") or "0s"),
        TooLatePolicy(scenario.option("too_late", "drop")),
    )
    program = compile(scenario.query)
    if any(s.feeds_on for s in program):
        return
    for seed in range(2):
        compare(scenario.query, scenario.arriving(), lateness, seed)


@pytest.mark.soak
def test_many_patterns() -> None:
    check_patterns(3000)
    check_tests(1500)


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_many_of_the_families(family: str) -> None:
    check_family(family, 500)


# --- the object of the public interface ---------------------------------------------------------------------

QUERY = "A as a -> B[v > a.v] as b .partition_by(k) .within(10s) .emit(id: match_id(), k: k, v: b.v, x: b.x)"


def rows(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "AB"[i * 7 % 3 % 2], "time": i // 3, "k": i * 5 % 4, "v": i * 13 % 10, "x": "x", **more}
        for i in range(count)
    ]


def test_the_public_session() -> None:
    given_rows = rows(2000)
    wanted = cepheid.Session(QUERY, engine="reference")
    for engine in ("auto", "compiled"):
        found = cepheid.Session(QUERY, engine=engine)
        wanted = cepheid.Session(QUERY, engine="reference")
        for size, first in ((1000, 0), (1, 1000), (999, 1001)):
            some = given_rows[first : first + size]
            assert found.feed(some) == wanted.feed(some)
            assert found.explain()["matches"].startswith("the compiled matcher")
        state = found.snapshot()
        found = cepheid.Session(QUERY, engine=engine)
        found.restore(state)
        assert found.end() == wanted.end()
    assert wanted.explain() == {"matches": "the reference matcher: it was asked for"}


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("A as a -> all greedy B as b until v == 3 -> B as c .emit(b: count(b), c: c.v)", "ABBBBB"),
        (
            " -> ".join(f"{'AB'[i % 2]}+ as x{i}" for i in range(36)) + " .emit(n: count(x33))",
            "AB" * 17 + "BBBAB",
        ),
    ],
)
def test_closures_that_take_no_more_are_those_of_the_snapshot(query: str, kinds: str) -> None:
    events = [Event(kind, i, {"v": i}, seq=i) for i, kind in enumerate(kinds)]
    program = compile(query)
    whole, _ = both(program, Lateness())
    wanted = whole.feed(events) + whole.end()
    assert any(f.row for f in wanted)
    for cut in range(3, len(events)):
        after, before = both(program, Lateness())
        found = before.feed(events[:cut])
        after.restore(before.snapshot())
        assert found + after.feed(events[cut:]) + after.end() == wanted, cut


def test_values_of_other_kinds_on_the_way() -> None:
    """A field that was null, or that was not there, or that holds something else from now on."""
    query = (
        "A as a -> B[v > a.v or y == a.y] as b .partition_by(k) .within(10s) .emit(id: match_id(), v: b.v)"
    )
    parts = [
        rows(300),
        [{**row, "time": row["time"] + 100} for row in rows(300, y=None)],
        [{**row, "time": row["time"] + 200} for row in rows(300, y=3)],
        [{**row, "time": row["time"] + 300} for row in rows(300, z=[1])],
        [{**row, "time": row["time"] + 400} for row in rows(300, y="text")],
        [{**row, "time": row["time"] + 500, "v": row["v"] + 0.5} for row in rows(300)],
    ]
    found, wanted = (cepheid.Session(query, engine=engine) for engine in ("auto", "reference"))
    for at, part in enumerate(parts):
        assert found.feed(part) == wanted.feed(part)
        assert ("several kinds" in found.explain()["matches"]) is (at >= 4)
    assert found.end() == wanted.end()
    with pytest.raises(InputMistake, match="several kinds"):
        cepheid.Session(query, engine="compiled").feed([*parts[2], *parts[4]])


def test_what_no_kernel_takes() -> None:
    fed_by = "stream One = A as a -> B as b .emit(v: b.v)\nstream Two = One as o -> C as c .emit(v: o.v)"
    with pytest.raises(InputMistake, match="cannot take `One`: another stream feeds on it"):
        cepheid.Session(fed_by, engine="compiled")
    assert "feeds" in cepheid.Session(fed_by).explain()["Two"]
    assert "listens" in cepheid.Session(QUERY, listener=lambda _: None).explain()["matches"]
    with pytest.raises(InputMistake, match="no engine"):
        cepheid.Session(QUERY, engine="spark")
    nested = "A as a -> B[b.x.y > a.x.y] as b .emit(id: match_id())"
    given_rows = [{"type": "AB"[i % 2], "time": i, "x": {"y": i % 5}} for i in range(400)]
    found, wanted = (cepheid.Session(nested, engine=engine) for engine in ("auto", "reference"))
    assert found.feed(given_rows) == wanted.feed(given_rows)
    assert "lies in a field" in found.explain()["matches"]


def test_a_failing_expression_is_said_as_ever() -> None:
    query = "A as a -> B[v / a.v > 1] as b .emit(id: match_id())"
    given_rows = [{"type": "AB"[i % 2], "time": i, "v": i % 7} for i in range(600)]
    answers = []
    for engine in ("auto", "reference"):
        session = cepheid.Session(query, engine=engine)
        try:
            answers.append([session.feed(given_rows), session.end()])
        except CepheidError as problem:
            answers.append([str(problem)])
    assert answers[0] == answers[1]
