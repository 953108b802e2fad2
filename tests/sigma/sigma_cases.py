"""Rules in few words, and what they find by number."""

from __future__ import annotations

from typing import Any

import yaml

import cepheid

Event = dict[str, Any]


def rule_text(detection: dict[str, Any], name: str = "rule") -> str:
    return yaml.safe_dump(
        {"title": name, "name": name, "logsource": {"product": "any"}, "detection": detection},
        allow_unicode=True,
        sort_keys=False,
    )


def correlation_text(correlation: dict[str, Any], name: str = "correlation") -> str:
    return yaml.safe_dump({"title": name, "name": name, "correlation": correlation}, sort_keys=False)


def program_text(rules: dict[str, dict[str, Any]], correlation: dict[str, Any] | None = None) -> str:
    texts = [rule_text(detection, name) for name, detection in rules.items()]
    return "---\n".join(texts if correlation is None else [*texts, correlation_text(correlation)])


def numbered(events: list[Event]) -> list[Event]:
    """With a number each, and a time: one second after the other unless they have one."""
    return [{"time": n, **event, "n": n} for n, event in enumerate(events)]


def found(
    text: str, events: list[Event], stream: str, engine: str = "reference", **naming: Any
) -> list[list[int]]:
    """The matches of a rule by the numbers of their events; events of a match that are events of it only once."""
    program = cepheid.sigma_patterns(text, **naming)
    # Every event has every field, so that none is unknown because it happens to be absent.
    names = sorted({name for event in events for name in event})
    rows = [{name: event.get(name) for name in names} for event in events]
    matches = cepheid.run(program, rows, type="", engine=engine)[stream]
    return sorted(numbers(match) for match in matches)


def numbers(match: Event) -> list[int]:
    """The events of a match in the order of time, then of their numbers."""
    events = [value for value in match.values() if isinstance(value, dict)]
    events += [item for value in match.values() if isinstance(value, list) for item in value]
    return [e["n"] for e in sorted(events, key=lambda e: (e["time"], e["n"]))]
