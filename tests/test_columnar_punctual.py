"""Tables taken as they come, with a watermark: where nothing is late, in columns. The answers are the reference's."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from test_columnar import QUIET, compared, forms_of, small_batches, table_of  # noqa: F401

import cepheid
from cepheid.engines.columnar.punctual import comes_in_time
from cepheid.engines.columnar.scan import scan_arrays
from cepheid.engines.local import compiled
from cepheid.engines.local.events import Columns
from cepheid.engines.local.run import Job
from cepheid.engines.options import make_options
from cepheid.errors import LimitReached
from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits
from cepheid.testing.scenarios import read_events
from cepheid.testing.strategies import FAMILIES, SECOND, cases
from cepheid.time.arrival import Arrivals
from cepheid.time.lateness import Lateness


def shuffled(events: list[Event], delay: int, seed: int) -> list[Event]:
    """As they may arrive, none of them more than so many seconds late."""
    random = Random(seed)
    return sorted(events, key=lambda e: e.time + random.randint(0, delay * SECOND))


def judged(times: list[int], disorder: int, max_buffer: int) -> bool:
    """The same by the buffer and the watermark of sessions."""
    arrivals = Arrivals(Lateness(disorder, threshold=10**9), Limits(max_buffer=max_buffer))
    try:
        return all(arrivals.feed(Event("A", time, {}, seq=i)).late is None for i, time in enumerate(times))
    except LimitReached:
        return False


@settings(max_examples=300)
@given(st.lists(st.integers(0, 20), max_size=20), st.sampled_from((0, 1, 3, 8, 10**30)), st.integers(1, 12))
def test_what_comes_in_time(times: list[int], disorder: int, max_buffer: int) -> None:
    arrays = {"time": pa.array(times, pa.timestamp("us", "UTC")), "type": pa.array(["A"] * len(times))}
    found = scan_arrays({name: pa.chunked_array([array]) for name, array in arrays.items()}, len(times))
    assert found is not None
    assert comes_in_time(found, Columns(), disorder, max_buffer) == judged(times, disorder, max_buffer)


@pytest.mark.parametrize("family", FAMILIES)
def test_made_up_patterns(family: str) -> None:
    check_family(family, 25)


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_many_made_up_patterns(family: str) -> None:
    check_family(family, 600)


def check_family(family: str, count: int) -> None:
    @settings(max_examples=count, suppress_health_check=QUIET)
    @given(
        cases(family, 9),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from(("", "", " .partition_by(k)", " .limit(max_buffer: 3)")),
        st.integers(0, 2**32),
    )
    def run(case: tuple[str, list[Event]], delay: int, disorder: int, more: str, seed: int) -> None:
        query, events = case
        table = table_of(shuffled(events, delay, seed))
        note(query + more)
        compared(query + more, table, forms_of(table), disorder=f"{disorder}s", too_late="drop")

    run()


ROWS = [{"type": kind, "time": time} for kind, time in zip("AABBC", (2, 1, 4, 3, 9), strict=True)]


def taken(monkeypatch: pytest.MonkeyPatch, query: str, rows: list[dict[str, Any]], **options: Any) -> Any:
    """What is found, and whether it was in columns."""
    answers: list[Any] = []
    made = compiled.CompiledRun.answer

    def answer(self: Any) -> Any:
        answers.append(made(self))
        return answers[-1]

    monkeypatch.setattr(compiled.CompiledRun, "answer", answer)
    found = cepheid.match(query, rows, engine="compiled", **options)
    return found, [one is not None for one in answers]


def test_what_is_not_late_goes_through_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "A as a -> first B as b .emit(a: a.time, b: b.time)"
    in_time, by_kernel = taken(monkeypatch, query, ROWS, disorder="1s")
    assert [(row["a"].second, row["b"].second) for row in in_time] == [(1, 3), (2, 3)]
    assert by_kernel == [True]


def test_what_is_late_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A at 1 and B at 3 come behind the watermark, and are turned away."""
    query = "A as a -> first B as b .emit(a: a.time, b: b.time)"
    late, by_kernel = taken(monkeypatch, query, ROWS, disorder=0, too_late="drop")
    assert [(row["a"].second, row["b"].second) for row in late] == [(2, 4)]
    assert by_kernel == [False]


def test_streams_of_both_matchers_have_one_watermark() -> None:
    """`Counted` is the reference matcher's, whose answer tells matches apart; nothing is late for it either."""
    rng = np.random.default_rng(3)
    times = np.arange(200) + rng.integers(0, 4, 200)
    table = pa.table({"type": rng.choice(["A", "B"], 200), "time": times, "v": rng.integers(0, 9, 200)})
    query = """
        stream Fast = A as a -> first B[v > a.v] as b .emit(a: a.v, b: b.v)
        stream Counted = A as a -> first B[v > a.v] as b .emit(v: b.v, n: count_matches())
    """
    found, wanted = (
        cepheid.run(query, table, engine=engine, disorder="4s") for engine in ("auto", "reference")
    )
    assert {name: frame.to_pylist() for name, frame in found.items()} == {
        name: frame.to_pylist() for name, frame in wanted.items()
    }


def test_matches_that_say_whether_they_came_late_are_the_reference_matchers() -> None:
    table = table_of(read_events("A1 B1"))
    for query, reason in (("A -> B", "whether it came late"), ("A as a -> B .emit(t: a.time)", None)):
        job = Job(query, table, make_options(disorder="1s", lateness="1s"), engine="compiled")
        assert reason is None or reason in str(job.choice.reason)
        assert (job.choice.reason is None) == (reason is None)
