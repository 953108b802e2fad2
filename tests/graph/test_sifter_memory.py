"""What a sifter keeps does not grow with what is over."""

from __future__ import annotations

from cepheid.graph.edges import Edge
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern
from cepheid.lang.graph import parse_graph_patterns

CHOICE = """
    private graph pattern paid {
        stage sent { .kind = "sent", .to -> ?who } stage money { .kind = "paid", .by -> ?who }
    }
    private graph pattern gone {
        stage sent { .kind = "sent", .to -> ?who } stage left { .kind = "left", .by -> ?who }
    }
    graph pattern one = paid xor gone sharing ?who
"""


def test_choices_that_no_thread_can_lose_to_are_forgotten() -> None:
    sifter = Sifter(
        [ReadyPattern(p) for p in parse_graph_patterns(CHOICE) if not p.private], completing_leaves=True
    )
    for i in range(1000):
        for time, kind, role in ((3 * i, "sent", "to"), (3 * i + 1, "paid", "by"), (3 * i + 2, "left", "by")):
            sifter.add(Edge(f"e{time}", "kind", kind, time))
            sifter.add(Edge(f"e{time}", role, f"person {i}", time))
    sifter.finish()
    assert len(sifter.drain_completed()) == 1000  # who has paid has not gone
    assert sum(len(made) for made in sifter.choices.made.values()) < 200
