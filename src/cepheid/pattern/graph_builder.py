"""Graph patterns built in Python: the same model that the text is read into.

>>> guest, host = var("guest"), var("host")
>>> p = (
...     graph_pattern("hospitality")
...     .stage("enter", kind="enterTown", actor=guest)
...     .stage("harm", kind="harm", actor=host, target=guest)
...     .unless(between=("enter", "harm"), kind="leaveTown", actor=guest)
... )
>>> print(p)
graph pattern hospitality {
  stage enter { .kind = "enterTown", .actor -> ?guest }
  stage harm { .kind = "harm", .actor -> ?host, .target -> ?guest }
  unless between enter and harm { .kind = "leaveTown", .actor -> ?guest }
}

Every object is immutable: each method gives a new one. What a label is given as a keyword says: a constant must be
the target, a variable is bound to it, a condition over `value` must hold of it, `...` is anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from types import EllipsisType
from typing import Any, Self

from cepheid.errors import PatternMistake, nearest
from cepheid.pattern.conditions import Condition, Path, Value, check_name, condition, expression
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import Binary, Expr, Field, Literal, conjunction, walk
from cepheid.pattern.graph_pattern import (
    UNLESS_NODE,
    VALUE,
    Allen,
    Block,
    Body,
    Choice,
    Clause,
    Concurrent,
    GraphPattern,
    Let,
    Relation,
    Repeat,
    Stage,
    Then,
    Unless,
    Window,
    variable,
)
from cepheid.pattern.graph_text import graph_text

Duration = str | timedelta
Variable = Value | str

value = Path(VALUE)
"""The target of an edge, in the condition of a clause."""


def var(name: str) -> Path:
    """A variable: `?name` in the text.

    Args:
        name: The name, without the question mark.
    """
    return Path(variable(check_name(name)))


# Clauses.


@dataclass(frozen=True)
class EdgeClause:
    """A clause whose node is not yet known, unless it says so itself."""

    label: str
    of: str | None
    bind: str | None
    test: Expr | None
    negated: bool

    def about(self, anchor: str) -> Clause:
        return Clause(self.of or anchor, self.label, self.bind, self.test, self.negated)


def edge(label: str, *targets: object, of: Variable | None = None) -> EdgeClause:
    """An edge with this label, of the node of the stage or `of` another. Several targets are all to be so.

    Args:
        label: The label of the edge.
        targets: What it leads to: a value, a variable, or a condition on `value`.
        of: The variable of another node than the stage's own.

    >>> edge("amount", value > 100, var("a")).about("order")
    Clause(source='order', label='amount', bind='a', test=Binary(op='>', left=Field(alias=None, path=('value',)), \
right=Literal(value=100)), negated=False)
    """
    return _edge(label, targets, of, negated=False)


def no_edge(label: str, *targets: object, of: Variable | None = None) -> EdgeClause:
    """There is no such edge at the time of the stage.

    Args:
        label: The label of the edge.
        targets: What it would lead to; without any, no edge of that label at all.
        of: The variable of another node than the stage's own.
    """
    return _edge(label, targets, of, negated=True)


def _edge(label: str, targets: Iterable[object], of: Variable | None, negated: bool) -> EdgeClause:
    bind: str | None = None
    tests: list[Expr] = []
    for target in targets:
        name = _variable_name(target)
        if name is not None and bind is not None:
            raise _bad_argument(f"`{label}` is bound twice", f"the second is a test: value == var({name!r})")
        if name is not None:
            bind = name
        elif not isinstance(target, EllipsisType):
            tests.append(_test(target))
    return EdgeClause(
        check_name(label), None if of is None else _variable(of), bind, conjunction(tests), negated
    )


def _test(target: object) -> Expr:
    expr = condition(target) if callable(target) else expression(target)
    if any(node == VALUE for node in walk(expr)):
        return expr
    return Binary("==", VALUE, expr)


def _variable_name(target: object) -> str | None:
    expr = target._expr if isinstance(target, Value) else None
    if (
        isinstance(expr, Field)
        and expr.alias is None
        and len(expr.path) == 1
        and expr.path[0].startswith("?")
    ):
        return expr.path[0][1:]
    return None


def _variable(name: Variable) -> str:
    if isinstance(name, str):
        return check_name(name.removeprefix("?"))
    found = _variable_name(name)
    if found is None:
        raise _bad_argument(f"{name!r} is no variable", 'write var("x")')
    return found


def _clauses(anchor: str, given: Iterable[EdgeClause], labels: dict[str, object]) -> tuple[Clause, ...]:
    found = list(given)
    for one in found:
        if not isinstance(one, EdgeClause):
            raise _bad_argument(f"{one!r} is no clause", 'write edge("kind", "login"), or kind="login"')
    found += [edge(label, target) for label, target in labels.items()]
    return tuple(one.about(anchor) for one in found)


def stage(name: str, *clauses: EdgeClause, of: Variable | None = None, **labels: object) -> Stage:
    """A stage by itself, for `concurrent`.

    Args:
        name: The name of the stage, and of the node it binds.
        clauses: Made by `edge` and `no_edge`.
        of: A variable for the node, if it is another than the name.
        labels: Edges by label, `kind="enter"`: shorter than `edge("kind", "enter")`.
    """
    anchor = check_name(name) if of is None else _variable(of)
    return Stage(name, anchor, _clauses(anchor, clauses, labels))


# Patterns.


@dataclass(frozen=True, eq=False, repr=False)
class GraphDraft:
    """A pattern being written. `build()` gives the model; engines take the draft itself, too."""

    _pattern: GraphPattern
    _part: str = ""  # what it is called as a part of `then`, if not by its name

    def build(self) -> GraphPattern:
        if not self._pattern.name:
            raise PatternMistake(
                "the graph pattern has no name", code="missing_name", hint='add .named("late")'
            )
        return self._pattern

    def __str__(self) -> str:
        return graph_text(self._pattern)

    def __repr__(self) -> str:
        return f"<{graph_text(self._pattern)}>"

    # Stages and what is said of them.

    def stage(self, name: str, *clauses: EdgeClause, of: Variable | None = None, **labels: object) -> Self:
        """A stage after those before. Its node is the variable of its name, or `of` one that is named."""
        return self._with_block(parts=stage(name, *clauses, of=of, **labels))

    def concurrent(self, *stages: Stage) -> Self:
        """Stages in any order of time."""
        return self._with_block(parts=Concurrent(stages))

    def unless(
        self,
        *clauses: EdgeClause,
        between: tuple[str, str] | None = None,
        after: str | None = None,
        everywhere: bool = False,
        of: Variable | None = None,
        **labels: object,
    ) -> Self:
        """Nothing so between two stages, after one, at any time (`everywhere`), or from the first to the last."""
        if (between is not None) + (after is not None) + everywhere > 1:
            raise _bad_argument("`unless` has one window", "give `between`, `after` or `everywhere`")
        anchor = UNLESS_NODE if of is None else _variable(of)
        made = Unless(anchor, _clauses(anchor, clauses, labels))
        if everywhere:
            made = replace(made, window=Window.GLOBAL)
        elif after is not None:
            made = replace(made, window=Window.AFTER, start=check_name(after))
        elif between is not None:
            start, end = between
            made = replace(made, window=Window.BETWEEN, start=check_name(start), end=check_name(end))
        return self._with_block(unless=made)

    def relate(
        self,
        left: str,
        kind: str,
        right: str,
        *,
        at_least: Duration | None = None,
        at_most: Duration | None = None,
    ) -> Self:
        """One of Allen's relations between the intervals of two stages, with bounds of the gap it leaves free."""
        known = [a.value for a in Allen]
        if kind not in known:
            hint = nearest(kind, known) or f"the relations are {', '.join(known)}"
            raise PatternMistake(f"`{kind}` is no relation of two stages", code="unknown_relation", hint=hint)
        low, high = (None if b is None else duration(b) for b in (at_least, at_most))
        return self._with_block(
            relations=Relation(check_name(left), Allen(kind), check_name(right), low, high)
        )

    def let(self, **values: object) -> Self:
        """Variables computed from others."""
        lets = (Let(check_name(name), expression(v)) for name, v in values.items())
        return reduce(lambda draft, let: draft._with_block(lets=let), lets, self)

    def where(self, *tests: Condition) -> Self:
        """Conditions over variables; several are all to hold."""
        return reduce(lambda draft, test: draft._with_block(where=condition(test)), tests, self)

    # The whole.

    def deadline(self, ticks: int) -> Self:
        """Alive after so many ticks, expired at the next."""
        return self._with(deadline=ticks)

    def within(self, bound: Duration) -> Self:
        """The time from the first stage to the last."""
        return self._with(within=duration(bound))

    def meta(self, **entries: object) -> Self:
        """What the pattern is to be remembered by: texts, numbers, true, false, None."""
        for name, entry in entries.items():
            if not isinstance(expression(entry), Literal):
                raise _bad_argument(f"`{name}` is no constant", "give a text, a number, True, False or None")
        return self._with(metadata={**self._pattern.metadata, **entries})

    def private(self) -> Self:
        """Only there for others to be made of."""
        return self._with(private=True)

    def named(self, name: str) -> Self:
        return replace(self._with(name=check_name(name)), _part="")

    # Compositions.

    def then(self, *others: GraphDraft, sharing: Iterable[Variable] | EllipsisType = ()) -> GraphDraft:
        """One after the other. Variables that are not shared are each part's own; `...` shares all of them."""
        drafts = (self, *others)
        parts = tuple(_body(d) for d in drafts)
        if isinstance(sharing, EllipsisType):
            return _composed(Then(parts), "_then_".join(map(_label, drafts)))
        names = tuple(map(_label, drafts))
        return _composed(Then(parts, _shared(sharing), names), "_then_".join(names))

    def __or__(self, other: GraphDraft) -> GraphDraft:
        """One of them. Of `a | b | c` the three are alternatives of one choice."""
        mine = self._pattern.body
        longer = isinstance(mine, Choice) and not mine.exclusive and not self._pattern.name
        first = mine.parts if longer and isinstance(mine, Choice) else (_body(self),)
        return _composed(Choice((*first, _body(other))), f"{_label(self)}_or_{_label(other)}")

    def xor(self, *others: GraphDraft, sharing: Iterable[Variable] = ()) -> GraphDraft:
        """One of them: what completes ends the threads of the others that have the same shared values."""
        drafts = (self, *others)
        choice = Choice(tuple(_body(d) for d in drafts), True, _shared(sharing))
        return _composed(choice, "_or_".join(map(_label, drafts)))

    def times(
        self, least: int, most: int | EllipsisType | None = ..., *, sharing: Iterable[Variable] = ()
    ) -> GraphDraft:
        """`times(3)` three rounds, `times(2, 4)` two to four, `times(2, None)` two or more."""
        most = least if isinstance(most, EllipsisType) else most
        return _composed(Repeat(_body(self), least, most, _shared(sharing)), _label(self))

    def as_(self, name: str) -> Self:
        """What stands before its own variables when it is a part of `then`; without it, that is its name."""
        return replace(self, _part=check_name(name))

    def _with(self, **changes: Any) -> Self:
        return replace(self, _pattern=replace(self._pattern, **changes))

    def _with_block(self, **added: Any) -> Self:
        block = self._pattern.body
        if not isinstance(block, Block):
            raise PatternMistake(
                "this is composed of other patterns, and has no stages of its own",
                code="composed",
                hint="say it of one of the parts",
            )
        longer: dict[str, Any] = {name: (*getattr(block, name), item) for name, item in added.items()}
        return self._with(body=replace(block, **longer))


