"""What a pattern could say instead: the loosest form of each of its rules, and the smallest change that would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from cepheid.explain.causes import Cause, Locus
from cepheid.explain.editing import Edit
from cepheid.explain.event_words import round_up
from cepheid.explain.tested import Where, shown_test
from cepheid.explain.thresholds import threshold
from cepheid.explain.words import Names
from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Expr, conjunction, conjuncts
from cepheid.pattern.model import (
    And,
    Arrow,
    Closure,
    Emission,
    Limits,
    Link,
    Loop,
    Pattern,
    Selection,
    Skip,
    SkipTo,
    Step,
)
from cepheid.pattern.model import Sequence as Steps
from cepheid.pattern.text import column_name, guard_text, node_text
from cepheid.plan.plan import Plan
from cepheid.plan.split_tests import own_to_bare


@dataclass(frozen=True)
class Change:
    """Another pattern, in words: \"would match with `within 12m`\"."""

    kind: str  # the kind of cause it answers
    text: str
    apply: Callable[[Pattern], Pattern]
    locus: Locus = ()
    now: int | None = None  # how far time would have to come
    last: bool = False  # it renumbers things, so it comes after the others


def loosenings(plan: Plan, longest: int, types: Sequence[str], reached: int) -> Iterator[Change]:
    """One change for every rule of a pattern that could have kept it from matching.

    `longest` is a window nothing can exceed; `types` are those that come; `reached` is how far time came.
    """
    pattern, names = plan.pattern, Names(plan)
    yield from _without_windows(plan, longest)
    yield from _without_tests(plan)
    for number, spec in enumerate(plan.guards):
        yield _without_guard(number, guard_text(spec.guard))
    for absence in plan.automaton.absences:
        yield _without_absence(absence.index, f"NOT {node_text(absence.node.step)}")
    yield from _without_neighbours(plan)
    yield from _other_counts(plan, names)
    yield from _other_ends(pattern)
    yield from _other_types(plan, types)
    yield from _other_order(pattern)
    yield from _without_partition(pattern)
    yield _later(reached + longest + 1)


def exact(cause: Cause, plan: Plan) -> Change | None:
    """The smallest change that would take away this one cause."""
    locus = cause.locus
    match locus:
        case ("within",):
            return _window(round_up(cause.actual or 0))
        case ("scope", int(number)):
            return _scope(number, round_up(cause.actual or 0), cause.step or "")
        case ("gap", int(position)):
            return _gap(position, round_up(cause.actual or 0))
        case ("test", int(position), Expr() as test):
            return _test(plan, position, test, cause)
        case ("where", Expr() as test):
            return _whole_test(test, cause)
        case ("guard", int(number)):
            return _without_guard(number, cause.rule or "")
        case ("absence", int(number)):
            return _without_absence(number, cause.rule or "")
        case ("arrow", int(position)):
            return next((c for c in _without_neighbours(plan) if c.locus in (locus, ("selection",))), None)
        case ("closure_min", int(number)):
            return _least(number, cause.actual or 0, Names(plan).closures[number])
        case ("closure_max", int(number)):
            return _most(number, cause.actual, Names(plan).closures[number])
        case ("partition", tuple() as columns):
            return _partitioned(plan.pattern, columns)
        case ("now",):
            return _later((cause.bound or 0) + 1)
    return None


# Windows.


def _without_windows(plan: Plan, longest: int) -> Iterator[Change]:
    if plan.pattern.within is not None:
        yield replace(_window(longest), text="without `within`")
    for scope in plan.automaton.scopes:
        yield _scope(scope.index, longest, "")
    for position in plan.automaton.positions:
        if any(e.gap is not None and e.position == position.index for e in plan.automaton.edges):
            yield _gap(position.index, longest)


def _window(bound: int) -> Change:
    return Change(
        "window", f"`within {duration_text(bound)}`", lambda p: replace(p, within=bound), ("within",)
    )


def _scope(number: int, bound: int, step: str) -> Change:
    def edit(n: int, old: int) -> int:
        return bound if n == number else old

    text = f"`{step} within {duration_text(bound)}`"
    return Change("step_window", text, _edited(Edit(scope=edit)), ("scope", number))


def _gap(position: int, bound: int) -> Change:
    def edit(n: int, closure: Closure, positions: range) -> Closure:
        inside = position in positions and closure.gap is not None
        return replace(closure, gap=bound) if inside else closure

    text = f"`within {duration_text(bound)}` between neighbours"
    return Change("step_window", text, _edited(Edit(closure=edit)), ("gap", position))


# Conditions.


def _without_tests(plan: Plan) -> Iterator[Change]:
    for position in plan.automaton.positions:
        where = Where(position.step.alias, position.repeated)
        for test in (*position.alpha, *position.beta):
            yield _step_test(position.index, test, None, f"without `{shown_test(test, where)}`")
    for part in conjuncts(plan.pattern.where):
        yield _pattern_test(part, None, f"without `{shown_test(part, Where())}`")


