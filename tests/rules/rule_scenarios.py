"""Scenarios of rules: read from YAML, as operations, as tables, and many of them as keys of one bundle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from cepheid.engines.rules.operations import ASSERT, EVENT, RETRACT, RETRACT_EVENT, UPDATE, Operation
from cepheid.engines.rules.told import Told
from cepheid.lang.rules import parse_rules
from cepheid.pattern.rule_model import AssertEvent, AssertFact, Emit, Rule, RuleSet, Shape

FOLDER = Path(__file__).parent / "scenarios"
_KINDS = {"+": ASSERT, "~": UPDATE, "-": RETRACT, "!": EVENT, "x": RETRACT_EVENT, ">": "advance"}
TICK = 1_000_000


@dataclass(frozen=True)
class Scenario:
    name: str
    rules: str
    do: tuple[Operation, ...]  # times in ticks
    expect: tuple[str, ...]
    open: bool = False
    as_given: bool = False


def scenarios() -> list[Scenario]:
    return [one for file in sorted(FOLDER.glob("*.yaml")) for one in _read(file)]


def _read(file: Path) -> Iterable[Scenario]:
    for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["scenarios"]:
        assert entry["why"]
        yield Scenario(
            f"{file.stem}-{entry['name']}",
            entry["rules"],
            tuple(_operation(str(line)) for line in entry["do"]),
            tuple(_sorted(str(line)) for line in entry["expect"]),
            entry.get("open", False),
            entry.get("as_given", False),
        )


def _operation(line: str) -> Operation:
    time, sign, *rest = line.split()
    kind, *values = rest or [""]
    identity = values.pop(0) if values else "_"
    given = {name: _value(text) for name, text in (pair.split("=", 1) for pair in values)}
    return Operation(_KINDS[sign], kind, int(time), given, None if identity == "_" else _value(identity))


def _value(text: str) -> Any:
    return yaml.safe_load(text) if text not in ("ON", "OFF", "on", "off", "y", "n") else text


# What happened, in the words of the scenarios.


def line(told: Told) -> str:
    return _sorted(f"{told.time} {_what(told)}")


def _sorted(line: str) -> str:
    """What a firing matched goes by names, in no order."""
    time, what, *rest = line.split(" ")
    return line if what in ("emit", "skip", *_KINDS) else " ".join([time, what, *sorted(rest)])


def _what(told: Told) -> str:
    match told.kind:
        case "fired":
            return " ".join([told.name, *(f"{n}={_text(o.id)}" for n, o in told.objects.items())])
        case "emitted":
            return " ".join(["emit", told.name, *_pairs(told.fields)])
        case "asserted":
            return " ".join(["!" if told.event else "+", told.name, _text(told.id), *_pairs(told.fields)])
        case "modified":
            before = told.before or {}
            changed = {n: v for n, v in told.fields.items() if before.get(n) != v}
            return " ".join(["~", told.name, _text(told.id), *_pairs(changed)])
        case "retracted":
            return f"- {told.name} {_text(told.id)}"
        case "skipped":
            return f"skip {told.name}: {told.reason}"
    raise AssertionError(told)


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_text(value)}" for name, value in values.items()]


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, datetime):  # on Spark ticks are seconds since 1970
        return str(int(value.timestamp()))
    return str(int(value.total_seconds())) if isinstance(value, timedelta) else str(value)


# As tables: a log of facts and a table of events.


def tables(operations: Iterable[Operation]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    facts: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for o in operations:
        row = {"time": o.time, "type": o.type, **o.fields}
        if o.identity is not None:
            row["id"] = o.identity
        if o.kind == EVENT:
            events.append(row)
        else:
            facts.append({**row, "op": o.kind})
    return facts, events


def as_tables(scenario: Scenario) -> bool:
    """Can tables say it? Not that time moves on in between, or that an event is retracted from outside."""
    return not scenario.as_given and all(o.kind not in ("advance", RETRACT_EVENT) for o in scenario.do)


# Bundles: many scenarios as keys of one rule set. Types, rules and streams get the number of their rules.


def undeclared(scenario: Scenario) -> bool:
    """Where types are declared all must be, so that such scenarios are in no bundle."""
    return not parse_rules(scenario.rules).types


@dataclass(frozen=True)
class Bundle:
    """Each scenario is a key. Scenarios with the same rules share them."""

    scenarios: list[Scenario]

    @cached_property
    def texts(self) -> list[str]:
        return list(dict.fromkeys(s.rules for s in self.scenarios))

    @cached_property
    def rules(self) -> RuleSet:
        read = [(number, parse_rules(text)) for number, text in enumerate(self.texts)]
        return RuleSet(tuple(_renamed(rule, number) for number, one in read for rule in one.rules))

    def operations(self) -> list[Operation]:
        """Of all of them, with the number of the scenario as the key."""
        return [
            replace(o, type=f"{o.type}_{self._group(s)}", fields={**o.fields, "scenario": number})
            for number, s in enumerate(self.scenarios)
            for o in s.do
        ]

    def _group(self, scenario: Scenario) -> int:
        return self.texts.index(scenario.rules)

    def check(self, told: Iterable[Told], tick: int = 1) -> None:
        """Each scenario is told as if it were alone."""
        found: dict[Any, list[Told]] = {}
        for one in told:
            found.setdefault(one.key, []).append(one)
        for number, scenario in enumerate(self.scenarios):
            own = [self._line(one, scenario, tick) for one in found.get(number, ())]
            assert own == list(scenario.expect), scenario.name

    def _line(self, told: Told, scenario: Scenario, tick: int) -> str:
        before = told.before and _own(told.before)
        own = replace(told, time=told.time // tick, fields=_own(told.fields), before=before)
        return re.sub(rf"_{self._group(scenario)}(?=[ :]|$)", "", line(own))


def _renamed(node: Any, number: int) -> Any:
    """The same with every name of a type, a rule or a stream followed by a number."""
    if isinstance(node, tuple):
        return tuple(_renamed(part, number) for part in node)
    if not is_dataclass(node):
        return node
    changes = {
        f.name: _renamed(getattr(node, f.name), number)
        for f in fields(node)
        if isinstance(getattr(node, f.name), tuple) or is_dataclass(getattr(node, f.name))
    }
    if isinstance(node, (Shape, AssertFact, AssertEvent)):
        changes["type"] = f"{node.type}_{number}"
    elif isinstance(node, Emit):
        changes["stream"] = f"{node.stream}_{number}"
    elif isinstance(node, Rule):
        changes["name"] = f"{node.name}_{number}"
    return replace(node, **changes)


def _own(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "scenario"}
