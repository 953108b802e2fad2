"""Many golden scenarios as one program over one table: Spark runs them all in one job.

Every scenario gets event types, stream names and a key of its own, so that they do not meet; its times are shifted so
that all scenarios end at one moment; every step gets a name, so that a match tells its events. None of it changes an
answer, and the reference matcher runs the same program, so that ids can be compared too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from cepheid.engines.program import Program, compile, declarations_of
from cepheid.errors import CepheidError
from cepheid.matching.evaluate import compile_value
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.values import dump
from cepheid.pattern.duration import duration
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Binary, Expr, Field, Key, Literal, rewrite, walk
from cepheid.pattern.model import (
    Absence,
    Closure,
    Declarations,
    EventType,
    Node,
    Output,
    Pattern,
    Step,
    Stream,
    walk_nodes,
)
from cepheid.pattern.times import from_microseconds
from cepheid.pattern.tree import map_nodes
from cepheid.pattern.types import STRING, Type, type_of
from cepheid.plan.infer_key import infer_key
from cepheid.plan.seen_rows import seen_rows
from cepheid.testing.scenarios import Outcome, Scenario

END = 10_000_000_000  # the moment, in microseconds, at which every scenario ends
KEY, PACKED_KEY = "scenario", "pk"
_ADDED = "added_"
OWN_COLUMNS = (KEY, PACKED_KEY, "number_", "type", "time")


@dataclass(frozen=True)
class Placed:
    """A scenario in a bundle."""

    number: int
    scenario: Scenario
    streams: tuple[Stream, ...]  # its own, and the one to look at in two forms: with events, with its `.emit`
    events: tuple[Event, ...]  # in the order of the file
    shift: int

    @property
    def prefix(self) -> str:
        return f"s{self.number}_"

    @property
    def watched(self) -> str:
        return self.streams[-1].name

    @property
    def emitting(self) -> str | None:
        """The stream whose rows are checked, where the scenario has rows."""
        return self.streams[-2].name if "rows" in self.scenario.options else None


@dataclass
class Bundle:
    """Scenarios whose fields have the same types."""

    order: tuple[str, ...] = ()
    all_rows: bool = (
        False  # where neighbours count no row is filtered: apart, so that the filter is tested too
    )
    placed: list[Placed] = field(default_factory=list)
    kinds: dict[str, Type] = field(default_factory=dict)

    def takes(self, scenario: Scenario) -> bool:
        known = {**self.kinds}
        for name, kind in _kinds(scenario.events):
            if known.setdefault(name, kind) != kind:
                return False
        if self.all_rows != _sees_all(scenario):
            return False
        return self.order == _order(scenario) and self._compiles(place(scenario, 0), known)

    def _compiles(self, placed: Placed, kinds: dict[str, Type]) -> bool:
        """A field that is always null here has the type it has in the other scenarios."""
        try:
            compile(Declarations(events=tuple(_declared(placed, kinds)), streams=placed.streams))
        except CepheidError:
            return False
        return True

    def add(self, scenario: Scenario, number: int, end: int = END) -> None:
        self.kinds.update(dict(_kinds(scenario.events)))
        self.placed.append(place(scenario, number, end))

    def declarations(self) -> Declarations:
        events = tuple(e for p in self.placed for e in _declared(p, self.kinds))
        return Declarations(events=events, streams=tuple(s for p in self.placed for s in p.streams))

    def program(self) -> Program:
        return compile(self.declarations(), schema=None)

    def table(self, events: Iterable[Event]) -> pa.Table:
        """Rows as Spark reads them: a column for every field of any scenario."""
        rows = [dict(e.fields) for e in events]
        names = list(dict.fromkeys([*OWN_COLUMNS, "id", *(n for r in rows for n in r)]))
        return pa.table({n: _column(n, [r.get(n) for r in rows]) for n in names})

    def events(self) -> list[Event]:
        return [e for p in self.placed for e in p.events]


def bundles(scenarios: Iterable[Scenario], most: int = 200) -> list[Bundle]:
    """As few bundles as the types of the fields allow."""
    found: list[Bundle] = []
    for number, scenario in enumerate(scenarios):
        home = next((b for b in found if len(b.placed) < most and b.takes(scenario)), None)
        if home is None:
            home = Bundle(_order(scenario), _sees_all(scenario))
            found.append(home)
        home.add(scenario, number)
    return found


def place(scenario: Scenario, number: int, end: int = END) -> Placed:
    """`end`: the moment at which the scenario is to end."""
    prefix = f"s{number}_"
    declared = declarations_of(scenario.query)
    name = scenario.option("stream") or declared.streams[-1].name
    own_key = _own_key(declared.streams)
    streams = [_renamed(s, prefix, packed=own_key is not None) for s in declared.streams]
    last = max((e.time for e in scenario.events), default=0)
    now = duration(scenario.options["now"]) if "now" in scenario.options else last
    shift = end - max(last, now)
    watched = next(s for s in streams if s.name == prefix + name)
    feeding = {step.type for s in streams for step in walk_nodes(s.pattern.root) if isinstance(step, Step)}
    if "rows" not in scenario.options and watched.name not in feeding:
        streams.remove(watched)
    else:  # others feed on it, or its rows are looked at: it stays, last of the scenario's own
        streams = [s for s in streams if s is not watched] + [watched]
    plain = replace(watched, name=watched.name + "_seen", outputs=None)
    arriving = scenario.arriving() if scenario.streaming else scenario.events
    events = tuple(_event(e, number, prefix, shift, i, own_key or ()) for i, e in enumerate(arriving))
    return Placed(number, scenario, (*streams, plain), events, shift)


def _own_key(streams: tuple[Stream, ...]) -> tuple[Expr, ...] | None:
    """The scenario's key, if it can go into the one column `pk`; most scenarios then share one pass of Spark."""
    keys = {s.pattern.partition_by or infer_key(s.pattern) for s in streams}
    named = any(isinstance(n, Key) for s in streams for o in s.outputs or () for n in walk(o.expr))
    if len(keys) > 1 or named or (len(streams) > 1 and keys != {()}):
        return None
    return keys.pop()


