"""The figures of a Spark benchmark, ours beside the floor, as JSON and as a picture in build/bench."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from peers.chart import Bar, svg


@dataclass(frozen=True)
class Figure:
    query: str
    events: int
    matches: int
    floor: float  # seconds
    ours: float

    def bars(self) -> list[Bar]:
        parts = (("floor", self.floor), ("cepheid", self.ours))
        return [Bar(self.query, name, self.events, self.events / seconds) for name, seconds in parts]


Pair = tuple[float, float]  # seconds of the floor, and of ours right after it


def typical(pairs: list[Pair]) -> Pair:
    """The one with the middle ratio: both see the same machine, which is not as fast at all times."""
    return sorted(pairs, key=lambda pair: pair[1] / pair[0])[len(pairs) // 2]


def keep(name: str, figures: list[Figure]) -> None:
    folder = Path("build/bench")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [asdict(f) | {"times_floor": f.ours / f.floor} for f in figures]
    (folder / f"{name}.json").write_text(json.dumps(lines, indent=1) + "\n")
    bars = [bar for figure in figures for bar in figure.bars()]
    (folder / f"{name}.svg").write_text(svg(bars), encoding="utf-8")