def _test(plan: Plan, position: int, test: Expr, cause: Cause) -> Change:
    step = plan.automaton.positions[position]
    where = Where(step.step.alias, step.repeated)
    changed = None if cause.tested is None else threshold(cause.tested)
    if changed is None:
        return _step_test(position, test, None, f"without `{shown_test(test, where)}`")
    return _step_test(position, test, changed, f"`{shown_test(changed, where)}`")


def _whole_test(test: Expr, cause: Cause) -> Change:
    changed = None if cause.tested is None else threshold(cause.tested)
    if changed is None:
        return _pattern_test(test, None, f"without `{shown_test(test, Where())}`")
    return _pattern_test(test, changed, f"`{shown_test(changed, Where())}`")


def _step_test(position: int, test: Expr, changed: Expr | None, text: str) -> Change:
    def edit(n: int, step: Step) -> Step:
        if n != position:
            return step
        # The plan has a step's own name taken away; the pattern may still have it.
        parts = [
            own_to_bare(p, step.alias) if own_to_bare(p, step.alias) == test else p
            for p in conjuncts(step.where)
        ]
        return replace(step, where=_swapped(parts, test, changed))

    return Change("condition", text, _edited(Edit(step=edit)), ("test", position, test))


def _pattern_test(test: Expr, changed: Expr | None, text: str) -> Change:
    def apply(pattern: Pattern) -> Pattern:
        return replace(pattern, where=_swapped(list(conjuncts(pattern.where)), test, changed))

    return Change("condition", text, apply, ("where", test))


def _swapped(parts: list[Expr], test: Expr, changed: Expr | None) -> Expr | None:
    kept = [changed if p == test else p for p in parts]
    return conjunction([p for p in kept if p is not None])


# Absence.


def _without_guard(number: int, rule: str) -> Change:
    def apply(pattern: Pattern) -> Pattern:
        return replace(pattern, guards=tuple(g for i, g in enumerate(pattern.guards) if i != number))

    return Change("guard", f"without `{rule}`", apply, ("guard", number), last=True)


def _without_absence(number: int, rule: str) -> Change:
    edit = Edit(absence=lambda n, absence: None if n == number else absence)
    return Change("absence", f"without `{rule}`", _edited(edit), ("absence", number), last=True)


def _later(time: int) -> Change:
    return Change("pending", "once time has gone on", lambda p: p, ("now",), now=time)


# Neighbours, selection, what is given out.


def _without_neighbours(plan: Plan) -> Iterator[Change]:
    if plan.pattern.selection is Selection.STRICT:
        for selection in (Selection.STNM, Selection.STAM):
            text = f"under `{selection.value}` instead of `strict`"
            yield Change("contiguity", text, _selected(selection), ("selection",))
    for position in plan.automaton.positions:
        edges = [e for e in plan.automaton.edges if e.position == position.index]
        if plan.pattern.selection is not Selection.STRICT and any(e.arrow is Arrow.NEXT for e in edges):
            yield _without_next(position.index, position.step.type)


def _selected(selection: Selection) -> Callable[[Pattern], Pattern]:
    return lambda pattern: replace(pattern, selection=selection)


def _without_next(position: int, kind: str) -> Change:
    def link(first: int, link: Link) -> Link:
        return replace(link, arrow=None) if first == position and link.arrow is Arrow.NEXT else link

    def closure(n: int, closure: Closure, positions: range) -> Closure:
        inside = position in positions and closure.loop is Loop.NEXT
        return replace(closure, loop=Loop.ALL) if inside else closure

    text = f"without `next` before {kind}"
    return Change("contiguity", text, _edited(Edit(link=link, closure=closure)), ("arrow", position))


def _other_ends(pattern: Pattern) -> Iterator[Change]:
    if pattern.selection is Selection.STNM:
        yield Change("selection", "under `stam` instead of `stnm`", _selected(Selection.STAM), ("selection",))
    if pattern.every is not None:
        yield Change("replaced", "without `every`", lambda p: replace(p, every=None), ("every",))
    if pattern.skip.to is not SkipTo.NONE:
        yield Change(
            "skip", f"without `skip({pattern.skip.to.value})`", lambda p: replace(p, skip=Skip()), ("skip",)
        )
    if pattern.emission is Emission.LONGEST:
        yield Change(
            "emission", "with `.each()`", lambda p: replace(p, emission=Emission.EACH), ("emission",)
        )
    if pattern.emission in (None, Emission.EACH, Emission.LONGEST):
        yield Change(
            "emission", "with `.subsets()`", lambda p: replace(p, emission=Emission.SUBSETS), ("emission",)
        )
    if pattern.limits != Limits():
        yield Change("limit", "without `limit(...)`", lambda p: replace(p, limits=Limits()), ("limit",))


# Closures.


