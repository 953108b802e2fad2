"""Golden scenarios: events, a query and the matches worked out by hand. See `tests/scenarios/README.md`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.times import from_microseconds

_TOKEN = re.compile(r"\s*(?P<label>[^\W\d][\w.]*?\d*)(?:@(?P<time>[\w.]+))?(?P<fields>\{[^}]*\})?(?=\s|$)")


@dataclass(frozen=True)
class Scenario:
    """One scenario; `options` holds the keys of the file that are not fields here."""

    name: str
    query: str
    events: tuple[Event, ...]
    why: str = ""
    file: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def option(self, key: str, default: Any = None) -> Any:
        return self.options.get(key, default)

    @property
    def streaming(self) -> bool:
        return "arrival" in self.options

    def arriving(self) -> list[Event]:
        """Events in the order they arrive."""
        if not self.streaming:
            return list(self.events)
        by_label = {e.fields["id"]: e for e in self.events}
        labels = self.options["arrival"]
        order = labels.split() if isinstance(labels, str) else labels
        return [replace(by_label[x], seq=i) for i, x in enumerate(order)]


@dataclass
class Outcome:
    """What an engine made of a scenario. A match is the labels of its events; a bind maps aliases to labels.

    `ends` and `deadlines` belong to the matches and to what is pending: when each is over, where the engine tells it.
    """

    matches: list[tuple[str, ...]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    binds: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    pending: list[tuple[str, ...]] = field(default_factory=list)
    timeouts: list[tuple[str, ...]] = field(default_factory=list)
    late: list[tuple[str, ...]] = field(default_factory=list)
    dead_letters: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    deadlines: list[int | None] = field(default_factory=list)


Engine = Callable[[Scenario], Outcome]


def load_scenarios(folder: Path) -> Iterator[Scenario]:
    """Every scenario of every file in a folder."""
    import yaml

    for path in sorted(folder.glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for entry in document["scenarios"]:
            yield read_scenario(entry, path.name)


def read_scenario(entry: dict[str, Any], file: str = "") -> Scenario:
    rest = {k: v for k, v in entry.items() if k not in ("name", "query", "events", "why")}
    order = rest.get("order") or []
    events = read_events(entry["events"], tuple([order] if isinstance(order, str) else order))
    return Scenario(entry["name"], entry["query"], events, entry.get("why", ""), file, rest)


def read_events(tokens: str | list[str], order: tuple[str, ...] = ()) -> tuple[Event, ...]:
    """Events from their short spelling.

    >>> [(e.type, e.time, e.fields["id"]) for e in read_events("A1 B2@0.5{v: 3}")]
    [('A', 0, 'A1'), ('B', 500000, 'B2')]
    """
    import yaml

    text = tokens if isinstance(tokens, str) else " ".join(tokens)
    found: list[Event] = []
    at = 0
    while text[at:].strip():
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"not an event: {text[at:].strip()[:40]!r}")
        at = token.end()
        time = _time(token["time"], found)
        given = yaml.safe_load(token["fields"]) if token["fields"] else {}
        kind = token["label"].rstrip("0123456789")
        fields = {"type": kind, "time": from_microseconds(time), "id": token["label"], **given}
        values = tuple(fields.get(o) for o in order)
        found.append(Event(kind, time, fields, order=values, seq=len(found)))
    return tuple(found)


def _time(text: str | None, before: list[Event]) -> int:
    if text is None:
        return before[-1].time + 10**6 if before else 0
    return duration(float(text)) if re.fullmatch(r"\d+(\.\d+)?", text) else duration(text)


def labels(events: Any) -> tuple[str, ...]:
    """Of derived events, which have none, the stream's name."""
    return tuple(str(e.fields.get("id", e.type)) for e in events)


def problems(scenario: Scenario, outcome: Outcome) -> list[str]:
    """What differs from the expectation, in words; nothing if all is well."""
    found = []
    for key, actual in (
        ("expect", outcome.matches),
        ("pending", outcome.pending),
        ("timeouts", outcome.timeouts),
        ("late", outcome.late),
    ):
        if key in scenario.options:
            wanted = [tuple(str(m).split()) for m in scenario.options[key]]
            ordered = scenario.option("ordered") and key == "expect"
            if (wanted != actual) if ordered else (sorted(wanted) != sorted(actual)):
                found.append(f"{key}: wanted {_show(wanted)}, got {_show(actual)}")
    for key, actual_maps in (("bind", outcome.binds), ("rows", outcome.rows)):
        if key in scenario.options and not _same_maps(scenario.options[key], actual_maps):
            found.append(f"{key}: wanted {scenario.options[key]}, got {actual_maps}")
    if "dead_letters" in scenario.options:
        wanted_dead = scenario.options["dead_letters"]
        wanted_dead = wanted_dead.split() if isinstance(wanted_dead, str) else wanted_dead
        if sorted(wanted_dead) != sorted(outcome.dead_letters):
            found.append(f"dead_letters: wanted {wanted_dead}, got {outcome.dead_letters}")
    return found


def _show(matches: list[tuple[str, ...]]) -> str:
    return "[" + ", ".join("(" + ",".join(m) + ")" for m in sorted(matches)) + "]"


def _same_maps(wanted: list[dict[str, Any]], actual: list[dict[str, Any]]) -> bool:
    left = list(actual)
    for row in wanted:
        for candidate in left:
            if _same_map(row, candidate):
                left.remove(candidate)
                break
        else:
            return False
    return not left


def _same_map(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(_same_value(one[k], other[k]) for k in one)


def _same_value(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and abs(float(one) - float(other)) < 1e-9
    if isinstance(one, list) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_same_value(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
