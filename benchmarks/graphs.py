"""Graph patterns over edges that come one by one: microseconds an edge, as patterns and open threads grow.

Each event is a node with three edges: its kind, who did it, to whom. The same matches must come from the graph as a
whole. "elsewhere" are patterns whose kinds do not occur; "open" are threads of people whom nothing happens to any more.

    python benchmarks/graphs.py [--events 100000]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cepheid.graph.batch import find_in
from cepheid.graph.edges import Edge
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import ReadyPattern
from cepheid.lang.graph import parse_graph_patterns

FOLDER = Path("build/bench")
KINDS = 40
PEOPLE = 15
SECOND = 10**6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=100_000)
    count = parser.parse_args().events
    print(f"{'patterns':>9} {'elsewhere':>9} {'open':>9} {'edges':>9} {'matches':>9} {'us/edge':>9}")
    rows = [
        _row(count, *case)
        for case in ((30, 0, 0), (30, 270, 0), (300, 0, 0), (30, 0, 10_000), (30, 0, 100_000))
    ]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "graphs.json").write_text(json.dumps(rows, indent=1))


def _row(count: int, here: int, elsewhere: int, waiting: int) -> dict[str, float]:
    patterns = [ReadyPattern(p) for p in parse_graph_patterns(_texts(here, elsewhere))]
    sifter = Sifter(patterns)
    for edge in _begun(waiting):
        sifter.add(edge)
    open_before = sifter.active
    edges = list(_edges(count))
    start = time.perf_counter()
    for edge in edges:
        sifter.add(edge)
    seconds = time.perf_counter() - start
    sifter.finish()
    matches = sifter.drain_completed()
    _check(patterns, sifter, Counter(m.pattern for m in matches))
    figure = seconds * 1e6 / len(edges)
    print(
        f"{here:>9} {elsewhere:>9} {open_before:>9,} {len(edges):>9,} {len(matches):>9,} {figure:>9.1f}",
        flush=True,
    )
    return {"patterns": here, "elsewhere": elsewhere, "open": open_before, "us_per_edge": figure}


def _check(patterns: list[ReadyPattern], sifter: Sifter, found: Counter[str]) -> None:
    """Some patterns over the whole graph at once."""
    for pattern in patterns[:: max(len(patterns) // 5, 1)]:
        expected = len(find_in(pattern, sifter.edges))
        if found[pattern.name] != expected:
            raise SystemExit(f"{pattern.name}: {found[pattern.name]} edge by edge, {expected} as a whole")


def _texts(here: int, elsewhere: int) -> str:
    """Somebody comes, somebody does something to them and then something else, unless they leave."""
    texts = []
    for i in range(here + elsewhere):
        mark = "" if i < here else "_elsewhere"
        one, two = f"k{i % KINDS}{mark}", f"k{(i + i // KINDS + 1) % KINDS}{mark}"
        texts.append(
            f'''graph pattern p{i} {{
                stage come {{ .kind = "come{mark}", .who -> ?guest }}
                stage first {{ .kind = "{one}", .who -> ?host, .whom -> ?guest }}
                stage second {{ .kind = "{two}", .who -> ?host, .whom -> ?guest }}
                unless between come and second {{ .kind = "leave{mark}", .who -> ?guest }}
            }}'''
        )
    return "\n".join(texts)


def _edges(count: int) -> Iterator[Edge]:
    chance = random.Random(7)
    for i in range(count):
        kind = chance.choice(["come", "leave", *(f"k{k}" for k in range(KINDS))])
        moment = (1_000_000 + i) * SECOND
        yield Edge(f"e{i}", "kind", kind, moment)
        yield Edge(f"e{i}", "who", f"person{chance.randrange(PEOPLE)}", moment)
        yield Edge(f"e{i}", "whom", f"person{chance.randrange(PEOPLE)}", moment)


def _begun(count: int) -> Iterator[Edge]:
    """People who come just before the others, and to whom nothing happens."""
    for i in range(count // 30):
        moment = 1_000_000 * SECOND - 1
        yield Edge(f"b{i}", "kind", "come", moment)
        yield Edge(f"b{i}", "who", f"alone{i}", moment)


if __name__ == "__main__":
    main()
