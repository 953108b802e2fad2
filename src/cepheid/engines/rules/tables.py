"""What rules told, as Arrow tables: firings, emitted rows, derived facts and events, matches of patterns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import pyarrow as pa

from cepheid.engines.local.frames import build_table
from cepheid.engines.rules.told import Told, firing_text
from cepheid.pattern.rule_model import AssertEvent, AssertFact, Emit, RuleSet
from cepheid.pattern.types import INT, NULL, STRING, Type, list_of, struct_of

_OBJECT = struct_of({"variable": STRING, "kind": STRING, "type": STRING, "id": STRING})
_DERIVED = ("asserted", "modified", "retracted")


class RuleResults:
    """All that happened in a run, in order, and tables of it."""

    def __init__(self, told: Iterable[Told], rules: RuleSet | None = None) -> None:
        self.told = list(told)
        self._rules = rules or RuleSet(())

    def __repr__(self) -> str:
        kinds: dict[str, int] = {}
        for one in self.told:
            kinds[one.kind] = kinds.get(one.kind, 0) + 1
        return f"<{', '.join(f'{count} {kind}' for kind, count in kinds.items()) or 'nothing happened'}>"

    def explain(self) -> str:
        """Each firing with the facts and events behind it, and what its actions did."""
        return "\n".join(self.firings["explanation"].to_pylist())

    @cached_property
    def firings(self) -> pa.Table:
        """A row for each firing: its number, rule and time, what it matched, and all of it in words."""
        did: dict[tuple[str, int | None], list[Told]] = {}
        for one in self.told:
            if one.kind != "fired" and one.firing is not None:
                did.setdefault((repr(one.key), one.firing), []).append(one)
        rows = [
            {
                "firing": one.firing,
                "rule": one.name,
                "time": one.time,
                "objects": [
                    {"variable": name, "kind": o.kind, "type": o.type, "id": str(o.id)}
                    for name, o in one.objects.items()
                ],
                "explanation": firing_text(one, did.get((repr(one.key), one.firing), ())),
            }
            for one in self.told
            if one.kind == "fired"
        ]
        types = {"firing": INT, "rule": STRING, "time": NULL, "objects": list_of(_OBJECT)}
        return build_table(rows, [*types.items(), ("explanation", STRING)])

    @cached_property
    def emitted(self) -> dict[str, pa.Table]:
        """The rows of each stream. Without fields of such names they have the time and the rule, too."""
        names = self._made(Emit, "stream")
        rows = {name: [one for one in self._of("emitted") if one.name == name] for name in names}
        return {
            name: _table(told, {"time": NULL, "rule": STRING}, names[name]) for name, told in rows.items()
        }

    @cached_property
    def facts(self) -> dict[str, pa.Table]:
        """What rules did to facts, by their type: asserted, modified, retracted."""
        return self._derived(False, self._made(AssertFact, "type"))

    @cached_property
    def events(self) -> dict[str, pa.Table]:
        """What rules did to events."""
        return self._derived(True, self._made(AssertEvent, "type"))

    @cached_property
    def matches(self) -> dict[str, pa.Table]:
        """The matches of patterns beside the rules, by stream."""
        told = self._of("matched")
        return {name: _table([t for t in told if t.name == name], {}, ()) for name in _names(told)}

    @cached_property
    def skipped(self) -> pa.Table:
        """Actions and operations that had nothing to work on."""
        rows = [
            {"time": t.time, "rule": t.rule, "action": t.name, "reason": t.reason}
            for t in self._of("skipped")
        ]
        return build_table(rows, [("time", NULL), ("rule", STRING), ("action", STRING), ("reason", STRING)])

    def _of(self, *kinds: str) -> list[Told]:
        return [one for one in self.told if one.kind in kinds]

    def _derived(self, event: bool, known: dict[str, tuple[str, ...]]) -> dict[str, pa.Table]:
        told = [one for one in self._of(*_DERIVED) if one.event == event]
        head = {"op": STRING, "id": NULL, "time": NULL, "rule": STRING}
        names = dict.fromkeys([*known, *_names(told)])
        return {
            name: _table([t for t in told if t.name == name], head, known.get(name, ())) for name in names
        }

    def _made(self, action: type, name: str) -> dict[str, tuple[str, ...]]:
        """What rules may make, with the fields they give it: also of what never came there is a table."""
        found: dict[str, dict[str, None]] = {}
        for rule in self._rules.rules:
            for one in rule.actions:
                if isinstance(one, action):
                    fields = dict.fromkeys(f.name for f in getattr(one, "fields", ()))
                    found.setdefault(getattr(one, name), {}).update(fields)
        for told in self._of("emitted") if action is Emit else ():
            found.setdefault(told.name, {})
        return {name: tuple(fields) for name, fields in found.items()}


def _names(told: Iterable[Told]) -> list[str]:
    return list(dict.fromkeys(one.name for one in told))


def _table(told: Sequence[Told], head: dict[str, Type], fields: Iterable[str]) -> pa.Table:
    about = {"op": lambda t: t.kind, "id": lambda t: t.id, "time": lambda t: t.time, "rule": lambda t: t.rule}
    rows = [{**{name: about[name](one) for name in head}, **one.fields} for one in told]
    names = dict.fromkeys([*head, *fields, *(name for row in rows for name in row)])
    return build_table(rows, [(name, head.get(name, NULL)) for name in names])
