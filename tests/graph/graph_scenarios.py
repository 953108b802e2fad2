"""Golden scenarios of graph patterns: steps, and what they give, worked out by hand. See `scenarios/README.md`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

import cepheid
from cepheid.engines.graph.matches import Match
from cepheid.graph.happenings import Advanced, Expired, Happening

_EDGES = re.compile(r"(?P<start>[\d.]+)(-(?P<end>[\d.]+))? (?P<close>close )?(?P<node>\S+) (?P<edges>.+)")


@dataclass(frozen=True)
class Step:
    """Edges of one node at one time that come, or end; or the end of a tick, which has none."""

    text: str
    time: float | None = None
    end: float | None = None
    closes: bool = False
    edges: tuple[tuple[Any, str, Any], ...] = ()
    told: Counter[str] | None = None  # None: not said
    active: int | None = None


@dataclass(frozen=True)
class GraphScenario:
    name: str
    why: str
    pattern: str
    steps: tuple[Step, ...]
    expect: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


def load_graph_scenarios() -> Iterator[GraphScenario]:
    for path in sorted((Path(__file__).parent / "scenarios").glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["scenarios"]:
            yield GraphScenario(
                entry.pop("name"),
                entry.pop("why"),
                entry.pop("pattern"),
                tuple(read_step(text) for text in entry.pop("steps")),
                tuple(entry.pop("expect")),
                entry,
            )


def read_step(text: str) -> Step:
    what, _, said = text.partition("=>")
    told, active = _said(said)
    if what.strip() == "tick":
        return Step(text, told=told, active=active)
    found = _EDGES.fullmatch(what.strip())
    assert found is not None, text
    node = _value(found["node"])
    edges = tuple(
        (node, label, _value(value)) for label, _, value in (e.partition("=") for e in found["edges"].split())
    )
    end = None if found["end"] is None else _value(found["end"])
    return Step(text, _value(found["start"]), end, bool(found["close"]), edges, told, active)


def _value(text: str) -> Any:
    return yaml.safe_load(text)


def _said(text: str) -> tuple[Counter[str] | None, int | None]:
    told: Counter[str] = Counter()
    active = None
    words = [part.strip() for part in text.split(",") if part.strip()]
    for word in words:
        number = re.fullmatch(r"active (\d+)", word)
        counted = re.fullmatch(r"(.+) x(\d+)", word)
        if number:
            active = int(number[1])
        elif counted:
            told[counted[1]] += int(counted[2])
        elif word != "nothing":
            told[word] += 1
    said = any(not word.startswith("active ") for word in words)
    return told if said else None, active


# Batch.


def by_batch(scenario: GraphScenario) -> list[str]:
    graph, tick = cepheid.Graph(), 0
    for step in scenario.steps:
        if step.time is None:
            tick += 1
        for source, label, target in step.edges:
            if step.closes:
                graph.close(source, label, target, step.time, tick=tick)
            else:
                graph.add(source, label, target, step.time, step.end, tick=tick)
    return shown(graph.find(scenario.pattern), scenario)


# The sifter.


def by_sifter(scenario: GraphScenario, *, reverse: bool = False, restored: bool = False) -> list[str]:
    """The matches. `reverse`: the edges of each time the other way round; `restored`: saved and read at each step."""
    sifter = cepheid.Sifter(scenario.pattern, **scenario.options.get("sifter", {}))
    found: list[Match] = []
    for time, group in groupby(scenario.steps, lambda step: step.time):
        steps = list(group)
        if time is None:
            for step in steps:
                _check(step, sifter.end_tick()[1], sifter)
        elif reverse:
            _backwards(sifter, steps)
        else:
            _forwards(sifter, steps)
        if restored:
            sifter = cepheid.Sifter.restore(sifter.snapshot())
        found += sifter.drain_completed()
    sifter.finish_all()
    return shown([*found, *sifter.drain_completed()], scenario)


def _forwards(sifter: cepheid.Sifter, steps: list[Step]) -> None:
    for step in steps:
        told = [happening for edge in step.edges for happening in _fed(sifter, step, edge)]
        if step is steps[-1]:
            told += sifter.finish()
        _check(step, told, sifter)


def _backwards(sifter: cepheid.Sifter, steps: list[Step]) -> None:
    """What ends is ended last: it may have come at the same time."""
    backwards = steps[::-1]
    for step in [s for s in backwards if not s.closes] + [s for s in backwards if s.closes]:
        for edge in reversed(step.edges):
            _fed(sifter, step, edge)
    sifter.finish()
    assert steps[-1].active in (None, sifter.active), f"{steps[-1].text}: active {sifter.active}, backwards"


def _fed(sifter: cepheid.Sifter, step: Step, edge: tuple[Any, str, Any]) -> list[Happening]:
    if step.closes:
        return sifter.close(*edge, step.time)
    return sifter.add(*edge, step.time, step.end)


def _check(step: Step, happenings: list[Happening], sifter: cepheid.Sifter) -> None:
    told = Counter(map(_word, happenings))
    assert step.told is None or told == step.told, f"{step.text}\n  told {dict(told)}"
    assert step.active in (None, sifter.active), f"{step.text}\n  active {sifter.active}"


def _word(happening: Happening) -> str:
    word = type(happening).__name__.lower()
    return f"{word} {happening.stage}" if isinstance(happening, (Advanced, Expired)) else word


# Matches as the files spell them.


def shown(matches: Any, scenario: GraphScenario) -> list[str]:
    several = len({m.partition(":")[0] for m in scenario.expect if ": " in m}) > 0
    intervals = any("|" in m for m in scenario.expect)
    return sorted(_match(match, several, intervals) for match in matches)


def _match(match: Match, several: bool, intervals: bool) -> str:
    text = " ".join(f"{name}={_text(value)}" for name, value in sorted(match.binds.items()))
    if several:
        text = f"{match.pattern}: {text}"
    if not intervals:
        return text
    times = (f"{i.stage}@{_text(i.start)}..{'' if i.end is None else _text(i.end)}" for i in match.intervals)
    return f"{text} | {' '.join(times)}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def wanted(scenario: GraphScenario) -> list[str]:
    return sorted(_ordered(match) for match in scenario.expect)


def _ordered(text: str) -> str:
    """With the variables in the order of their names; the intervals stand in the order of time."""
    head, bar, tail = text.partition(" | ")
    name, colon, binds = head.partition(": ") if ": " in head else ("", "", head)
    return f"{name}{colon}{' '.join(sorted(binds.split(), key=lambda b: b.partition('=')[0]))}{bar}{tail}"
