"""Sigma by its specification, slow and obvious: raw YAML and events in, hits and matches out. No pySigma, no engine.

What the specification leaves open is decided as docs/sigma.md says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from statistics import fmean
from typing import Any

Event = dict[str, Any]
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


# --- detections ---------------------------------------------------------------------------------------------


def fits(rule: dict[str, Any], event: Event) -> bool:
    """Does an event fit a detection rule?"""
    detection = rule["detection"]
    named = {name: _identifier(d, event) for name, d in detection.items() if name != "condition"}
    said = detection["condition"]
    return any(_condition(text, named) for text in (said if isinstance(said, list) else [said]))


def _identifier(definition: Any, event: Event) -> bool:
    """A map: all of its items. A list: one of its maps (keywords are not in here)."""
    if isinstance(definition, list):
        return any(_identifier(item, event) for item in definition)
    return all(_item(key, value, event) for key, value in definition.items())


def _item(key: str, value: Any, event: Event) -> bool:
    name, *modifiers = key.split("|")
    values = value if isinstance(value, list) else [value]
    found = [
        _value(event.get(name), v, [m for m in modifiers if m not in ("all", "neq")], event) for v in values
    ]
    result = all(found) if "all" in modifiers else any(found)
    return not result if "neq" in modifiers else result


def _value(actual: Any, wanted: Any, modifiers: list[str], event: Event) -> bool:
    if modifiers[:1] == ["exists"]:
        return (actual is not None) == wanted
    if wanted is None:
        return actual is None
    if actual is None:
        return False
    if modifiers[:1] == ["re"]:
        flags = {"i": re.I, "m": re.M, "s": re.S}
        return re.search(wanted, _text(actual), sum(flags[m] for m in modifiers[1:])) is not None
    if modifiers[:1] == ["cidr"]:
        return _in_network(_text(actual), wanted)
    if modifiers[:1] == ["fieldref"]:
        other = event.get(wanted)
        return other is not None and _text(actual).lower() == _text(other).lower()
    for word, holds in (("lt", int.__lt__), ("lte", int.__le__), ("gt", int.__gt__), ("gte", int.__ge__)):
        if modifiers[:1] == [word]:
            number = _number(actual)
            return number is not None and bool(holds(int(number * 1000), int(wanted * 1000)))
    if isinstance(wanted, bool):
        return _text(actual).lower() == str(wanted).lower()
    if isinstance(wanted, (int, float)):
        return _number(actual) == wanted
    return _wild(_text(actual), _pattern(wanted, modifiers), cased="cased" in modifiers)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _in_network(address: str, network: str) -> bool:
    try:
        return ip_address(address) in ip_network(network)
    except (ValueError, TypeError):
        return False


ANY, ONE = object(), object()


def _pattern(text: str, modifiers: list[str]) -> list[Any]:
    """Characters and wildcards: a backslash takes a wildcard or a backslash after it as it is."""
    found: list[Any] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in ("*", "?", "\\"):
            found.append(text[at + 1])
            at += 1
        else:
            found.append({"*": ANY, "?": ONE}.get(text[at], text[at]))
        at += 1
    before = [ANY] if {"contains", "endswith"} & set(modifiers) else []
    after = [ANY] if {"contains", "startswith"} & set(modifiers) else []
    return before + found + after


def _wild(text: str, pattern: list[Any], cased: bool) -> bool:
    if not cased:
        text, pattern = text.lower(), [p.lower() if isinstance(p, str) else p for p in pattern]

    def matches(i: int, j: int) -> bool:
        if j == len(pattern):
            return i == len(text)
        if pattern[j] is ANY:
            return any(matches(k, j + 1) for k in range(i, len(text) + 1))
        return i < len(text) and (pattern[j] is ONE or pattern[j] == text[i]) and matches(i + 1, j + 1)

    return matches(0, 0)


def _condition(text: str, named: dict[str, bool]) -> bool:
    """or < and < not < `1 of x*` < parentheses, by Python's own words of the same binding."""

    def selector(found: re.Match[str]) -> str:
        count, pattern = found.groups()
        names = [n for n in named if (pattern == "them" and not n.startswith("_")) or _selects(pattern, n)]
        return str((any if count in ("1", "any") else all)(named[n] for n in names))

    text = re.sub(r"\b(1|any|all) of ([\w*]+)", selector, text)
    words = {"and", "or", "not", "True", "False"}
    text = re.sub(r"[\w-]+", lambda w: w[0] if w[0] in words else str(named[w[0]]), text)
    return bool(eval(text))


