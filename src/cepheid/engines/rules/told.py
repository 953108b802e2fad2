"""What rules tell their users: one kind of record for firings and for all that their actions did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cepheid.rules import happenings as core
from cepheid.rules.objects import Event, Thing


@dataclass(frozen=True)
class Object:
    """A fact as it was matched, or an event."""

    kind: str  # fact, event or change
    type: str
    id: Any
    fields: dict[str, Any]
    time: Any  # of a fact: since when it is so


@dataclass(frozen=True)
class Told:
    """Something that happened. `kind`: fired, emitted, asserted, modified, retracted, skipped, released or matched.

    `name` is that of the rule that fired, of the stream, of the type of an object, or of the action that was skipped.
    """

    kind: str
    name: str
    time: Any
    rule: str | None = None  # whose action it was
    firing: int | None = None
    id: Any = None
    fields: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] | None = None  # the fields of a fact before it was modified
    event: bool = False  # is the object an event?
    objects: dict[str, Object] = field(default_factory=dict)  # what a firing matched, by variable
    reason: str | None = None  # why an action was skipped
    key: Any = None  # of what is split by a key, whose session it was


def told_of(happenings: Iterable[core.Happening]) -> Iterator[Told]:
    """With the name of the rule behind each action. Times stay as they are inside: microseconds."""
    rules: dict[int | None, str] = {}
    for happening in happenings:
        if isinstance(happening, core.Fired):
            rules[happening.number] = happening.rule
        yield _told(happening, rules)


def _told(happening: core.Happening, rules: Mapping[int | None, str]) -> Told:
    match happening:
        case core.Fired(rule=rule, time=time, objects=objects, number=number):
            seen = {name: _object(thing) for name, thing in objects.items()}
            return Told("fired", rule, time, rule, number, objects=seen)
        case core.Emitted(stream=stream, fields=fields, time=time, firing=firing):
            return Told("emitted", stream, time, rules.get(firing), firing, fields=dict(fields))
        case core.Asserted(object=thing, time=time, firing=firing):
            return _of_object("asserted", thing, time, rules.get(firing), firing)
        case core.Modified(object=thing, before=before, time=time, firing=firing):
            return _of_object("modified", thing, time, rules.get(firing), firing, dict(before.fields))
        case core.Retracted(object=thing, time=time, firing=firing):
            return _of_object("retracted", thing, time, rules.get(firing), firing)
        case core.Skipped(action=action, reason=reason, time=time, firing=firing):
            return Told("skipped", action, time, rules.get(firing), firing, reason=reason)
        case core.Released(event=event, time=time):
            return _of_object("released", event, time, None, None)


def _of_object(
    kind: str,
    thing: Thing,
    time: int,
    rule: str | None,
    firing: int | None,
    before: dict[str, Any] | None = None,
) -> Told:
    return Told(
        kind,
        thing.type,
        time,
        rule,
        firing,
        thing.identity,
        dict(thing.fields),
        before,
        isinstance(thing, Event),
    )


def _object(thing: Thing) -> Object:
    kind = "fact"
    if isinstance(thing, Event):
        kind = "event" if thing.fact is None else "change"
    return Object(kind, thing.type, thing.identity, dict(thing.fields), thing.time)


# In words.


def firing_text(fired: Told, did: Iterable[Told] = ()) -> str:
    """Why a rule fired, and what came of it.

    >>> alarm = Object("event", "Alarm", 1, {"eqpt": "e1"}, 10)
    >>> print(firing_text(Told("fired", "R", 10, "R", 1, objects={"a": alarm})))
    firing 1 of R at 10
      ?a: event Alarm 1 at 10 (eqpt: 'e1')
    """
    lines = [f"firing {fired.firing} of {fired.name} at {_when(fired.time)}"]
    lines += [f"  {_variable(name)}{_object_text(thing)}" for name, thing in fired.objects.items()]
    lines += [f"  -> {_action_text(one)}" for one in did]
    return "\n".join(lines)


def _variable(name: str) -> str:
    """What has no variable goes by its line, `_2`."""
    return f"line {name[1:]}: " if name.startswith("_") and name[1:].isdigit() else f"?{name}: "


def _object_text(thing: Object) -> str:
    since = "since" if thing.kind == "fact" else "at"
    kind = {"fact": "", "event": "event ", "change": "change of "}[thing.kind]
    return f"{kind}{thing.type} {thing.id} {since} {_when(thing.time)} ({_fields(thing.fields)})"


def _action_text(one: Told) -> str:
    what = f"{'event ' if one.event else ''}{one.name}"
    match one.kind:
        case "emitted":
            return f"emitted {one.name} ({_fields(one.fields)})"
        case "modified":
            changed = {n: v for n, v in one.fields.items() if (one.before or {}).get(n) != v}
            return f"modified {what} {one.id} ({_fields(changed)})"
        case "skipped":
            return f"skipped {one.name}: {one.reason}"
    return f"{one.kind} {what} {one.id} ({_fields(one.fields)})"


def _fields(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_value(value)}" for name, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({_fields(value)})"
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def _when(time: Any) -> str:
    return time.isoformat() if hasattr(time, "isoformat") else str(time)
