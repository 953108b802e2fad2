"""Event time: watermark, temporal buffer, lateness, and the three together."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import InputMistake, LimitReached, TooLate
from cepheid.pattern.event import Event
from cepheid.pattern.model import Limits, OnLimit
from cepheid.time.arrival import Arrivals
from cepheid.time.buffer import TemporalBuffer
from cepheid.time.lateness import Lateness, TooLatePolicy, judge
from cepheid.time.watermark import Watermark

EVICT = OnLimit.EVICT_OLDEST


def event(time: int, seq: int = 0, order: tuple[Any, ...] = ()) -> Event:
    return Event("A", time, {}, order, seq)


def times(events: list[Event]) -> list[int]:
    return [e.time for e in events]


# --- watermark ----------------------------------------------------------------------------------------------


def test_no_event_no_watermark() -> None:
    assert Watermark(5).value is None


def test_watermark_is_the_largest_time_minus_the_disorder() -> None:
    watermark = Watermark(5)
    seen = []
    for time in (10, 8, 12, 12, 3):
        watermark.observe(time)
        seen.append(watermark.value)
    assert seen == [5, 5, 7, 7, 7]


def test_advancing_never_goes_back() -> None:
    watermark = Watermark(5)
    watermark.advance_to(20)
    watermark.advance_to(10)
    watermark.observe(24)  # 19
    assert watermark.value == 20
    watermark.observe(26)
    assert watermark.value == 21


def test_watermark_survives_a_snapshot() -> None:
    watermark = Watermark(5)
    watermark.observe(12)
    again = Watermark.restore(watermark.snapshot())
    assert (again.value, again.disorder) == (7, 5)
    assert Watermark.restore(Watermark(3).snapshot()).value is None


def test_negative_disorder_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Watermark(-1)


# --- buffer -------------------------------------------------------------------------------------------------


def test_release_takes_what_lies_before_the_watermark() -> None:
    buffer = TemporalBuffer()
    for time in (5, 3, 4, 6):
        buffer.add(event(time))
    assert times(buffer.release(5)) == [3, 4]  # 5 itself waits
    assert len(buffer) == 2
    assert times(buffer.release(None)) == []
    assert times(buffer.drain()) == [5, 6]
    assert len(buffer) == 0


def test_one_time_order_columns_then_arrival_null_first() -> None:
    buffer = TemporalBuffer()
    rows = [(2, "b"), (1, "b"), (3, None), (0, "a")]
    for seq, value in rows:
        buffer.add(event(7, seq, (value,)))
    assert [(e.seq, e.order[0]) for e in buffer.drain()] == [(3, None), (0, "a"), (1, "b"), (2, "b")]


def test_equal_places_leave_as_they_came() -> None:
    first, second = event(1), event(1)
    buffer = TemporalBuffer()
    buffer.add(first)
    buffer.add(second)
    assert [e is first for e in buffer.drain()] == [True, False]


def test_order_values_that_cannot_be_compared_are_the_users_mistake() -> None:
    buffer = TemporalBuffer()
    buffer.add(event(1, 0, (1,)))
    with pytest.raises(InputMistake, match="order") as caught:
        buffer.add(event(1, 1, ("x",)))
    assert caught.value.code == "bad_order"


def test_a_full_buffer_is_an_error_that_names_the_setting() -> None:
    buffer = TemporalBuffer(max_buffer=2)
    buffer.add(event(1))
    buffer.add(event(2))
    with pytest.raises(LimitReached) as caught:
        buffer.add(event(3))
    assert caught.value.code == "max_buffer"
    assert "max_buffer" in caught.value.message
    assert "evict_oldest" in str(caught.value.hint)
    assert times(buffer.drain()) == [1, 2]


def test_eviction_lets_the_oldest_go_early_and_loses_nothing() -> None:
    buffer = TemporalBuffer(2, EVICT)
    for time in (5, 3, 4, 6):
        buffer.add(event(time))
    assert buffer.evicted == 2
    assert times(buffer.release(0)) == [3, 4]
    assert times(buffer.drain()) == [5, 6]


def test_buffer_survives_a_snapshot() -> None:
    buffer = TemporalBuffer(2, EVICT)
    for time in (5, 3, 4):
        buffer.add(event(time))
    again = TemporalBuffer(2, EVICT)
    again.restore(pickle.loads(pickle.dumps(buffer.snapshot())))
    assert again.evicted == 1
    assert again.precedes_eviction(event(2))
    assert times(again.drain()) == [3, 4, 5]


# --- lateness -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "watermark", "threshold", "verdict"),
    [
        (0, None, 0, "on_time"),
        (10, 10, 0, "on_time"),
        (9, 10, 0, "too_late"),
        (9, 10, 3, "late"),
        (7, 10, 3, "late"),
        (6, 10, 3, "too_late"),
    ],
)
def test_judgement(time: int, watermark: int | None, threshold: int, verdict: str) -> None:
    assert judge(time, watermark, threshold) == verdict


# --- arrivals -----------------------------------------------------------------------------------------------


def test_an_event_is_judged_by_the_watermark_before_it() -> None:
    arrivals = Arrivals(Lateness(disorder=0))
    assert times(arrivals.feed(event(10)).released) == []  # W = 10, and 10 < 10 is false
    assert times(arrivals.feed(event(10)).released) == []  # on time: not before W
    assert times(arrivals.feed(event(11)).released) == [10, 10]
    assert times(arrivals.end()) == [11]
    assert (arrivals.seen, arrivals.late, arrivals.too_late, arrivals.dropped) == (3, 0, 0, 0)


def test_a_late_event_passes_the_buffer_by() -> None:
    arrivals = Arrivals(Lateness(disorder=2, threshold=5))
    arrivals.feed(event(10))  # W = 8
    arrival = arrivals.feed(event(5))
    assert arrival.late is not None
    assert (arrival.late.time, arrival.late.late) == (5, True)
    assert arrival.released == []
    assert (arrivals.late, arrivals.waiting, arrivals.watermark) == (1, 1, 8)


def test_too_late_is_dropped_and_counted() -> None:
    arrivals = Arrivals(Lateness(disorder=2, threshold=5))
    arrivals.feed(event(10))
    arrival = arrivals.feed(event(2))  # W - T = 3
    assert (arrival.released, arrival.late, arrival.dead) == ([], None, None)
    assert (arrivals.too_late, arrivals.dropped, arrivals.seen) == (1, 1, 2)


def test_too_late_becomes_a_dead_letter_with_the_reason() -> None:
    second = 10**6
    arrivals = Arrivals(Lateness(2 * second, 5 * second, TooLatePolicy.DEAD_LETTER))
    arrivals.feed(event(10 * second))
    dead = arrivals.feed(event(2 * second)).dead
    assert dead is not None
    assert dead.event.time == 2 * second
    assert dead.reason == (
        "A at 1970-01-01T00:00:02Z is 6s behind the watermark 1970-01-01T00:00:08Z, more than the lateness 5s"
    )
    assert (arrivals.too_late, arrivals.dropped) == (1, 0)


def test_too_late_fails_with_the_settings_in_the_hint() -> None:
    arrivals = Arrivals(Lateness(policy=TooLatePolicy.FAIL))
    arrivals.feed(event(10**6))
    with pytest.raises(TooLate) as caught:
        arrivals.feed(event(0))
    assert caught.value.code == "too_late"
    assert "1970-01-01T00:00:00Z" in caught.value.message
    assert "watermark 1970-01-01T00:00:01Z" in caught.value.message
    assert "`disorder`" in str(caught.value.hint)
    assert "`lateness`" in str(caught.value.hint)


def test_idle_progress_releases_and_makes_late() -> None:
    arrivals = Arrivals(Lateness(disorder=100, threshold=100))
    arrivals.feed(event(10))
    assert times(arrivals.advance_to(10)) == []
    assert times(arrivals.advance_to(11)) == [10]
    assert arrivals.feed(event(10)).late is not None


def test_a_full_buffer_that_the_event_itself_empties_is_no_limit() -> None:
    arrivals = Arrivals(Lateness(disorder=1), Limits(max_buffer=2))
    for time in (1, 2):
        arrivals.feed(event(time))
    assert times(arrivals.feed(event(9)).released) == [1, 2]


def test_an_event_behind_an_evicted_one_is_late_never_too_late() -> None:
    arrivals = Arrivals(Lateness(disorder=100), Limits(max_buffer=2, on_limit=EVICT))
    for time in (5, 6):
        arrivals.feed(event(time))
    assert times(arrivals.feed(event(7)).released) == [5]
    behind = arrivals.feed(event(4))
    assert behind.late is not None
    assert (arrivals.late, arrivals.too_late, arrivals.evicted) == (1, 0, 1)
    assert times(arrivals.end()) == [6, 7]


@st.composite
def disordered(draw: st.DrawFn) -> tuple[int, list[Event]]:
    """A disorder L and events in an arrival order within it: an event comes no later than any L after it."""
    disorder = draw(st.integers(0, 20))
    in_order = sorted(draw(st.lists(st.integers(0, 60), max_size=30)))
    delays = [draw(st.integers(0, disorder)) for _ in in_order]
    arrived = sorted(range(len(in_order)), key=lambda i: (in_order[i] + delays[i], i))
    return disorder, [event(in_order[i], seq) for seq, i in enumerate(arrived)]


@given(disordered())
def test_any_arrival_within_the_disorder_is_released_in_total_order(case: tuple[int, list[Event]]) -> None:
    disorder, arrived = case
    arrivals = Arrivals(Lateness(disorder, policy=TooLatePolicy.FAIL))
    released: list[Event] = []
    for one in arrived:
        released += arrivals.feed(one).released
        assert all(e.time < (arrivals.watermark or 0) for e in released)
    released += arrivals.end()
    assert released == sorted(arrived, key=Event.place_in_order)
    assert arrivals.late == 0


@given(
    st.lists(st.integers(0, 40), max_size=30),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 30),
    st.sampled_from([Limits(), Limits(max_buffer=3, on_limit=EVICT)]),
)
def test_a_snapshot_anywhere_changes_nothing(
    arrived: list[int], disorder: int, threshold: int, cut: int, limits: Limits
) -> None:
    events = [event(time, seq) for seq, time in enumerate(arrived)]
    lateness = Lateness(disorder, threshold, TooLatePolicy.DEAD_LETTER)

    def life(restart_at: int | None) -> list[Any]:
        arrivals, seen = Arrivals(lateness, limits), []
        for at, one in enumerate(events):
            if at == restart_at:
                state = arrivals.snapshot()
                arrivals = Arrivals(lateness, limits)
                arrivals.restore(state)
            arrival = arrivals.feed(one)
            seen.append(
                (arrival.released, arrival.late and arrival.late.seq, arrival.dead and arrival.dead.reason)
            )
        counters = (arrivals.seen, arrivals.late, arrivals.too_late, arrivals.dropped, arrivals.evicted)
        return [*seen, arrivals.end(), counters]

    assert life(cut) == life(None)


@given(st.lists(st.integers(0, 40), max_size=40), st.integers(0, 10), st.integers(0, 10), st.integers(1, 4))
def test_every_event_comes_out_exactly_once(
    arrived: list[int], disorder: int, threshold: int, max_buffer: int
) -> None:
    lateness = Lateness(disorder, threshold, TooLatePolicy.DEAD_LETTER)
    arrivals = Arrivals(lateness, Limits(max_buffer=max_buffer, on_limit=EVICT))
    out: list[int] = []
    for seq, time in enumerate(arrived):
        arrival = arrivals.feed(event(time, seq))
        out += [e.seq for e in arrival.released]
        out += [arrival.late.seq] if arrival.late is not None else []
        out += [arrival.dead.event.seq] if arrival.dead is not None else []
        assert arrivals.waiting <= max_buffer
    out += [e.seq for e in arrivals.end()]
    assert sorted(out) == list(range(len(arrived)))
