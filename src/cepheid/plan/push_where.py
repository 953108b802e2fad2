"""Conditions on the whole pattern move to the earliest step that can decide them."""

from __future__ import annotations

from dataclasses import replace

from cepheid.pattern.expr import (
    Aggregate,
    Call,
    Element,
    Expr,
    Key,
    Length,
    Opaque,
    aliases_in,
    conjunction,
    conjuncts,
    walk,
)
from cepheid.pattern.model import Link, Pattern, Sequence, Step
from cepheid.plan.split_tests import own_to_bare


def push_where(pattern: Pattern) -> Pattern:
    """A conjunct goes to the last of the plain steps it names; what names closures or optional parts stays.

    What stays is decided by the automaton: on the edge on which the last of its names is settled.
    """
    plain = _plain_steps(pattern)
    if pattern.where is None or not plain or pattern.every is not None:
        return pattern
    kept: list[Expr] = []
    moved: dict[str, list[Expr]] = {}
    for part in conjuncts(pattern.where):
        target = _target(part, plain)
        if target is None:
            kept.append(part)
        else:
            moved.setdefault(target, []).append(part)
    if not moved:
        return pattern
    return replace(pattern, root=_with(pattern.root, moved), where=conjunction(kept))


def _plain_steps(pattern: Pattern) -> list[str | None]:
    """Names of the top-level links in order; None where a link is anything but a single step."""
    if not isinstance(pattern.root, Sequence):
        return [pattern.root.alias] if isinstance(pattern.root, Step) else []
    return [link.node.alias if isinstance(link.node, Step) else None for link in pattern.root.links]


def _target(part: Expr, plain: list[str | None]) -> str | None:
    names = aliases_in(part)
    if not names or any(isinstance(n, (Key, Call)) and _about_match(n) for n in walk(part)):
        return None
    if not names <= {p for p in plain if p is not None}:
        return None
    target = max(names, key=plain.index)
    return None if _needs_bound(part, target) else target


def _needs_bound(part: Expr, name: str) -> bool:
    """`count(c)`, `c[0].f`, a Python function of c: they need c taken, so its own step cannot test them."""
    for node in walk(part):
        if isinstance(node, (Element, Length, Aggregate)) and node.alias == name:
            return True
        if isinstance(node, Opaque) and name in node.aliases:
            return True
    return False


def _about_match(node: Expr) -> bool:
    return isinstance(node, Key) or (isinstance(node, Call) and node.name.startswith("match_"))


def _with(root: object, moved: dict[str, list[Expr]]) -> Sequence | Step:
    if isinstance(root, Step):
        return _step(root, moved)
    assert isinstance(root, Sequence)
    return replace(root, links=tuple(_link(link, moved) for link in root.links))


def _link(link: Link, moved: dict[str, list[Expr]]) -> Link:
    return replace(link, node=_step(link.node, moved)) if isinstance(link.node, Step) else link


def _step(step: Step, moved: dict[str, list[Expr]]) -> Step:
    added = [own_to_bare(p, step.alias) for p in moved.get(step.alias or "", [])]
    return replace(step, where=conjunction([*conjuncts(step.where), *added])) if added else step
