"""Which streams of a program run together: those that feed each other, and those that share a key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cepheid.engines.program import PlannedStream, Program
from cepheid.pattern.expr import Expr, Field, Key
from cepheid.pattern.model import Link, Node, Sequence, Step
from cepheid.pattern.text import expr_text


@dataclass(frozen=True)
class Unit:
    """Streams that one pass over the events serves. Without a key the whole input is one partition."""

    program: Program
    key: tuple[Expr, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.program)

    @property
    def feeding(self) -> bool:
        return any(s.feeds_on for s in self.program)

    def key_text(self) -> str:
        return ", ".join(expr_text(e) for e in self.key)


def narrowed(program: Program, names: Iterable[str]) -> Program:
    """The named streams and all that feed them."""
    wanted: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name not in wanted:
            wanted.add(name)
            ahead += program[name].feeds_on
    return replace(program, streams=tuple(s for s in program if s.name in wanted))


def units_of(program: Program) -> list[Unit]:
    """Streams that feed each other stay together; groups of one key share a pass."""
    groups: dict[tuple[Expr, ...], list[PlannedStream]] = {}
    for group in connected(program):
        groups.setdefault(_shared_key(group), []).extend(group)
    order = {s.name: i for i, s in enumerate(program)}
    return [
        Unit(replace(program, streams=tuple(sorted(streams, key=lambda s: order[s.name]))), key)
        for key, streams in groups.items()
    ]


def connected(program: Program) -> list[list[PlannedStream]]:
    """Groups of streams that feed each other, directly or not."""
    groups: list[list[PlannedStream]] = []
    for stream in program:
        mine = [g for g in groups if any(s.name in stream.feeds_on for s in g)]
        groups = [g for g in groups if g not in mine]
        groups.append([s for g in mine for s in g] + [stream])
    return groups


def _shared_key(group: list[PlannedStream]) -> tuple[Expr, ...]:
    """What the keys of all streams of a group have in common, and every event a stream feeds on carries.

    A part of the key is enough to bring together what belongs together: the matcher tells finer keys apart.
    """
    by_name = {s.name: s for s in group}
    fed = [by_name[name] for s in group for name in s.feeds_on]
    common = [part for part in group[0].plan.key if all(part in s.plan.key for s in group)]
    return tuple(part for part in common if all(_carries(stream, part) for stream in fed))


def _carries(stream: PlannedStream, part: Expr) -> bool:
    """Has every row of the stream this part of its own partition's key, under its name?"""
    if not (isinstance(part, Field) and part.alias is None and len(part.path) == 1):
        return False
    name = part.path[0]
    outputs = stream.stream.outputs
    if outputs is None:
        return name in stream.plan.key_names
    given = [o.expr for o in outputs if o.name == name]
    return bool(given) and all(_is_key(expr, name, stream) for expr in given)


def _is_key(expr: Expr, name: str, stream: PlannedStream) -> bool:
    if isinstance(expr, Key):
        return expr.name == name
    # Of whatever event: all events of a partition have it.
    bound = isinstance(expr, Field) and expr.alias in _always_bound(stream.plan.pattern.root)
    return bound and isinstance(expr, Field) and expr.path == (name,)


def _always_bound(root: Node) -> set[str | None]:
    """The names of steps that every match has an event for."""
    links = root.links if isinstance(root, Sequence) else (Link(root),)
    nodes = [link.node for link in links]
    return {n.alias for n in nodes if isinstance(n, Step)} - {None}