def _selects(pattern: str, name: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None and not name.startswith(
        "_"
    )


# --- correlations -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hit:
    """An event that fits a rule of the correlation; `rule` is the rule's position in it."""

    time: int
    rule: int
    event: Event


def correlated(
    correlation: dict[str, Any], rules: dict[str, dict[str, Any]], events: list[Event]
) -> list[list[int]]:
    """The matches of a correlation over detection rules: the numbers `n` of their events."""
    named = correlation["rules"] if isinstance(correlation["rules"], list) else [correlation["rules"]]
    groups: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        groups.setdefault(tuple(event.get(f) for f in correlation.get("group-by", [])), []).append(event)
    span = int(correlation["timespan"][:-1]) * SECONDS[correlation["timespan"][-1]]
    found: list[list[Event]] = []
    for group in groups.values():
        found += _of_group(correlation, [rules[name] for name in named], group, span)
    return sorted([e["n"] for e in match] for match in found)


def _of_group(
    correlation: dict[str, Any], rules: list[dict[str, Any]], events: list[Event], span: int
) -> Iterator[list[Event]]:
    kind, condition = correlation["type"], dict(correlation.get("condition") or {})
    field = condition.pop("field", None)
    if kind in ("temporal", "temporal_ordered"):
        return _together(rules, events, span, ordered=kind == "temporal_ordered")
    hits = [e for e in events if any(fits(rule, e) for rule in rules)]
    if kind != "event_count":
        hits = [e for e in hits if e.get(field) is not None]
    ((operator, number),) = condition.items()
    rising = operator in ("gt", "gte") and kind in ("event_count", "value_count")
    measure = _MEASURES[kind]
    judge = _watched if rising else _judged
    return judge(hits, span, lambda window: _HOLDS[operator](measure([e.get(field) for e in window]), number))


_MEASURES = {
    "event_count": len,
    "value_count": lambda values: len(set(values)),
    "value_sum": lambda values: sum(float(v) for v in values),
    "value_avg": lambda values: fmean(float(v) for v in values),
}
_HOLDS = {
    "gt": lambda x, y: x > y,
    "gte": lambda x, y: x >= y,
    "lt": lambda x, y: x < y,
    "lte": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "neq": lambda x, y: x != y,
}


def _watched(hits: list[Event], span: int, holds: Any) -> Iterator[list[Event]]:
    """The hit that makes it true ends the match, and the next one begins after it."""
    since: list[Event] = []
    for hit in hits:
        since = [e for e in since if hit["time"] - e["time"] <= span] + [hit]
        if holds(since):
            yield since
            since = []


def _judged(hits: list[Event], span: int, holds: Any) -> Iterator[list[Event]]:
    """A window opens with a hit and lasts the time span; it is judged when it is over."""
    left = list(hits)
    while left:
        window = [e for e in left if e["time"] - left[0]["time"] <= span]
        if holds(window):
            yield window
        left = left[len(window) :]


def _together(
    rules: list[dict[str, Any]], events: list[Event], span: int, ordered: bool
) -> Iterator[list[Event]]:
    hits = [Hit(e["time"], i, e) for e in events for i, rule in enumerate(rules) if fits(rule, e)]
    if not ordered:  # hits of one moment: those of an earlier rule first
        hits.sort(key=lambda hit: (hit.time, hit.rule))
    begin = 0
    for end in range(len(hits)):
        window = [h for h in hits[begin : end + 1] if hits[end].time - h.time <= span]
        for start in range(len(window)):
            taken = _taken(window[start:], len(rules), ordered)
            if taken is not None and taken[-1] is hits[end]:
                yield [h.event for h in taken]
                last = hits[end].event
                begin = end + 1
                while ordered and begin < len(hits) and hits[begin].event is last:
                    begin += 1
                break


def _taken(window: list[Hit], rules: int, ordered: bool) -> list[Hit] | None:
    """From its first hit on: of each rule the first, in any order or in that of the rules; None if one is missing."""
    if ordered and window[0].rule != 0:
        return None
    taken = [window[0]]
    for hit in window[1:]:
        if ordered and hit.rule == len(taken) and hit.event is not taken[-1].event:
            taken.append(hit)
        if not ordered and all(hit.rule != t.rule for t in taken):
            taken.append(hit)
        if len(taken) == rules:
            return taken
    return taken if len(taken) == rules else None
