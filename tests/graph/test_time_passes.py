"""Time that passes without an edge: what was waited for is told, and nothing else changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import cepheid
from cepheid.errors import InputMistake
from cepheid.graph.batch import find_in
from cepheid.graph.edges import Edge
from cepheid.graph.happenings import Completed, Expired
from cepheid.graph.program import DONE
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.graph_pattern import GraphPattern

sys.path.insert(0, str(Path(__file__).parent))

from graph_strategies import Happens, histories, patterns
from test_agreement import shape


def fed(sifter: Sifter, happens: Happens) -> None:
    source, label, target, start = happens.edge
    if happens.closes:
        known = sifter.edges.find(source, label, target, start)
        assert known is not None
        assert happens.end is not None
        sifter.close(known, happens.end)
    else:
        sifter.add(Edge(source, label, target, start, happens.end))


@given(patterns(), histories(), st.lists(st.integers(1, 7), max_size=4))
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
def test_as_much_is_told_as_is_certain(
    pattern: GraphPattern, ticks: list[list[Happens]], advances: list[int]
) -> None:
    """Wherever time passes, the matches are those of the whole graph that were certain before."""
    sifter = Sifter([ReadyPattern(pattern)])
    steps = [step for happens in ticks for step in (*happens, None)][:-1]
    for step in steps:
        if step is None:
            sifter.end_tick()
            continue
        for time in [t for t in advances if t <= step.time]:
            advances.remove(time)
            if sifter.reached is None or time >= sifter.reached:
                sifter.advance(time)
        fed(sifter, step)
    expected = find_in(ReadyPattern(pattern), sifter.edges)
    note(f"edges: {sifter.edges.all}")
    found = sifter.drain_completed()
    for time in range(5, 9):  # the last edge starts at 4, and the last end is at 6
        sifter.advance(time)
        found += sifter.drain_completed()
        assert sorted(map(shape, found)) == sorted(shape(m) for m in expected if m.decided < time)
        late = [
            x.thread
            for x in sifter.pool.live.values()
            if pattern.within is not None and x.thread.slot != DONE
        ]
        assert all(thread.first + (pattern.within or 0) >= time for thread in late)


WAITS = """
    graph pattern calm { stage a { .k = "a", not .void } }
    graph pattern soon { stage a { .k = "a" } stage b { .k = "b" } within 5s }
    graph pattern over { stage a { .k = "a" } stage b { .k = "b" } a equals b }
    graph pattern known { concurrent { stage a { .k = "a" } stage c { .k = "c" } } a equals c }
"""


def kinds(told: list[Any]) -> list[tuple[str, str]]:
    return [(type(h).__name__, h.pattern) for h in told]


def test_what_waits_is_told_when_time_passes() -> None:
    sifter = cepheid.Sifter(WAITS)
    sifter.add("e1", "k", "a", 1, 3)
    sifter.add("e2", "k", "c", 1, 3)
    assert sifter.advance(1) == []  # others of this time may come
    told = sifter.advance(2)
    assert ("Completed", "calm") in kinds(told)
    assert sifter.advance(3) == []
    assert kinds(sifter.advance(3.5)) == [("Completed", "known")]
    assert sifter.advance(6) == []  # a stage at 6 is within five seconds
    (expired,) = sifter.advance(7)
    assert isinstance(expired, Expired)
    assert (expired.pattern, expired.stage, expired.binds) == ("soon", "a", {"a": "e1"})
    assert {m.pattern: m.decided for m in sifter.drain_completed()} == {"calm": 1, "known": 3}


def test_time_does_not_go_back() -> None:
    sifter = cepheid.Sifter(WAITS)
    sifter.advance(5)
    for wrong in (lambda: sifter.advance(4), lambda: sifter.add("e", "k", "a", 4)):
        with pytest.raises(InputMistake, match="time has come to 5") as caught:
            wrong()
        assert caught.value.code == "out_of_order"
    assert kinds(sifter.add("e", "k", "a", 5)) == [
        ("Advanced", "soon"),
        ("Advanced", "over"),
        ("Advanced", "known"),
    ]
    assert isinstance(sifter.advance(6)[0], Completed)


def test_the_time_it_has_come_to_is_in_a_snapshot() -> None:
    sifter = cepheid.Sifter(WAITS)
    sifter.add("e1", "k", "a", 1, 3)
    sifter.advance(4)
    again = cepheid.Sifter.restore(sifter.snapshot())
    with pytest.raises(InputMistake, match="time has come to 4"):
        again.add("e", "k", "a", 3)
    assert again.advance(9) == sifter.advance(9)