def _renamed(stream: Stream, prefix: str, packed: bool) -> Stream:
    pattern = stream.pattern
    root = _named(map_nodes(pattern.root, lambda node: _prefixed(node, prefix)))
    guards = tuple(replace(g, step=_prefixed_step(g.step, prefix)) for g in pattern.guards)
    key = (Field(None, (PACKED_KEY,)),) if packed else (Field(None, (KEY,)), *_key(pattern))
    pattern = replace(
        pattern, root=root, guards=guards, partition_by=key, name=prefix + (pattern.name or "p")
    )
    first = PACKED_KEY if packed else KEY
    outputs = None if stream.outputs is None else (*stream.outputs, Output(first, Key(first)))
    return replace(stream, name=prefix + stream.name, pattern=pattern, outputs=outputs)


def _key(pattern: Pattern) -> tuple[Expr, ...]:
    return pattern.partition_by or infer_key(pattern)


def _prefixed(node: Node, prefix: str) -> Node:
    if isinstance(node, Closure) and node.until is not None:
        return replace(node, until=rewrite(node.until, lambda expr: _prefixed_type(expr, prefix)))
    return _prefixed_step(node, prefix) if isinstance(node, Step) else node


def _prefixed_type(expr: Expr, prefix: str) -> Expr | None:
    """The type asked for in `until type == "X"` has the scenario's name, too."""
    asked = (
        isinstance(expr, Binary) and expr.left == Field(None, ("type",)) and isinstance(expr.right, Literal)
    )
    return replace(expr, right=Literal(f"{prefix}{expr.right.value}")) if asked else None


def _prefixed_step(step: Step, prefix: str) -> Step:
    return replace(step, type=prefix + step.type)


def _named(root: Node) -> Node:
    """Every step that takes an event has a name; those of absences take none."""
    count = iter(range(1000))

    def change(node: Node) -> Node:
        if isinstance(node, Absence):
            added = (node.step.alias or "").startswith(_ADDED)
            return replace(node, step=replace(node.step, alias=None)) if added else node
        if isinstance(node, Step) and node.alias is None:
            return replace(node, alias=f"{_ADDED}{next(count)}")
        return node

    return map_nodes(root, change)


def _event(event: Event, number: int, prefix: str, shift: int, n: int, key: tuple[Expr, ...]) -> Event:
    time = event.time + shift
    values = tuple(compile_value(part)(Moment(event, {})) for part in key)
    fields = {
        **event.fields,
        "type": prefix + event.type,
        "time": from_microseconds(time),
        KEY: number,
        PACKED_KEY: f"{number} {dump(lookup_key(values, inferred=False))}",
        "number_": n,
    }
    return replace(event, type=prefix + event.type, time=time, fields=fields, order=(*event.order, n), seq=n)


def _declared(placed: Placed, kinds: dict[str, Type]) -> Iterator[EventType]:
    """Each type with its own fields: a table of all scenarios has many more columns."""
    read = {n.type for s in placed.streams for n in walk_nodes(s.pattern.root) if isinstance(n, Step)}
    read |= {g.step.type for s in placed.streams for g in s.pattern.guards}
    every = {name: type_of(v) for e in placed.events for name, v in e.fields.items() if v is not None}
    every = {**kinds_of_null(placed, kinds), **every}
    named = {f.path[0] for s in placed.streams for f in _fields(s) if f.path}
    for kind in sorted(read - {s.name for s in placed.streams}):
        fields = {
            name: every.get(name, STRING)
            for name in sorted({*every, *named, "id", KEY, PACKED_KEY, "number_"})
        }
        yield EventType(kind, tuple((n, t) for n, t in fields.items() if n not in ("type", "time")))


