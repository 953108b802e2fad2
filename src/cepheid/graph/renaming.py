"""Names of variables and stages changed throughout a body: what is not shared belongs to its part alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cepheid.pattern.expr import Expr, Field, rewrite
from cepheid.pattern.graph_pattern import (
    Block,
    Body,
    Choice,
    Clause,
    Concurrent,
    Repeat,
    Stage,
    Then,
    Unless,
    variable,
    variables_in,
)

Rename = Callable[[str], str]


def blocks_in(body: Body) -> Iterator[Block]:
    if isinstance(body, Block):
        yield body
    elif isinstance(body, Repeat):
        yield from blocks_in(body.part)
    elif isinstance(body, (Then, Choice)):
        for part in body.parts:
            yield from blocks_in(part)


def bound_by(stage: Stage) -> frozenset[str]:
    """The variables that have a value once a stage is found."""
    return frozenset({stage.anchor} | {c.bind for c in stage.clauses if c.bind is not None and not c.negated})


def bound_in(body: Body) -> frozenset[str]:
    found: set[str] = set()
    for block in blocks_in(body):
        found.update(let.variable for let in block.lets)
        for stage in block.stages():
            found |= bound_by(stage)
    return frozenset(found)


def resolved(body: Body) -> Body:
    """With names that are the same throughout: the parts of each `then` have got theirs, the inner ones first."""
    if isinstance(body, Block):
        return body
    if isinstance(body, Repeat):
        return replace(body, part=resolved(body.part))
    assert isinstance(body, (Then, Choice))
    parts = [resolved(part) for part in body.parts]
    if isinstance(body, Choice) or not body.names:
        return replace(body, parts=tuple(parts))
    prefixes = _told_apart(body.names)
    named = (with_prefix(part, prefix, body.shared) for part, prefix in zip(parts, prefixes, strict=True))
    return replace(body, parts=tuple(named), names=())


def _told_apart(names: tuple[str, ...]) -> list[str]:
    """
    >>> _told_apart(("a", "b", "a"))
    ['a', 'b', 'a2']
    """
    counted = [names[: at + 1].count(name) for at, name in enumerate(names)]
    return [name if count == 1 else f"{name}{count}" for name, count in zip(names, counted, strict=True)]


def with_prefix(body: Body, prefix: str, shared: frozenset[str]) -> Body:
    """Every name gets the prefix, unless it is a variable that is shared."""

    def rename(name: str) -> str:
        return name if name in shared else f"{prefix}.{name}"

    return _body(body, rename, prefix)


def _body(body: Body, rename: Rename, prefix: str) -> Body:
    if isinstance(body, Block):
        return _block(body, rename, prefix)
    if isinstance(body, Repeat):
        return replace(body, part=_body(body.part, rename, prefix), shared=_names(body.shared, rename))
    assert isinstance(body, (Then, Choice))
    parts = tuple(_body(part, rename, prefix) for part in body.parts)
    return replace(body, parts=parts, shared=_names(body.shared, rename))


def _names(names: frozenset[str], rename: Rename) -> frozenset[str]:
    return frozenset(rename(name) for name in names)


def _block(block: Block, rename: Rename, prefix: str) -> Block:
    def stage_name(name: str | None) -> str | None:
        return None if name is None else f"{prefix}.{name}"

    return replace(
        block,
        parts=tuple(
            replace(part, stages=tuple(_stage(s, rename, prefix) for s in part.stages))
            if isinstance(part, Concurrent)
            else _stage(part, rename, prefix)
            for part in block.parts
        ),
        unless=tuple(
            replace(_unless(u, rename), start=stage_name(u.start), end=stage_name(u.end))
            for u in block.unless
        ),
        relations=tuple(
            replace(r, left=f"{prefix}.{r.left}", right=f"{prefix}.{r.right}") for r in block.relations
        ),
        lets=tuple(replace(x, variable=rename(x.variable), value=_expr(x.value, rename)) for x in block.lets),
        where=tuple(_expr(e, rename) for e in block.where),
    )


def _stage(stage: Stage, rename: Rename, prefix: str) -> Stage:
    return replace(
        stage,
        name=f"{prefix}.{stage.name}",
        anchor=rename(stage.anchor),
        clauses=tuple(_clause(c, rename) for c in stage.clauses),
    )


def _unless(unless: Unless, rename: Rename) -> Unless:
    return replace(
        unless, anchor=rename(unless.anchor), clauses=tuple(_clause(c, rename) for c in unless.clauses)
    )


def _clause(clause: Clause, rename: Rename) -> Clause:
    return replace(
        clause,
        source=rename(clause.source),
        bind=None if clause.bind is None else rename(clause.bind),
        test=None if clause.test is None else _expr(clause.test, rename),
    )


def _expr(expr: Expr, rename: Rename) -> Expr:
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and variables_in(node):
            return replace(variable(rename(node.path[0][1:])), place=node.place)
        return None

    return rewrite(expr, change)
