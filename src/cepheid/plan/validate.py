"""What cannot mean anything is refused here, with its place and a way out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.expr import Expr, Field, aliases_in
from cepheid.pattern.model import (
    Absence,
    And,
    Closure,
    Guard,
    Monotonic,
    Node,
    Or,
    Pattern,
    Selection,
    Sequence,
    SkipTo,
    Step,
    Stream,
    list_aliases,
    walk_nodes,
)
from cepheid.pattern.text import column_name
from cepheid.pattern.types import BOOL, STRING, TIMESTAMP, UNKNOWN, Schema, Type, list_of
from cepheid.plan.check_types import AliasType, Scope, check_condition, infer
from cepheid.plan.plan import Plan
from cepheid.plan.trend_plan import trend_types


def validate(pattern: Pattern, schema: Schema) -> None:
    """Raises the first mistake it finds."""
    _every(pattern)
    _absences(pattern)
    _names_once(pattern.root)
    _skip(pattern)
    _Names(pattern, schema).check()


# The form.


def _every(pattern: Pattern) -> None:
    if pattern.every is not None and pattern.selection is Selection.STRICT:
        raise PatternMistake(
            "`every` cannot be strict",
            code="every_strict",
            place=pattern.place and pattern.place.find(r"\.\s*strict\s*\(\s*\)"),
            hint="leave out .strict(), or leave out `every`",
        )


def _absences(pattern: Pattern) -> None:
    root = pattern.root
    if isinstance(root, Absence):
        raise PatternMistake(
            "a pattern of nothing but NOT has no event to start from",
            code="only_absence",
            place=root.place,
            hint="say after what it must not come: A -> NOT X within 5m",
        )
    _absences_in(root)


def _absences_in(node: Node) -> None:
    if isinstance(node, (And, Or)):
        word = "AND" if isinstance(node, And) else "OR"
        for operand in node.operands:
            _no_loose_absence(operand, word)
    if isinstance(node, Sequence):
        _some_event(node)
    for child in node.children():
        if not isinstance(child, Absence):
            _absences_in(child)


def _no_loose_absence(operand: Node, word: str) -> None:
    loose = operand if isinstance(operand, Absence) else None
    if isinstance(operand, Sequence):
        loose = next(
            (x.node for x in (operand.links[0], operand.links[-1]) if isinstance(x.node, Absence)), None
        )
    if loose is not None:
        raise PatternMistake(
            f"NOT at the edge of an operand of {word}",
            code="absence_operand",
            place=loose.place,
            hint="inside an operand put it between two events; for the whole use `unless X`",
        )


def _some_event(node: Sequence) -> None:
    if all(isinstance(x.node, Absence) for x in node.links):
        raise PatternMistake(
            "a pattern of nothing but NOT has no event to start from",
            code="only_absence",
            place=node.place,
            hint="say after what it must not come: A -> NOT X within 5m",
        )


def _names_once(root: Node) -> None:
    """A name stands for one step; only the operands of an OR may share one."""
    _names_in(root)


def _names_in(node: Node) -> dict[str, Step]:
    if isinstance(node, Step):
        return {node.alias: node} if node.alias else {}
    seen: dict[str, Step] = {}
    for child in node.children():
        for name, step in _names_in(child).items():
            if name in seen and not isinstance(node, Or):
                raise PatternMistake(
                    f"two steps are called `{name}`",
                    code="duplicate_alias",
                    place=step.place and step.place.find(rf"\bas\s+{name}\b|\b{name}\s*=(?!=)"),
                    hint="give one of them another name",
                )
            seen[name] = step
    return seen


def _skip(pattern: Pattern) -> None:
    skip = pattern.skip
    if skip.alias is None:
        return
    names = list_aliases(pattern.root)
    if skip.alias not in names:
        raise PatternMistake(
            f"no step is called `{skip.alias}`",
            code="unknown_alias",
            place=pattern.place and pattern.place.find(rf"to_\w+\s*\(\s*{skip.alias}\s*\)"),
            hint=nearest(skip.alias, list(names)) or "the names here are " + ", ".join(names),
        )
    first = pattern.root.links[0].node if isinstance(pattern.root, Sequence) else pattern.root
    if skip.to is SkipTo.TO_FIRST and isinstance(first, Step) and first.alias == skip.alias:
        raise PatternMistake(
            f"skip(to_first({skip.alias})) would go on at the match's own first event",
            code="skip_target",
            place=pattern.place and pattern.place.find(r"to_first\s*\([^)]*\)"),
            hint="skip to a later step, or use to_next",
        )


# Names and types.


class _Names:
    """Walks a pattern in the order events are taken, and checks every condition with what is bound there."""

    def __init__(self, pattern: Pattern, schema: Schema) -> None:
        self.pattern = pattern
        self.schema = schema
        self.all = alias_types(pattern, schema)
        self.keys = key_types(pattern, schema)

    def check(self) -> None:
        self._walk(self.pattern.root, frozenset(), frozenset())
        for guard in self.pattern.guards:
            self._guard(guard)
        if self.pattern.where is not None:
            check_condition(self.pattern.where, Scope(None, None, self.all, self.keys))

    def _walk(self, node: Node, bound: frozenset[str], inside: frozenset[str]) -> frozenset[str]:
        """The names bound after a node. `inside` are names of the closures around it."""
        if isinstance(node, Step):
            self._step(node, bound | inside)
            return bound | ({node.alias} if node.alias else frozenset())
        if isinstance(node, Closure):
            return self._closure(node, bound, inside)
        if isinstance(node, Sequence):
            return self._sequence(node, bound, inside)
        if isinstance(node, (And, Or)):
            after = [self._walk(o, bound, inside) for o in node.operands]
            return frozenset().union(*after)
        return bound

    def _closure(self, node: Closure, bound: frozenset[str], inside: frozenset[str]) -> frozenset[str]:
        own = frozenset(list_aliases(node.body)) if not node.single else frozenset()
        after = self._walk(node.body, bound, inside | own)
        if node.monotonic is not None:
            self._monotonic(node, node.monotonic)
        if node.until is not None:
            # Any event may be the one that closes it, so nothing is known of its fields.
            scope = Scope(UNKNOWN, None, self._of(after | own), self.keys)
            check_condition(node.until, scope)
        return after

    def _monotonic(self, node: Closure, monotonic: Monotonic) -> None:
        if node.max == 1 or not isinstance(node.body, Step):
            raise PatternMistake(
                "`.increasing` and `.decreasing` compare the events of a closure with each other",
                code="not_a_closure",
                place=node.place,
                hint="put it on the closure of one event: `all T.increasing(f) as x`",
            )
        kind = self._type(node.body)
        if kind != UNKNOWN:
            infer(Field(None, monotonic.path, place=node.place), Scope(kind, node.body.type, {}, self.keys))

    def _sequence(self, node: Sequence, bound: frozenset[str], inside: frozenset[str]) -> frozenset[str]:
        taken = False
        for i, link in enumerate(node.links):
            if isinstance(link.node, Absence):
                ahead = frozenset() if taken or bound else _names_ahead(node, i)
                self._step(link.node.step, bound | inside | ahead)
            else:
                bound, taken = self._walk(link.node, bound, inside), True
        return bound

    def _step(self, step: Step, names: frozenset[str]) -> None:
        if step.where is None:
            return
        own = frozenset([step.alias]) if step.alias else frozenset()
        self._bound_yet(step.where, names | own, step.place)
        self._check(step, step.where, self._of(names) | self._own(step))

    def _own(self, step: Step) -> dict[str, AliasType]:
        if not step.alias:
            return {}
        return {step.alias: self.all.get(step.alias) or AliasType(self._type(step), False, step.type)}

    def _check(self, step: Step, where: Expr, names: Mapping[str, AliasType]) -> None:
        check_condition(where, Scope(self._type(step), step.type, names, self.keys))

    def _type(self, step: Step) -> Type:
        return self.schema.event(step.type) or UNKNOWN

    def _guard(self, guard: Guard) -> None:
        for name in (guard.start, guard.end):
            if name is not None and name not in self.all:
                raise PatternMistake(
                    f"no step is called `{name}`",
                    code="unknown_alias",
                    place=_at_name(guard.place, name),
                    hint=nearest(name, list(self.all))
                    or (
                        "the names here are " + ", ".join(self.all)
                        if self.all
                        else "name the steps: `A as a`"
                    ),
                )
        if guard.step.where is not None:
            self._check(guard.step, guard.step.where, {**self.all, **self._own(guard.step)})

    def _of(self, names: frozenset[str]) -> dict[str, AliasType]:
        return {n: self.all[n] for n in names if n in self.all}

    def _bound_yet(self, where: Expr, names: frozenset[str], place: Place | None) -> None:
        for name in sorted(aliases_in(where) - names):
            if name not in self.all:
                raise PatternMistake(
                    f"`{name}` stands under a NOT: there is no such event to look at",
                    code="not_bound_yet",
                    place=_place_of(where, name) or place,
                    hint="only the condition of that NOT itself can name it",
                )
            raise PatternMistake(
                f"`{name}` is not bound yet here",
                code="not_bound_yet",
                place=_place_of(where, name) or place,
                hint="a step sees the steps before it: put the condition on the later step or in .where(...)",
            )


def _at_name(place: Place | None, name: str) -> Place | None:
    """The word itself inside the part of the text it stands in."""
    return None if place is None else place.find(rf"\b{re.escape(name)}\b")


def _names_ahead(node: Sequence, index: int) -> frozenset[str]:
    """A NOT at the start may name the step after it."""
    for link in node.links[index + 1 :]:
        if not isinstance(link.node, Absence):
            return frozenset(list_aliases(link.node))
    return frozenset()


def _place_of(expr: Expr, name: str) -> Place | None:
    from cepheid.pattern.expr import walk

    for node in walk(expr):
        if getattr(node, "alias", None) == name:
            return node.place
    return None


def alias_types(pattern: Pattern, schema: Schema) -> dict[str, AliasType]:
    """What every name of a pattern stands for."""
    many = list_aliases(pattern.root)
    found: dict[str, AliasType] = {}
    for node in walk_nodes(pattern.root):
        if isinstance(node, Step) and node.alias in many and node.alias is not None:
            kind = schema.event(node.type) or UNKNOWN
            before = found.get(node.alias)
            if before is not None and before.type != kind:
                kind = UNKNOWN
            found[node.alias] = AliasType(kind, many[node.alias], node.type)
    return {a: found[a] for a in many}


def key_types(pattern: Pattern, schema: Schema) -> dict[str, Type]:
    """The partition columns; a key must mean the same for every type of event the pattern reads."""
    types = [schema.event(t) for t in dict.fromkeys(_event_types(pattern))]
    keys: dict[str, Type] = {}
    for expr in pattern.partition_by:
        found = UNKNOWN
        for name, kind in zip(dict.fromkeys(_event_types(pattern)), types, strict=True):
            if kind is not None:
                found = infer(expr, Scope(kind, name, {}, {}))
        keys[column_name(expr)] = found
    return keys


def _event_types(pattern: Pattern) -> Iterator[str]:
    yield from (n.type for n in walk_nodes(pattern.root) if isinstance(n, Step))
    yield from (g.step.type for g in pattern.guards)


def output_types(stream: Stream, plan: Plan, schema: Schema) -> tuple[tuple[str, Type], ...]:
    """The columns of a stream's answer and their types."""
    aliases = alias_types(stream.pattern, schema)
    keys = key_types(stream.pattern, schema)
    if plan.trends is not None:
        keys = {**keys, **trend_types(plan.trends, aliases)}
    if stream.outputs is None and plan.trends is not None:
        columns = {"time": TIMESTAMP, **keys}
    elif stream.outputs is None:
        columns = {"match_id": STRING, "start": TIMESTAMP, "end": TIMESTAMP, **keys}
        columns.update({a: list_of(t.type) if t.repeated else t.type for a, t in aliases.items()})
    else:
        scope = Scope(None, None, aliases, keys)
        columns = {o.name: output_type(o.expr, scope, aliases) for o in stream.outputs}
    if plan.pattern.eager:
        columns["provisional"] = BOOL
    return tuple(columns.items())


def output_type(expr: Expr, scope: Scope, aliases: dict[str, AliasType]) -> Type:
    if isinstance(expr, Field) and expr.alias is not None and not expr.path:
        whole = aliases[expr.alias]
        return list_of(whole.type) if whole.repeated else whole.type
    return infer(expr, scope)
