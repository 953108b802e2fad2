"""Patterns that are added to a running sifter, and taken out of it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import cepheid
from cepheid.errors import EvaluationError, PatternMistake
from cepheid.graph.batch import find_in
from cepheid.graph.happenings import Advanced, Completed, Ended, Expired
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.graph_pattern import Choice, GraphPattern

sys.path.insert(0, str(Path(__file__).parent))

from graph_strategies import Happens, histories, patterns
from test_agreement import shape
from test_snapshot import feed

FIRST = 'graph pattern first { stage a { .k = "a" } stage b { .k = "b" } }'
SECOND = 'graph pattern second { stage a { .k = "a", .who -> ?x } stage b { .k = "b", .who -> ?x } }'
CUTS = st.integers(0, 12)


def seen(sifter: cepheid.Sifter) -> Any:
    """What there is of a pattern, whatever the numbers of threads."""
    threads = [replace(t, id=0, parent=t.parent and 0) for t in sifter.threads("p")]
    return threads, [_ends_left_out(repr(m)) for m in sifter.drain_completed() if m.pattern == "p"]


def _ends_left_out(text: str) -> str:
    """Of a match it is told which intervals had ended by then: of the past that is known better."""
    return re.sub(r"end=\w+", "end", text)


@given(patterns(), patterns(), histories(), CUTS, st.booleans())
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_with_the_past_it_is_as_if_it_had_always_been_there(
    pattern: GraphPattern, other: GraphPattern, ticks: list[list[Happens]], cut: int, leaves: bool
) -> None:
    steps = [step for happens in ticks for step in (*happens, None)]
    always = cepheid.Sifter(pattern, completing_leaves=leaves)
    later = cepheid.Sifter(replace(other, name="other"), completing_leaves=leaves)
    told_always = [h for step in steps[:cut] for h in _happenings(feed(always, step))]
    for step in steps[:cut]:
        feed(later, step)
    told = later.add_patterns(pattern, past=True)
    note(f"{told_always}")
    assert _without_ticks(told) == _without_ticks(told_always)
    assert seen(later) == seen(always)
    for step in steps[cut:]:
        assert _bare(_happenings(feed(later, step))) == _bare(_happenings(feed(always, step)))
        assert seen(later) == seen(always)
    again = cepheid.Sifter.restore(later.snapshot())
    assert again.finish_all() == later.finish_all()
    always.finish_all()
    assert seen(later) == seen(always)


def _happenings(told: Any) -> list[Any]:
    return told[1] if isinstance(told, tuple) else told


def _without_ticks(told: list[Any]) -> list[str]:
    """In which tick a window was over is not known of the past: an end may have been told at once, or when it came."""
    return _bare([replace(h, elapsed=0) if isinstance(h, Expired) else h for h in told])


def _bare(told: list[Any]) -> list[str]:
    """Of the pattern, without the numbers of threads; of one time in any order."""
    bare = [replace(h, thread=0, **({"parent": None} if isinstance(h, Advanced) else {})) for h in told]
    return sorted(_ends_left_out(repr(h)) for h in bare if h.pattern == "p")


@given(patterns(), histories(), CUTS)
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
def test_without_the_past_it_finds_what_begins_later(
    pattern: GraphPattern, ticks: list[list[Happens]], cut: int
) -> None:
    if isinstance(pattern.body, Choice) and pattern.body.exclusive:
        return  # what it loses to may have begun before
    steps = [step for happens in ticks for step in (*happens, None)]
    # Where a time is over, so that it is clear what came before.
    cuts = [i for i, step in enumerate(steps) if step is None] + [0]
    at = cuts[cut % len(cuts)]
    sifter = cepheid.Sifter(FIRST)
    for step in steps[:at]:
        feed(sifter, step)
    sifter.finish()
    before = sifter._core.reached
    sifter.add_patterns(pattern)
    for step in steps[at:]:
        feed(sifter, step)
    sifter.finish_all()
    found = [m for m in sifter._core.drain_completed() if m.pattern == "p"]
    whole = find_in(ReadyPattern(pattern), sifter._core.edges)
    expected = [m for m in whole if before is None or m.first > before]
    assert sorted(map(shape, found)) == sorted(map(shape, expected))


def grown() -> cepheid.Sifter:
    sifter = cepheid.Sifter(FIRST)
    sifter.add("e1", "k", "a", 1)
    sifter.add("e1", "who", "ann", 1)
    return sifter


def then_b(sifter: cepheid.Sifter) -> list[tuple[str, str]]:
    told = sifter.add("e2", "k", "b", 2) + sifter.add("e2", "who", "ann", 2)
    return [(type(h).__name__, h.pattern) for h in told]


def test_from_now_on() -> None:
    sifter = grown()
    assert sifter.add_patterns(SECOND) == []
    assert sifter.enabled() == {"first": True, "second": True}
    assert then_b(sifter) == [("Completed", "first")]


def test_with_the_past() -> None:
    sifter = grown()
    (told,) = sifter.add_patterns(SECOND, past=True)
    assert told == Advanced("second", 2, {"a": "e1", "x": "ann"}, "a", None)
    assert [t.id for t in sifter.threads()] == [1, 2]
    assert then_b(sifter) == [("Completed", "first"), ("Completed", "second")]
    assert sifter.end_tick()[0].advanced == ("first", "second")


def test_matches_of_the_past_are_told() -> None:
    sifter = grown()
    then_b(sifter)
    sifter.drain_completed()
    told = sifter.add_patterns(SECOND, past=True)
    assert [type(h) for h in told] == [Advanced, Completed]
    assert [m.pattern for m in sifter.drain_completed()] == ["second"]


def test_a_stage_that_is_completed_later_counts() -> None:
    sifter = cepheid.Sifter(FIRST)
    sifter.add("e1", "k", "a", 1)
    sifter.add_patterns(SECOND)
    assert [h.pattern for h in sifter.add("e1", "who", "ann", 1)] == ["second"]


def test_a_pattern_that_fails_on_the_past_is_not_added() -> None:
    sifter = grown()
    before = sifter.snapshot()
    with pytest.raises(EvaluationError):
        sifter.add_patterns("graph pattern p { stage s { .who -> ?x } where ?x > 1 }", past=True)
    with pytest.raises(PatternMistake, match="already") as caught:
        sifter.add_patterns(FIRST)
    assert "remove_pattern" in str(caught.value.hint)
    assert sifter.snapshot() == before


def test_taken_out() -> None:
    sifter = cepheid.Sifter(FIRST)
    sifter.add_patterns([SECOND, SECOND.replace("second", "third")])
    sifter.disable("third")
    for label, target in (("k", "a"), ("who", "ann")):
        sifter.add("e1", label, target, 1)
    what_if = sifter.clone()
    (ended,) = sifter.remove_pattern("first")
    assert ended == Ended("first", 1, {"a": "e1"}, "a")
    assert sifter.enabled() == {"second": True, "third": False}
    sifter = cepheid.Sifter.restore(sifter.snapshot())
    assert then_b(sifter) == [("Completed", "second")]
    assert then_b(what_if) == [("Completed", "first"), ("Completed", "second")]
    with pytest.raises(PatternMistake, match="no graph pattern"):
        sifter.remove_pattern("first")


def test_the_last_one_taken_out_and_another_put_in() -> None:
    sifter = grown()
    sifter.remove_pattern("first")
    sifter = cepheid.Sifter.restore(sifter.snapshot())
    assert (sifter.enabled(), sifter.add("e9", "k", "a", 1)) == ({}, [])
    sifter.add_patterns(FIRST, past=True)
    assert sifter.active == 2


CHOICE = """
    private graph pattern one { stage s { .k = "a", .who -> ?x } stage t { .k = "b", .who -> ?x } }
    private graph pattern two { stage u { .k = "a", .who -> ?x } stage v { .k = "c", .who -> ?x } }
    graph pattern choice = one xor two sharing ?x
"""


def test_choices_keep_their_pattern() -> None:
    sifter = cepheid.Sifter([FIRST, CHOICE])
    for label, target in (("k", "a"), ("who", "ann")):
        sifter.add("e1", label, target, 1)
    then_b(sifter)
    sifter.remove_pattern("first")
    assert [type(h).__name__ for h in sifter.advance(3)] == ["Excluded"]
    sifter.remove_pattern("choice")
    assert sifter.active == 0