def kinds_of_null(placed: Placed, kinds: dict[str, Type]) -> dict[str, Type]:
    names = {f.path[0] for s in placed.streams for f in _fields(s) if f.path}
    names |= {name for e in placed.events for name in e.fields}
    return {name: kinds[name] for name in names if name in kinds}


def _fields(stream: Stream) -> Iterator[Field]:
    steps = [n for n in walk_nodes(stream.pattern.root) if isinstance(n, Step)]
    steps += [g.step for g in stream.pattern.guards]
    exprs = [s.where for s in steps] + [stream.pattern.where] + [o.expr for o in stream.outputs or ()]
    yield from (n for e in exprs if e is not None for n in walk(e) if isinstance(n, Field))


def _kinds(events: Iterable[Event]) -> Iterator[tuple[str, Type]]:
    for event in events:
        for name, value in event.fields.items():
            if value is not None and name not in OWN_COLUMNS:
                yield name, type_of(value)


def _order(scenario: Scenario) -> tuple[str, ...]:
    order = scenario.option("order") or ()
    return (order,) if isinstance(order, str) else tuple(order)


def _sees_all(scenario: Scenario) -> bool:
    return any(seen_rows(s.plan, "type").all for s in compile(scenario.query))


def _column(name: str, values: list[Any]) -> pa.Array:
    if name == "time":
        return pa.array(values, pa.timestamp("us", "UTC"))
    array = pa.array(values)
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


# Rows of an answer back to what a scenario expects.


def outcome(placed: Placed, program: Program, rows: dict[tuple[str, str], list[dict[str, Any]]]) -> Outcome:
    """`rows`: the findings by kind and stream."""
    plan = program[placed.watched].plan
    types = {n.alias: n.type for n in walk_nodes(plan.pattern.root) if isinstance(n, Step)}
    found = Outcome()
    for row in rows.get(("match", placed.watched), []):
        taken = {alias: _taken(row[alias], many) for alias, many in plan.aliases.items()}
        found.matches.append(_labels(taken, types, placed))
        found.ids.append(row["match_id"])
        found.binds.append(
            {a: _bind(events, plan.aliases[a], types[a], placed) for a, events in taken.items()}
        )
        if row.get("late"):
            found.late.append(found.matches[-1])
    for kind, answer in (("pending", found.pending), ("timeout", found.timeouts)):
        for row in rows.get((kind, placed.watched), []):
            taken = {alias: _taken(row[alias], many) for alias, many in plan.aliases.items()}
            answer.append(_labels(taken, types, placed))
    if placed.emitting is not None:
        found.rows = [_unshifted(r, placed) for r in rows.get(("match", placed.emitting), [])]
    else:
        found.rows = []
    dead = [r for r in rows.get(("dead_letter", ""), []) if r[KEY] == placed.number]
    found.dead_letters = [r["id"] for r in dead]
    return found


def _taken(value: Any, many: bool) -> list[dict[str, Any]]:
    if many:
        return list(value or [])
    return [] if value is None else [value]


def _labels(taken: dict[str, list[dict[str, Any]]], types: dict[Any, str], placed: Placed) -> tuple[str, ...]:
    """In time order, as in the files."""
    events = [(e, alias) for alias, events in taken.items() for e in events]
    order = (*_order(placed.scenario), "number_")
    if all(
        e.get("time") for e, _ in events
    ):  # events of other streams tell no time: they stay in the steps' order
        events.sort(key=lambda pair: (pair[0]["time"], *_values(pair[0], order)))
    return tuple(_label(e, types[alias], placed) for e, alias in events)


def _values(event: dict[str, Any], names: tuple[str, ...]) -> list[tuple[bool, Any]]:
    return [(event.get(name) is not None, event.get(name)) for name in names]


def _label(event: dict[str, Any], kind: str, placed: Placed) -> str:
    return str(event.get("id") or kind.removeprefix(placed.prefix))


def _bind(events: list[dict[str, Any]], many: bool, kind: str, placed: Placed) -> Any:
    labels = [_label(e, kind, placed) for e in events]
    return labels if many else (labels[-1] if labels else None)


def _unshifted(value: Any, placed: Placed) -> Any:
    from datetime import datetime

    if isinstance(value, dict):
        return {k: _unshifted(v, placed) for k, v in value.items() if k not in (KEY, PACKED_KEY)}
    if isinstance(value, list):
        return [_unshifted(v, placed) for v in value]
    if isinstance(value, datetime):
        return value - timedelta(microseconds=placed.shift)
    return value


def runnable(scenario: Scenario) -> bool:
    """Not one that is refused before it runs: those are the planner's, the same for every engine.

    Nor an aggregate over trends: with a key of the bundle's it would be another (`test_trends_spark.py` has them).
    """
    try:
        program = compile(scenario.query)
    except CepheidError:
        return False
    return all(stream.plan.trends is None for stream in program)
