"""The life of a thread, statement by statement: begun, advanced, complete, negated, expired, and what is left of it."""

from __future__ import annotations

from cepheid import Sifter
from cepheid.graph.happenings import Advanced, Completed, Excluded, Expired, Negated, TickDelta

ABC = """
graph pattern p {
  stage a { .k = "a", .who -> ?x }
  stage b { .k = "b" }
  stage c { .k = "c" }
  unless after a { .k = "x", .who -> ?x }
  deadline 2 ticks
}
"""


def begun() -> Sifter:
    sifter = Sifter(ABC)
    sifter.add("e1", "k", "a", 1)
    sifter.add("e1", "who", "ann", 1)
    return sifter


def test_created_then_active() -> None:
    sifter = begun()
    (thread,) = sifter.threads()
    assert (thread.stage, thread.waiting_for, thread.binds) == ("a", ("b",), {"a": "e1", "x": "ann"})


def test_active_forks_and_the_original_stays() -> None:
    sifter = begun()
    (told,) = sifter.add("e2", "k", "b", 2)
    assert told == Advanced("p", 2, {"a": "e1", "x": "ann", "b": "e2"}, "b", parent=1)
    assert [(t.id, t.stage, t.waiting_for, t.parent) for t in sifter.threads()] == [
        (1, "a", ("b",), None),
        (2, "b", ("c",), 1),
    ]


def test_the_fork_inherits_when_it_was_created() -> None:
    sifter = begun()
    sifter.end_tick()
    sifter.add("e2", "k", "b", 2)
    assert [(t.created, t.age, t.since) for t in sifter.threads()] == [(0, 1, 1), (0, 1, 1)]


def test_complete_matches_are_kept_until_they_are_drained() -> None:
    sifter = begun()
    sifter.add("e2", "k", "b", 2)
    (told,) = sifter.add("e3", "k", "c", 3)
    assert isinstance(told, Completed)
    sifter.end_tick()
    (match,) = sifter.drain_completed()
    assert match == told.match
    assert (match.first, match.last, match.decided) == (1, 3, 3)
    assert list(sifter.drain_completed()) == []


def test_negated_threads_are_gone() -> None:
    sifter = begun()
    sifter.add("e2", "k", "b", 2)
    assert sifter.add("e9", "k", "x", 3) == []
    told = sifter.add("e9", "who", "ann", 3)
    assert [type(h) for h in told] == [Negated, Negated]
    assert isinstance(told[0], Negated)
    assert (told[0].thread, told[0].unless, told[0].by) == (1, 0, {"unless": "e9", "x": "ann"})
    assert (sifter.threads(), sifter.active) == ([], 0)


def test_expired_with_bindings_stage_and_ticks() -> None:
    sifter = begun()
    sifter.end_tick()
    sifter.add("e2", "k", "b", 2)
    assert sifter.end_tick() == (TickDelta(2, advanced=("p",), active=2), [])
    delta, told = sifter.end_tick()
    assert told == [
        Expired("p", 1, {"a": "e1", "x": "ann"}, stage="a", elapsed=3),
        Expired("p", 2, {"a": "e1", "x": "ann", "b": "e2"}, stage="b", elapsed=3),
    ]
    assert delta == TickDelta(3, expired=("p", "p"), active=0)
    assert sifter.threads() == []


def test_what_a_tick_changed() -> None:
    sifter = Sifter(
        """
        private graph pattern fast { stage s { .k = "a", .who -> ?x } stage t { .k = "b", .who -> ?x } }
        private graph pattern slow { stage u { .k = "a", .who -> ?x } stage v { .k = "c", .who -> ?x } }
        graph pattern choice = fast xor slow sharing ?x
        graph pattern calm { stage w { .k = "a" } stage z { .k = "z" } unless { .k = "b" } }
        """
    )
    for node, kind, time in (("e1", "a", 1), ("e2", "b", 2)):
        sifter.add(node, "k", kind, time)
        sifter.add(node, "who", "ann", time)
    delta, told = sifter.end_tick()
    assert delta == TickDelta(
        1,
        advanced=("calm", "choice", "choice"),
        completed=("choice",),
        negated=("calm",),
        excluded=("choice",),
        active=1,
    )
    (excluded,) = told
    assert isinstance(excluded, Excluded)
    assert excluded.binds == {"u": "e1", "x": "ann"}
    assert excluded.by.binds == {"s": "e1", "t": "e2", "x": "ann"}
    assert sifter.end_tick()[0] == TickDelta(2, active=1)


def test_a_thread_that_is_there_is_not_made_again() -> None:
    sifter = begun()
    before = sifter.threads()
    assert sifter.add("e1", "k", "a", 1) == []
    assert sifter.add("e1", "who", "ann", 1) == []
    assert sifter.threads() == before


def test_the_same_bindings_at_another_time_are_another_thread() -> None:
    sifter = begun()
    (told,) = sifter.add("e1", "who", "ann", 2)
    assert isinstance(told, Advanced)
    assert [(t.since, t.binds) for t in sifter.threads()] == [
        (1, {"a": "e1", "x": "ann"}),
        (2, {"a": "e1", "x": "ann"}),
    ]