def _other_counts(plan: Plan, names: Names) -> Iterator[Change]:
    for spec in plan.automaton.closures:
        name = names.closures[spec.index]
        if spec.min > 1:
            yield _least(spec.index, 1, name)
        if spec.min > 0:
            yield _least(spec.index, 0, name)
        if spec.max is not None:
            yield _most(spec.index, None, name)
        if spec.until is not None:
            yield _closure(
                spec.index, "closed", f"without `until` of {name}", ("until", spec.index), until=None
            )
        if spec.loop is Loop.GREEDY:
            yield _closure(
                spec.index, "greedy", f"`all {name}` instead of greedy", ("greedy", spec.index), loop=Loop.ALL
            )


def _least(number: int, least: int, name: str) -> Change:
    return _closure(number, "count", f"{least} or more of {name}", ("closure_min", number), min=least)


def _most(number: int, most: int | None, name: str) -> Change:
    text = f"any number of {name}" if most is None else f"up to {most} of {name}"
    return _closure(number, "full", text, ("closure_max", number), max=most)


def _closure(number: int, kind: str, text: str, locus: Locus, **changed: Any) -> Change:
    def edit(n: int, closure: Closure, positions: range) -> Closure:
        return replace(closure, **changed) if n == number else closure

    return Change(kind, text, _edited(Edit(closure=edit)), locus)


# Types, order, partition.


def _other_types(plan: Plan, types: Sequence[str]) -> Iterator[Change]:
    """A type that never comes may be misspelt."""
    for position in plan.automaton.positions:
        if position.step.type in types:
            continue
        for other in nearest_types(position.step.type, unread(plan, types)):
            text = f"`{other}` instead of `{position.step.type}`"
            yield Change("no_event_of_type", text, _typed(position.index, other), ("type", position.index))


def unread(plan: Plan, types: Sequence[str]) -> list[str]:
    """Types the pattern does not name: one that it does is hardly another misspelt."""
    return [t for t in types if t not in plan.event_types]


def nearest_types(wanted: str, types: Sequence[str]) -> list[str]:
    """
    >>> nearest_types("Logn", ["Login", "Logout", "Buy"])
    ['Login', 'Logout']
    """
    folded = {t.lower(): t for t in types}
    return [folded[t] for t in get_close_matches(wanted.lower(), list(folded), n=3, cutoff=0.6)]


def _typed(position: int, kind: str) -> Callable[[Pattern], Pattern]:
    return _edited(Edit(step=lambda n, step: replace(step, type=kind) if n == position else step))


def _other_order(pattern: Pattern) -> Iterator[Change]:
    """Neighbouring steps of the outermost sequence, in any order."""
    root = pattern.root
    if not isinstance(root, Steps):
        return
    for i, (one, two) in enumerate(zip(root.links, root.links[1:], strict=False)):
        if isinstance(one.node, Step) and isinstance(two.node, Step):
            text = f"`{node_text(And((_plain(one.node), _plain(two.node))))}`, in any order"
            yield Change("order", text, _unordered(i), ("order", i), last=True)


def _plain(step: Step) -> Step:
    return replace(step, where=None)


def _unordered(at: int) -> Callable[[Pattern], Pattern]:
    def apply(pattern: Pattern) -> Pattern:
        root = pattern.root
        assert isinstance(root, Steps)
        one, two = root.links[at], root.links[at + 1]
        both = Link(And((one.node, two.node)), one.arrow, one.within)
        links = (*root.links[:at], both, *root.links[at + 2 :])
        return replace(pattern, root=replace(root, links=links) if len(links) > 1 else both.node)

    return apply


def _without_partition(pattern: Pattern) -> Iterator[Change]:
    count = len(pattern.partition_by)
    if count > 1:
        yield from (_partitioned(pattern, (i,)) for i in range(count))
    if count:
        yield _partitioned(pattern, tuple(range(count)))


def _partitioned(pattern: Pattern, without: tuple[int, ...]) -> Change:
    keys = pattern.partition_by
    kept = tuple(k for i, k in enumerate(keys) if i not in without)
    names = ", ".join(column_name(keys[i]) for i in without)
    text = f"without `{names}` in `partition by`" if kept else f"without `partition by {names}`"
    return Change("partition", text, lambda p: replace(p, partition_by=kept), ("partition", without))


def _edited(edit: Edit) -> Callable[[Pattern], Pattern]:
    def apply(pattern: Pattern) -> Pattern:
        return replace(pattern, root=replace(edit).node(pattern.root))

    return apply


def size(cause: Cause) -> float:
    """How far off a cause is, to put the nearest first: 0.2 is a fifth."""
    if cause.kind in ("window", "step_window") and cause.bound and cause.over is not None:
        return cause.over / cause.bound
    if cause.kind == "count" and cause.bound:  # what came and was not taken says more than that it is missing
        return 1.1 + (cause.bound - (cause.actual or 0)) / cause.bound
    found = cause.tested
    if found is not None and isinstance(found.left, (int, float)) and isinstance(found.right, (int, float)):
        most = max(abs(found.left), abs(found.right))
        return abs(found.left - found.right) / most if most else 0.0
    # Two events that are not of one user are hardly what was meant.
    return 1.5 if found is not None and found.op == "==" else 1.0
