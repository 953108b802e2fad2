"""Graph patterns over edges that come one by one: microseconds an edge, as patterns and open threads grow.

Each event is a node with three edges: its kind, who did it, to whom. "elsewhere" are patterns whose kinds do not occur;
"open" are threads of people whom nothing happens to any more. The matches of every pattern are counted by a loop
written by hand for these patterns alone, which is also the floor; of a short history they are those of the graph as a
whole. Times are those of the processor: one core does all of it.

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
SHORT = 1_000  # events that are also looked at as a whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=100_000)
    count = parser.parse_args().events
    _check_whole()
    names = ("patterns", "elsewhere", "open", "edges", "matches", "us/edge", "by hand")
    print(" ".join(f"{name:>9}" for name in names))
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
    start = time.process_time()
    for edge in edges:
        sifter.add(edge)
    seconds = time.process_time() - start
    sifter.finish()
    matches = sifter.drain_completed()
    start = time.process_time()
    expected = _by_hand(edges, here)
    floor = (time.process_time() - start) * 1e6 / len(edges)
    _compare(Counter(m.pattern for m in matches), expected, "by hand")
    figure = seconds * 1e6 / len(edges)
    numbers = f"{open_before:>9,} {len(edges):>9,} {len(matches):>9,} {figure:>9.1f} {floor:>9.1f}"
    print(f"{here:>9} {elsewhere:>9} {numbers}", flush=True)
    return {
        "patterns": here,
        "elsewhere": elsewhere,
        "open": open_before,
        "us_per_edge": figure,
        "by_hand": floor,
    }


def _compare(found: Counter[str], expected: Counter[str], how: str) -> None:
    for name in sorted(found.keys() | expected.keys()):
        if found[name] != expected[name]:
            raise SystemExit(f"{name}: {found[name]} edge by edge, {expected[name]} {how}")


def _check_whole() -> None:
    """A short history, edge by edge, by hand and as a whole."""
    patterns = [ReadyPattern(p) for p in parse_graph_patterns(_texts(30, 0))]
    sifter, edges = Sifter(patterns), list(_edges(SHORT))
    for edge in edges:
        sifter.add(edge)
    sifter.finish()
    found = Counter(m.pattern for m in sifter.drain_completed())
    _compare(found, _by_hand(edges, 30), "by hand")
    _compare(found, Counter({p.name: len(find_in(p, sifter.edges)) for p in patterns}), "as a whole")


def _kinds_of(pattern: int) -> tuple[str, str]:
    return f"k{pattern % KINDS}", f"k{(pattern + pattern // KINDS + 1) % KINDS}"


def _by_hand(edges: list[Edge], here: int) -> Counter[str]:
    """How often somebody came, then one thing was done to them and then the other, without leaving in between."""
    firsts_of: dict[str, list[int]] = {}
    seconds_of: dict[str, list[int]] = {}
    for pattern in range(here):
        first, second = _kinds_of(pattern)
        firsts_of.setdefault(first, []).append(pattern)
        seconds_of.setdefault(second, []).append(pattern)
    came: Counter[str] = Counter()
    done: dict[str, Counter[tuple[int, str]]] = {}  # by guest: patterns, hosts
    matches: Counter[str] = Counter()
    for i in range(0, len(edges), 3):
        kind, who, whom = (edge.target for edge in edges[i : i + 3])
        if kind == "come":
            came[who] += 1
        elif kind == "leave":
            came[who] = 0
            done.pop(who, None)
        else:
            own = done.setdefault(whom, Counter())
            for pattern in seconds_of.get(kind, ()):
                if (pattern, who) in own:
                    matches[f"p{pattern}"] += own[pattern, who]
            if came[whom]:
                for pattern in firsts_of.get(kind, ()):
                    own[pattern, who] += came[whom]
    return matches


def _texts(here: int, elsewhere: int) -> str:
    """Somebody comes, somebody does something to them and then something else, unless they leave."""
    texts = []
    for i in range(here + elsewhere):
        mark = "" if i < here else "_elsewhere"
        one, two = (f"{kind}{mark}" for kind in _kinds_of(i))
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