def graph_pattern(name: str) -> GraphDraft:
    """A pattern to which stages are added.

    Args:
        name: The name of the pattern.

    >>> late = graph_pattern("late").stage("sent", kind="sent").stage("came", kind="came", of_order=var("sent"))
    >>> print(late.within("2d").build().name)
    late
    """
    return GraphDraft(GraphPattern(check_name(name), Block(())))


def _composed(body: Body, part: str) -> GraphDraft:
    return GraphDraft(GraphPattern("", body), part)


def _label(draft: GraphDraft) -> str:
    return draft._part or draft._pattern.name or "part"


def _shared(names: Iterable[Variable]) -> frozenset[str]:
    if isinstance(names, (str, Value)):
        names = (names,)
    return frozenset(_variable(name) for name in names)


def _body(draft: GraphDraft) -> Body:
    """What a composition takes of a pattern. A bound of a part would be lost without a word."""
    if not isinstance(draft, GraphDraft):
        raise _bad_argument(f"{draft!r} is no graph pattern", 'write graph_pattern("late").stage(...)')
    pattern = draft._pattern
    for said, bound in (("deadline", pattern.deadline), ("within", pattern.within)):
        if bound is not None:
            raise PatternMistake(
                f"`{said}` is said of a whole pattern, and this is a part of one",
                code="bound_of_part",
                hint=f"say `{said}` of the composition",
            )
    return pattern.body


def _bad_argument(message: str, hint: str) -> PatternMistake:
    return PatternMistake(message, code="bad_argument", hint=hint)


__all__ = ["EdgeClause", "GraphDraft", "edge", "graph_pattern", "no_edge", "stage", "value", "var"]
