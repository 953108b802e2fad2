"""An edge touches only what it can advance or end: counted, whatever else there is."""

from __future__ import annotations

from cepheid.graph.edges import Edge
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern
from cepheid.lang.graph import parse_graph_patterns

GUEST = """
    graph pattern {name} {{
        stage come {{ .kind = "come{mark}", .who -> ?guest }}
        stage welcome {{ .kind = "welcome{mark}", .who -> ?host, .whom -> ?guest }}
        stage harm {{ .kind = "harm{mark}", .who -> ?host, .whom -> ?guest }}
        unless between come and harm {{ .kind = "leave{mark}", .who -> ?guest }}
    }}
"""


def sifter_of(*texts: str) -> Sifter:
    return Sifter([ReadyPattern(p) for text in texts for p in parse_graph_patterns(text)])


def happens(sifter: Sifter, node: str, time: int, kind: str, **more: str) -> tuple[int, int, int]:
    """How much was tried, touched and told."""
    tried, touched = sifter.tried, sifter.pool.touched
    told = 0
    for label, target in {"kind": kind, **more}.items():
        told += len(sifter.add(Edge(node, label, target, time)))
    return sifter.tried - tried, sifter.pool.touched - touched, told


def story(sifter: Sifter, start: int) -> list[tuple[int, int, int]]:
    return [
        happens(sifter, "x1", start, "come", who="yann"),
        happens(sifter, "x2", start + 1, "welcome", who="eve", whom="yann"),
        happens(sifter, "x3", start + 2, "dance", who="eve", whom="yann"),
        happens(sifter, "x4", start + 3, "harm", who="eve", whom="yann"),
        happens(sifter, "x5", start + 4, "leave", who="yann"),
    ]


def test_unrelated_threads_are_not_touched() -> None:
    seen = []
    for others in (0, 10, 1000):
        sifter = sifter_of(GUEST.format(name="p", mark=""))
        for i in range(others):
            happens(sifter, f"come {i}", i, "come", who=f"guest {i}")
            if i % 2:
                happens(sifter, f"welcome {i}", i, "welcome", who="eve", whom=f"guest {i}")
        assert sifter.active >= others
        seen.append(story(sifter, 2000))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0] == [(1, 0, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), (1, 2, 2)]


def test_patterns_of_other_kinds_are_not_tried() -> None:
    seen = []
    for others in (0, 10, 300):
        elsewhere = [GUEST.format(name=f"q{i}", mark=f"_{i}") for i in range(others)]
        seen.append(story(sifter_of(GUEST.format(name="p", mark=""), *elsewhere), 1))
    assert seen[0] == seen[1] == seen[2]


def test_what_many_patterns_ask_for_is_tried_once() -> None:
    """Each has a thread of its own; but that somebody comes is found once."""
    one, many = (sifter_of(*(GUEST.format(name=f"p{i}", mark="") for i in range(count))) for count in (1, 50))
    first, all_of_them = story(one, 1), story(many, 1)
    assert [tried for tried, _, _ in first] == [tried for tried, _, _ in all_of_them]
    assert [(50 * touched, 50 * told) for _, touched, told in first] == [
        (touched, told) for _, touched, told in all_of_them
    ]


def test_ends_touch_only_those_that_look_at_them() -> None:
    sifter = sifter_of('graph pattern p { stage a { .k = "a" } stage b { .k = "b" } b during a }')
    for i in range(100):
        sifter.add(Edge(f"e{i}", "k", "a", 0))
    sifter.add(Edge("b", "k", "b", 1))
    sifter.finish()
    waiting = len(sifter.pool.owing_to(7))
    assert (sifter.active, waiting) == (200, 1)
