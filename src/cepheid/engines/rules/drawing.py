"""The network of rules, drawn: as text and as a Mermaid diagram, with what its nodes hold and what they have done."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.engines.graph.clock import Clock
from cepheid.pattern.duration import duration_text
from cepheid.rules.inspection import NodeView, Stored
from cepheid.rules.objects import Event, Thing
from cepheid.rules.session import RuleSession

_SHOWN = 5  # of what a node stores


def network_text(session: RuleSession, clock: Clock) -> str:
    """Each node with what comes in, its tests, the rules that share it, its counters, and what it keeps until when."""
    return "\n".join(line for node in session.network() for line in _lines(node, clock))


def _lines(node: NodeView, clock: Clock) -> Iterator[str]:
    if node.kind == "class":
        yield f"{node.id}{_shared(node)}"
        yield f"  {', '.join(_counters(node))}"
        return
    yield f"  {_head(node)}{_shared(node)}"
    yield f"    {', '.join(_counters(node))}"
    for asked in node.asked_by:
        yield f"    {asked.who} asks to keep {_how_long(asked.how_long)}"
    for stored in node.stored[:_SHOWN]:
        until = "" if stored.until is None else f" until {clock.time(stored.until)}"
        yield f"    stores {_objects(stored)}{until}"
    if len(node.stored) > _SHOWN:
        yield f"    stores {len(node.stored) - _SHOWN} more"


def _head(node: NodeView) -> str:
    if node.kind == "rule":
        return f"rule {node.type} <- {', '.join(node.parents)}"
    tests = f" where {', '.join(node.tests)}" if node.tests else ""
    index = f" by {', '.join(node.indexed_by)}" if node.indexed_by else ""
    return f"{node.id} {node.kind} {node.type} <- {', '.join(node.parents)}{tests}{index}"


def _shared(node: NodeView) -> str:
    return f"  [{', '.join(node.rules)}]" if len(node.rules) > 1 else ""


def _counters(node: NodeView) -> Iterator[str]:
    if node.kind in ("class", "rule"):
        yield f"{node.received} {'came' if node.kind == 'class' else 'firings'}"
        return
    yield f"{node.received} passed"
    if node.kind == "join":
        yield f"{node.tried} tried"
    yield f"{len(node.stored)} stored"
    if node.most_stored:
        yield f"at most {node.most_stored}"


def _how_long(microseconds: int | None) -> str:
    if microseconds is None:
        return "for ever"
    return f"for {duration_text(microseconds)}" if microseconds > 0 else "nothing"


def _objects(stored: Stored) -> str:
    return f"[{', '.join(map(_object, stored.objects))}]"


def _object(thing: Thing | None) -> str:
    if thing is None:
        return "-"
    changed = isinstance(thing, Event) and thing.fact is not None
    return f"{'change of ' if changed else ''}{thing.type} {thing.identity}"


# Mermaid.

_SHAPES = {"class": ("([", "])"), "rule": ("[[", "]]")}


def network_mermaid(session: RuleSession, clock: Clock) -> str:
    """The same as a diagram; nodes that several rules share are marked."""
    nodes = session.network()
    lines = ["flowchart TD"]
    lines += [f"  {_id(node.id)}{_box(node)}" for node in nodes]
    lines += [f"  {_id(parent)} --> {_id(node.id)}" for node in nodes for parent in node.parents]
    shared = [_id(node.id) for node in nodes if len(node.rules) > 1]
    if shared:
        lines += ["  classDef shared stroke-width:3px", f"  class {','.join(shared)} shared"]
    return "\n".join(lines)


def _id(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def _box(node: NodeView) -> str:
    start, end = _SHAPES.get(node.kind, ("[", "]"))
    title = node.id if node.kind == "class" else f"rule {node.type}" if node.kind == "rule" else ""
    parts = [title or f"{node.kind} {node.type}", *node.tests]
    parts.append(", ".join(_counters(node)))
    return f'{start}"{"<br/>".join(map(_safe, parts))}"{end}'


def _safe(text: str) -> str:
    """As Mermaid takes it in quotes."""
    for sign, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, entity)
    return text
