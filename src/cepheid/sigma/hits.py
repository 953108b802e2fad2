"""Hits: the events that fit a rule, as steps of a pattern over the events, or as a stream of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sigma.rule import SigmaRule

from cepheid.pattern.expr import Call, Expr, Field, IsNull, rewrite, walk
from cepheid.pattern.model import Node, Or, Output, Pattern, Step, Stream
from cepheid.sigma.correlation import Correlation
from cepheid.sigma.detections import detection_condition
from cepheid.sigma.logic import all_of, any_of
from cepheid.sigma.naming import Labels, fresh_alias
from cepheid.sigma.options import Path, SigmaOptions
from cepheid.sigma.rules import Rule, Rules

VALUE = "value"
Value = tuple[str, Callable[[Expr], Expr]]  # a field, and what is made of it


@dataclass(frozen=True)
class Hits:
    """What a step reads: a type of events, a condition on them, and where they have the fields asked for."""

    type: str
    where: Expr | None
    paths: dict[str, Path]
    event: Path = ()  # where a hit has the event itself; (): it is the event

    def fields(self) -> set[str]:
        """First names of the fields in use, which no alias may have."""
        named = {path[0] for path in (*self.paths.values(), self.event) if path}
        return named | first_names(self.where)


@dataclass(frozen=True)
class HitMaker:
    """Makes the hits of rules, in one of two ways."""

    rules: Rules
    options: SigmaOptions
    labels: Labels

    def condition(self, rule: SigmaRule) -> Expr:
        return detection_condition(rule, self.rules.document(rule), self.options)

    def inline(self, correlation: Correlation, rules: Sequence[Rule], names: tuple[str, ...]) -> Hits:
        """Events that fit any of these rules, which have the fields by the same names."""
        conditions = [self.condition(rule) for rule in rules if isinstance(rule, SigmaRule)]
        paths = {name: self.options.path(correlation.field_of(name, rules[0], self.rules)) for name in names}
        return Hits(self.options.event_type, any_of(conditions), paths)

    def stream(
        self,
        correlation: Correlation,
        label: str,
        alternatives: Sequence[Sequence[Rule]],
        value: Value | None = None,
    ) -> tuple[Stream, Hits]:
        """A stream of hits, whichever of the rules they are of: the fields asked for, a value, the event.

        The rules of one alternative have the fields by the same names; an event that fits two of them is one hit.
        """
        names = correlation.columns
        steps: list[Step] = []
        columns: dict[str, list[Expr]] = {name: [] for name in names}
        for rules in alternatives:
            step, path = self._step(correlation, rules, len(alternatives) > 1, value)
            steps.append(step)
            for name in names:
                columns[name].append(
                    Field(step.alias, path(correlation.field_of(name, rules[0], self.rules)))
                )
            if value is not None:
                found = Field(step.alias, path(correlation.field_of(value[0], rules[0], self.rules)))
                columns.setdefault(VALUE, []).append(value[1](found))
        outputs = [Output(name, _first_known(exprs)) for name, exprs in columns.items()]
        outputs += [Output(str(s.alias), Field(s.alias, ())) for s in steps]
        root: Node = steps[0] if len(steps) == 1 else Or(tuple(steps))
        stream = Stream(self.labels.fresh(label), Pattern(root, name=label), tuple(outputs))
        event = (str(steps[0].alias),) if len(steps) == 1 else ()
        return stream, Hits(stream.name, None, {name: (name,) for name in columns}, event)

    def _step(
        self, correlation: Correlation, rules: Sequence[Rule], several: bool, value: Value | None
    ) -> tuple[Step, Callable[[str], Path]]:
        """One step, and how its hits call a field. A correlation's matches have what was asked of it."""
        rule = rules[0]
        kind, where, path = self.rules.label(rule), None, _column
        if isinstance(rule, SigmaRule):
            conditions = [self.condition(r) for r in rules if isinstance(r, SigmaRule)]
            kind, where, path = self.options.event_type, any_of(conditions), self.options.path
        if value is not None:
            name = path(correlation.field_of(value[0], rule, self.rules))
            given = IsNull(Field(None, name), negated=True)
            where = given if where is None else all_of([where, given])
        taken = {*correlation.columns, VALUE, *first_names(where)}
        alias = fresh_alias(self.rules.label(rule) if several else "hit", taken)
        return Step(kind, owned(where, alias), alias), path


def _column(name: str) -> Path:
    return (name,)


def _first_known(exprs: list[Expr]) -> Expr:
    """Of alternatives only one has taken an event; the fields of the others are null."""
    return exprs[0] if len(exprs) == 1 else Call("coalesce", tuple(exprs))


def first_names(expr: Expr | None) -> set[str]:
    return set() if expr is None else {f.path[0] for f in walk(expr) if isinstance(f, Field) and f.path}


def leads_inside(expr: Expr | None) -> bool:
    """Does it name a field inside a field?"""
    return expr is not None and any(isinstance(f, Field) and len(f.path) > 1 for f in walk(expr))


def owned(where: Expr | None, alias: str) -> Expr | None:
    """A step's own condition with `hit.process.name` for `process.name`.

    Without a schema nobody could tell whether `process` is a field or a step.
    """

    def change(node: Expr) -> Expr | None:
        bare = isinstance(node, Field) and node.alias is None and len(node.path) > 1
        return Field(alias, node.path) if bare and isinstance(node, Field) else None

    return None if where is None else rewrite(where, change)
