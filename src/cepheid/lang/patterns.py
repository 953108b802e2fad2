"""Pattern trees to the model: sequences, closures, groups, absence, guards and where a `within` belongs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from lark import Token, Tree

from cepheid.errors import PatternMistake, Place
from cepheid.lang.expressions import read_expression, read_name, read_string
from cepheid.lang.source import Source
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import Expr, Field, conjunction
from cepheid.pattern.model import (
    Absence,
    And,
    Arrow,
    Closure,
    Every,
    Guard,
    Link,
    Loop,
    Monotonic,
    Node,
    Or,
    Pattern,
    Sequence,
    Step,
)

_MONOTONIC = {"increasing": True, "decreasing": False}
_NO_CLOSURE = -1


@dataclass
class Draft:
    """A pattern while it is being read: the node, its clauses, and operators still to be applied."""

    node: Node
    within: int | None = None
    partition_by: tuple[Expr, ...] = ()
    where: tuple[Expr, ...] = ()
    guards: tuple[Guard, ...] = ()
    every: Every | None = None
    plain_group: bool = False
    operators: list[Any] = field(default_factory=list)
    reference: Pattern | None = None  # the node is a named pattern and nothing else
    bound_place: Place | None = None
    clause_place: Place | None = None


class PatternReader:
    """Reads pattern trees; `named` holds the patterns that can be used by name."""

    def __init__(self, source: Source, named: dict[str, Pattern]) -> None:
        self.source = source
        self.named = named

    # A whole pattern: a sequence and its clauses.

    def pattern(self, tree: Any) -> Draft:
        sequence, *tails = tree.children
        draft = self.sequence(sequence)
        for tail in tails:
            self._clause(draft, tail)
        return draft

    def _clause(self, draft: Draft, tail: Any) -> None:
        if tail.data == "whole_within":
            bound = self.duration(tail.children[1])
            if draft.within is not None:
                raise PatternMistake(
                    "the whole pattern has two bounds",
                    code="two_bounds",
                    place=self.source.place(tail),
                    hint="keep one `within` for the whole; steps may have their own",
                )
            draft.within = bound
        elif tail.data == "partition":
            draft.partition_by += tuple(self.expr(e) for e in tail.children if isinstance(e, Tree))
            draft.clause_place = self.source.place(tail)
        elif tail.data == "guard":
            self._guard(draft, tail)
        else:
            draft.operators.append(tail)

    def _guard(self, draft: Draft, tree: Any) -> None:
        _, body, window = tree.children
        inner = self.node(body)
        draft.operators += inner.operators
        if not isinstance(inner.node, Step):
            raise PatternMistake(
                "`unless` takes one event",
                code="guard_form",
                place=self.source.place(body),
                hint="write `unless X between a and c`; several guards may stand one after the other",
            )
        names = [read_name(n) for n in window.children if isinstance(n, Tree)] if window is not None else []
        start, end = [*names, None, None][:2]
        draft.clause_place = self.source.place(tree)
        draft.guards += (Guard(inner.node, start, end, place=self.source.place(tree)),)

    # A sequence: links, and the rule about a `within` at the very end.

    def sequence(self, tree: Any) -> Draft:
        trees = [t for t in tree.children if isinstance(t, Tree)]
        drafts = [self.link(t, first=i == 0, only=len(trees) == 1) for i, t in enumerate(trees)]
        self._operators_only_at_the_end(drafts)
        links = [link for link, _, _ in drafts]
        bounds = [bound for _, bound, _ in drafts]
        last = drafts[-1][2]
        whole = None
        if bounds[-1] is not None and all(b is None for b in bounds[:-1]) and not last.plain_group:
            whole, bounds[-1] = bounds[-1], None
        bounded = tuple(
            self._bounded(link, bound, i, draft, len(links) == 1)
            for i, (link, bound, (_, _, draft)) in enumerate(zip(links, bounds, drafts, strict=True))
        )
        if len(bounded) == 1:
            return self._single(bounded[0], whole, last)
        self._no_every_inside(drafts)
        self._no_clauses_inside(drafts)
        wheres = tuple(where for _, _, draft in drafts for where in draft.where)
        node = Sequence(bounded, place=self.source.place(tree))
        return Draft(node, within=whole, where=wheres, operators=last.operators)

    def _single(self, link: Link, whole: int | None, draft: Draft) -> Draft:
        """A sequence of one is its only member; a plain group in it keeps all its clauses."""
        node = link.node
        if draft.plain_group and isinstance(node, Sequence) and node.span is not None:
            whole = node.span
            node = node.links[0].node if len(node.links) == 1 else replace(node, span=None)
        if whole is not None and draft.within is not None and whole != draft.within:
            node = (
                Sequence((Link(node),), span=draft.within)
                if not isinstance(node, Sequence)
                else replace(node, span=draft.within)
            )
        return replace(
            draft, node=node, within=whole if whole is not None else draft.within, plain_group=False
        )

    def _operators_only_at_the_end(self, drafts: list[tuple[Link, int | None, Draft]]) -> None:
        for _, _, draft in drafts[:-1]:
            if draft.operators:
                operator = draft.operators[0]
                name = _operator_name(operator)
                raise PatternMistake(
                    f"`.{name}(...)` stands in the middle of the pattern",
                    code="misplaced_operator",
                    place=self.source.place(operator),
                    hint=f"operators come after the last step: `A -> B .{name}(...)`",
                )

    def _no_every_inside(self, drafts: list[tuple[Link, int | None, Draft]]) -> None:
        for _, _, draft in drafts:
            if draft.every is not None:
                raise PatternMistake(
                    "`every` inside a pattern",
                    code="every_nested",
                    place=draft.node.place,
                    hint="it goes around the whole pattern: `every (A -> B)`",
                )

    def _no_clauses_inside(self, drafts: list[tuple[Link, int | None, Draft]]) -> None:
        for _, _, draft in drafts:
            if draft.partition_by or draft.guards:
                raise PatternMistake(
                    "a part of a pattern cannot have `partition by` or `unless` of its own",
                    code="clause_inside",
                    place=draft.clause_place or draft.node.place,
                    hint="put it after the whole pattern",
                )

    def link(self, tree: Any, first: bool, only: bool) -> tuple[Link, int | None, Draft]:
        mode, body, within = tree.children
        if mode is not None and first:
            raise PatternMistake(
                f"`{mode.children[0]}` says how a step is reached from the one before; here is none before",
                code="arrow_on_first_step",
                place=self.source.place(mode),
                hint="leave it out",
            )
        arrow = Arrow(str(mode.children[0]).lower()) if mode is not None else None
        draft = self.node(body)
        self._only_on_closures(draft.node)
        bound = self.duration(within.children[1]) if within is not None else None
        draft.bound_place = self.source.place(within) if within is not None else None
        return Link(draft.node, arrow), bound, draft

    def _only_on_closures(self, node: Node) -> None:
        if isinstance(node, Closure) and node.min == _NO_CLOSURE:
            what = "until"
            if node.monotonic is not None:
                what = ".increasing" if node.monotonic.rising else ".decreasing"
            step = node.body.type if isinstance(node.body, Step) else "A"
            raise PatternMistake(
                f"`{what}` belongs to a closure, and this step takes one event",
                code="not_a_closure",
                place=node.place,
                hint=f"write `all {step}`, so that it takes every one",
            )

    def _bounded(self, link: Link, bound: int | None, index: int, draft: Draft, only: bool) -> Link:
        """Where the bound of a step is kept depends on what the step is."""
        if draft.within is not None and draft.plain_group and isinstance(link.node, Sequence):
            link = replace(link, node=replace(link.node, span=draft.within))
        elif draft.within is not None and draft.plain_group and bound is None and not only:
            # `-> (B within 5s)`: the only way to say a bound of the last step alone.
            bound, draft = draft.within, replace(draft, plain_group=False)
        if bound is None:
            return link
        node = link.node
        if isinstance(node, Absence):
            return replace(link, node=replace(node, within=bound))
        if isinstance(node, Closure) and not node.single:
            return replace(link, node=replace(node, gap=bound))
        if draft.plain_group:
            inner = node if isinstance(node, Sequence) else Sequence((Link(node),), place=node.place)
            return replace(link, node=replace(inner, span=bound))
        if index == 0:
            raise PatternMistake(
                "a `within` on the first step bounds nothing: there is no event before it",
                code="bound_on_first_step",
                place=draft.bound_place or node.place,
                hint="put it after the step it bounds, or at the end for the whole pattern",
            )
        return replace(link, within=bound)

    # Nodes.

    def node(self, tree: Any) -> Draft:
        reader = getattr(self, f"_{tree.data}")
        draft: Draft = reader(tree)
        return draft

    def _step(self, tree: Any) -> Draft:
        prefix, name_tree, *rest = tree.children
        name = read_name(name_tree)
        filters = [r for r in rest if isinstance(r, Tree) and r.data == "filter"]
        quantifier = next((r for r in rest if isinstance(r, Tree) and r.data in _QUANTIFIERS), None)
        suffixes = [
            r for r in rest if isinstance(r, Tree) and r.data in ("alias", "condition", "until", "op")
        ]
        alias = read_name(prefix.children[0]) if prefix is not None else None
        if name in self.named and not filters and alias is None:
            return self._named_pattern(name, tree, quantifier, suffixes)
        wheres = [self.expr(f.children[0]) for f in filters]
        return self._suffixed(
            Step(name, place=self.source.place(tree)), alias, wheres, quantifier, suffixes, tree
        )

    def _suffixed(
        self,
        step: Step,
        alias: str | None,
        wheres: list[Expr],
        quantifier: Any,
        suffixes: list[Any],
        tree: Any,
    ) -> Draft:
        until, monotonic, operators = None, None, []
        for suffix in suffixes:
            if suffix.data == "alias":
                self._one_alias(alias, suffix)
                alias = read_name(suffix.children[-1])
            elif suffix.data == "condition":
                wheres.append(self.expr(suffix.children[-1]))
            elif suffix.data == "until":
                until = suffix
            elif _operator_name(suffix) in _MONOTONIC:
                monotonic = suffix
            else:
                operators.append(suffix)
        step = replace(step, alias=alias, where=conjunction(wheres))
        node: Node = step if quantifier is None else self._closure(step, quantifier, tree)
        node = self._loop_details(node, until, monotonic)
        return Draft(node, operators=operators)

    def _one_alias(self, alias: str | None, suffix: Any) -> None:
        if alias is not None:
            raise PatternMistake(
                "this step has two names",
                code="two_aliases",
                place=self.source.place(suffix),
                hint="keep one",
            )

    def _closure(self, body: Node, quantifier: Any, tree: Any) -> Closure:
        low, high = _QUANTIFIERS[quantifier.data](quantifier.children)
        if high is not None and (high < low or high == 0):
            swapped = f"the smaller number comes first: {{{high},{low}}}"
            raise PatternMistake(
                f"{{{low},{high}}} can never be reached"
                if high
                else "a step that takes no event means nothing",
                code="bad_bounds",
                place=self.source.place(quantifier),
                hint=swapped if high else "write for example {1}, {0,3} or {2,}",
            )
        return Closure(body, low, high, place=self.source.place(tree))

    def _loop_details(self, node: Node, until: Any, monotonic: Any) -> Node:
        """`until` and `.increasing` are read before the `all` around them: they wait in an empty closure."""
        if until is None and monotonic is None:
            return node
        said = self.source.place(until if until is not None else monotonic)
        closure = node if isinstance(node, Closure) else Closure(node, _NO_CLOSURE, None, place=said)
        if until is not None:
            closure = replace(closure, until=self.expr(until.children[-1]))
        if monotonic is not None:
            closure = replace(closure, monotonic=self._monotonic(monotonic))
        return closure

    def _monotonic(self, operator: Any) -> Monotonic:
        arguments = [a for a in operator.children[1:] if a is not None]
        expr = self.expr(arguments[0].children[-1]) if len(arguments) == 1 and arguments[0].children else None
        if not isinstance(expr, Field):
            name = _operator_name(operator)
            raise PatternMistake(
                f"`.{name}` takes one field",
                code="bad_argument",
                place=self.source.place(operator),
                hint=f"write .{name}(price)",
            )
        return Monotonic(expr.path, _MONOTONIC[_operator_name(operator)])

    def _closure_all(self, tree: Any) -> Draft:
        body = tree.children[-1]
        modes = [str(m.children[0]).lower() for m in tree.children[1:-1] if isinstance(m, Tree)]
        if len(modes) > 1:
            raise PatternMistake(
                f"`{' '.join(modes)}`: a closure goes on in one way",
                code="two_loops",
                place=self.source.place(tree),
                hint="choose one of next, any, greedy",
            )
        draft = self.node(body)
        node = draft.node
        if not isinstance(node, Closure) or (body.data == "group" and not _quantified(body)):
            node = Closure(node)
        elif node.min == _NO_CLOSURE:
            node = replace(node, min=1)
        loop = Loop(modes[0]) if modes else None
        node = replace(node, loop=loop, place=self.source.place(tree))
        return replace(draft, node=node, plain_group=False)

    def _group(self, tree: Any) -> Draft:
        inner_tree, *rest = tree.children
        inner = self.pattern(inner_tree)
        quantifier = next((r for r in rest if isinstance(r, Tree) and r.data in _QUANTIFIERS), None)
        operators, wheres = list(inner.operators), inner.where
        for suffix in (r for r in rest if isinstance(r, Tree) and r.data not in _QUANTIFIERS):
            if suffix.data == "op":
                operators.append(suffix)
            elif suffix.data == "condition" and quantifier is None:
                wheres += (self.expr(suffix.children[-1]),)
            else:
                raise PatternMistake(
                    f"a group cannot have {_SUFFIXES[suffix.data]}",
                    code="group_suffix",
                    place=self.source.place(suffix),
                    hint="name and test the steps inside it",
                )
        if quantifier is None:
            return replace(inner, operators=operators, where=wheres, plain_group=True)
        node = inner.node
        if inner.within is not None:
            base = node if isinstance(node, Sequence) else Sequence((Link(node),), place=node.place)
            node = replace(base, span=inner.within)
        if inner.every is not None or inner.partition_by or inner.guards:
            self._no_every_inside([(Link(node), None, inner)])
            self._no_clauses_inside([(Link(node), None, inner)])
        return Draft(self._closure(node, quantifier, tree), where=wheres, operators=operators)

    def _logical(self, tree: Any) -> Draft:
        keyword, *rest = tree.children
        operands: list[Node] = []
        operators: list[Any] = []
        wheres: list[Expr] = []
        for part in rest:
            if part is None or isinstance(part, Token):
                continue
            if part.data == "op":
                operators.append(part)
            elif part.data == "sequence":
                inner = self.sequence(part)
                self._no_every_inside([(Link(inner.node), None, inner)])
                self._no_clauses_inside([(Link(inner.node), None, inner)])
                wheres += inner.where
                node = inner.node
                if inner.within is not None:
                    base = node if isinstance(node, Sequence) else Sequence((Link(node),), place=node.place)
                    node = replace(base, span=inner.within)
                operands.append(node)
            elif part.data == "condition":
                wheres.append(self.expr(part.children[-1]))
            else:
                raise PatternMistake(
                    f"{str(keyword).upper()} cannot have a name of its own",
                    code="group_suffix",
                    place=self.source.place(part),
                    hint="name the steps inside it",
                )
        if len(operands) < 2:
            raise PatternMistake(
                f"{str(keyword).upper()} needs two or more operands",
                code="too_few_operands",
                place=self.source.place(tree),
                hint=f"write {str(keyword).upper()}(A, B)",
            )
        kind = And if str(keyword).lower() == "and" else Or
        node = kind(tuple(operands), place=self.source.place(tree))
        return Draft(node, where=tuple(wheres), operators=operators)

    def _absence(self, tree: Any) -> Draft:
        _, mode, body = tree.children
        inner = self.node(body)
        if not isinstance(inner.node, Step):
            raise PatternMistake(
                "NOT takes one event",
                code="not_form",
                place=self.source.place(body),
                hint="write NOT X; for several, one after the other: `-> NOT X -> NOT Y ->`",
            )
        arrow_next = mode is not None
        node = Absence(inner.node, inner.within, arrow_next, place=self.source.place(tree))
        return Draft(node, operators=inner.operators)

    def _every(self, tree: Any) -> Draft:
        _, keep, body = tree.children
        place = self.source.place(tree)
        if body.data != "group" or _quantified(body):
            raise PatternMistake(
                "`every` needs parentheses around its pattern",
                code="every_parentheses",
                place=place,
                hint="write every (A -> B)",
            )
        inner = self.node(body)
        self._no_every_inside([(Link(inner.node), None, inner)])
        kind = Every.FIRST if keep is not None else Every.LATEST
        return replace(inner, node=replace(inner.node, place=place), every=kind, plain_group=False)

    def _named_pattern(self, name: str, tree: Any, quantifier: Any, suffixes: list[Any]) -> Draft:
        """A pattern used by name: alone it keeps its clauses; as a part, only its steps and its bound."""
        pattern = self.named[name]
        operators = [s for s in suffixes if s.data == "op"]
        others = [s for s in suffixes if s.data != "op"]
        if others:
            raise PatternMistake(
                f"`{name}` is a pattern, not an event: it cannot have a name or a condition here",
                code="pattern_suffix",
                place=self.source.place(others[0]),
                hint="use the names of its steps, or `.where(...)`",
            )
        draft = Draft(
            replace(pattern.root, place=self.source.place(tree)),
            within=pattern.within,
            partition_by=pattern.partition_by,
            where=(pattern.where,) if pattern.where is not None else (),
            guards=pattern.guards,
            every=pattern.every,
            operators=operators,
            plain_group=True,
            reference=pattern,
        )
        if quantifier is None:
            return draft
        self._no_clauses_inside([(Link(draft.node), None, draft)])
        self._no_every_inside([(Link(draft.node), None, draft)])
        return Draft(self._closure(draft.node, quantifier, tree), operators=operators)

    # Small things.

    def expr(self, tree: Any) -> Expr:
        return read_expression(tree, self.source)

    def duration(self, tree: Any) -> int:
        token = tree.children[0]
        place = self.source.place(token)
        if token.type == "STRING":
            return duration(read_string(token, self.source), place)
        if token.type in ("NUMBER", "INT"):
            raise PatternMistake(
                f"`{token}` has no unit of time",
                code="bad_duration",
                place=place,
                hint=f"write {token}s or {token}m",
            )
        return duration(str(token), place)


def _operator_name(tree: Any) -> str:
    return str(tree.children[0])[1:-1].strip()


def _quantified(group: Any) -> bool:
    return any(isinstance(c, Tree) and c.data in _QUANTIFIERS for c in group.children)


_SUFFIXES = {"alias": "a name", "condition": "a `where` when it is counted", "until": "an `until`"}

_QUANTIFIERS: dict[str, Any] = {
    "plus": lambda c: (1, None),
    "star": lambda c: (0, None),
    "optional": lambda c: (0, 1),
    "exactly": lambda c: (int(c[0]), int(c[0])),
    "at_least": lambda c: (int(c[0]), None),
    "between_counts": lambda c: (int(c[0]), int(c[1])),
    "at_most": lambda c: (0, int(c[0])),
}
