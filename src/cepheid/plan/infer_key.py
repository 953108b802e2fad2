"""Partition by a field that ties all steps together, where that cannot change the answer."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.pattern.expr import Binary, Expr, Field, conjuncts
from cepheid.pattern.model import (
    Absence,
    Arrow,
    Closure,
    Emission,
    Loop,
    OnLimit,
    Pattern,
    Selection,
    Sequence,
    SkipTo,
    Step,
    list_aliases,
    steps_of,
    walk_nodes,
)


def infer_key(pattern: Pattern) -> tuple[Expr, ...]:
    """The key of a pattern that names none: a field `f` such that every step demands `f == other.f`.

    The tests stay in place, so a null never matches a null. Refused where neighbours, the closing of closures
    or other runs' matches count: there a partition would be another meaning.
    """
    if pattern.partition_by or not _safe(pattern):
        return ()
    steps = list(_all_steps(pattern))
    anchor = next((s for s in steps_of(pattern.root)), None)
    if anchor is None or anchor.alias is None or len(steps) < 2 or _optional_anchor(pattern, anchor):
        return ()
    lists = frozenset(name for name, many in list_aliases(pattern.root).items() if many)
    for path in _candidates(steps, anchor, lists):
        names = _tied_names(steps, path, anchor, lists)
        if all(s is anchor or _tied(s, path, names, lists) for s in steps):
            return (Field(None, path),)
    return ()


def _safe(pattern: Pattern) -> bool:
    nodes = list(walk_nodes(pattern.root))
    return (
        pattern.selection is not Selection.STRICT
        and pattern.every is None
        and pattern.skip.to is SkipTo.NONE
        and pattern.emission in (None, Emission.EACH, Emission.SUBSETS)
        and pattern.limits.on_limit is OnLimit.ERROR
        and not any(isinstance(n, Sequence) and any(x.arrow is Arrow.NEXT for x in n.links) for n in nodes)
        and not any(isinstance(n, Closure) and (n.loop is Loop.NEXT or n.until is not None) for n in nodes)
        and not any(isinstance(n, Absence) and n.next for n in nodes)
    )


def _all_steps(pattern: Pattern) -> Iterator[Step]:
    yield from (n for n in walk_nodes(pattern.root) if isinstance(n, Step))
    yield from (g.step for g in pattern.guards)


def _optional_anchor(pattern: Pattern, anchor: Step) -> bool:
    """The first step must always be there: a plain step at the start of a sequence."""
    root = pattern.root
    first = root.links[0].node if isinstance(root, Sequence) else root
    return first is not anchor


def _candidates(steps: list[Step], anchor: Step, lists: frozenset[str]) -> Iterator[tuple[str, ...]]:
    seen = set()
    for step in steps:
        for left, right in _equalities(step):
            for here, there in ((left, right), (right, left)):
                own = _is_own(here, step, lists)
                if own and there.alias == anchor.alias and here.path == there.path and here.path not in seen:
                    seen.add(here.path)
                    yield here.path


def _equalities(step: Step) -> Iterator[tuple[Field, Field]]:
    for part in conjuncts(step.where):
        if not isinstance(part, Binary) or part.op != "==":
            continue
        if isinstance(part.left, Field) and isinstance(part.right, Field):
            yield part.left, part.right


def _is_own(here: Field, step: Step, lists: frozenset[str]) -> bool:
    """A field of the event at hand. A closure's own name is the event captured before, which ties nothing."""
    return here.alias is None or (here.alias == step.alias and here.alias not in lists)


def _tied(step: Step, path: tuple[str, ...], to: set[str], lists: frozenset[str]) -> bool:
    for left, right in _equalities(step):
        for here, there in ((left, right), (right, left)):
            own = _is_own(here, step, lists)
            if own and here.path == there.path == path and there.alias in to and there.alias != step.alias:
                return True
    return False


def _tied_names(steps: list[Step], path: tuple[str, ...], anchor: Step, lists: frozenset[str]) -> set[str]:
    """Names tied to the anchor directly or through others."""
    names = {anchor.alias or ""}
    while True:
        more = {s.alias for s in steps if s.alias and s.alias not in names and _tied(s, path, names, lists)}
        if not more:
            return names
        names |= more
