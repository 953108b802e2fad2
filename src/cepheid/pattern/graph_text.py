"""Graph patterns as text: what `print(pattern)` shows is read back to the same model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cepheid.pattern.duration import duration_text
from cepheid.pattern.expr import Binary, Call, Expr, Field, In, Literal, Unary, rewrite, walk
from cepheid.pattern.graph_pattern import (
    UNLESS_NODE,
    VALUE,
    Block,
    Body,
    Choice,
    Clause,
    Concurrent,
    GraphPattern,
    Relation,
    Repeat,
    Stage,
    Then,
    Unless,
    Window,
    variables_in,
)
from cepheid.pattern.text import Verbatim, expr_text, name_text

# Words of this language beside those that need quotes everywhere.
_RESERVED = {
    "all",
    "concurrent",
    "deadline",
    "global",
    "graph",
    "let",
    "meta",
    "of",
    "private",
    "sharing",
    "stage",
    "then",
    "xor",
}
_PLAIN = re.compile(r"[^\W\d]\w*\Z")
_SUM = 5  # how tightly an operand of a comparison binds


def graph_text(pattern: GraphPattern) -> str:
    """A declaration.

    >>> from cepheid.pattern.graph_pattern import variable
    >>> clause = Clause("a", "limit", "x", Binary(">", VALUE, variable("y")))
    >>> print(graph_text(GraphPattern("p", Block((Stage("a", "a", (clause,)),)))))
    graph pattern p {
      stage a { .limit > ?y -> ?x }
    }
    """
    head = f"{'private ' if pattern.private else ''}graph pattern {_name(pattern.name)}"
    options = list(_options(pattern))
    if isinstance(pattern.body, Block):
        return f"{head} {_block(pattern.body, options)}"
    return "\n  ".join([f"{head} = {_composition(pattern.body)}", *options])


def _name(name: str) -> str:
    return f"`{name}`" if name.lower() in _RESERVED else name_text(name)


def _variable(name: str) -> str:
    return f"?{_marked(name)}"


def _marked(name: str) -> str:
    """After a question mark or a dot no word is a keyword."""
    return name if _PLAIN.match(name) else f"`{name}`"


def _expr(expr: Expr, outer: int = 0) -> str:
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and variables_in(node):
            return Verbatim(_variable(node.path[0][1:]))
        return None

    return expr_text(rewrite(expr, change), outer)


def _options(pattern: GraphPattern) -> Iterator[str]:
    if pattern.deadline is not None:
        yield f"deadline {pattern.deadline} ticks"
    if pattern.within is not None:
        yield f"within {duration_text(pattern.within)}"
    if pattern.metadata:
        entries = (f"{_name(n)}: {expr_text(Literal(v))}" for n, v in pattern.metadata.items())
        yield f"meta {', '.join(entries)}"


# Blocks.


def _block(block: Block, options: Iterable[str] = ()) -> str:
    lines = [*_items(block), *options]
    return "\n".join(["{", *(f"  {line}" for item in lines for line in item.split("\n")), "}"])


def _items(block: Block) -> Iterator[str]:
    for part in block.parts:
        if isinstance(part, Concurrent):
            yield "\n".join(["concurrent {", *(f"  {_stage(s)}" for s in part.stages), "}"])
        else:
            yield _stage(part)
    yield from (_unless(unless) for unless in block.unless)
    yield from (_relation(relation) for relation in block.relations)
    yield from (f"let {_variable(let.variable)} = {_expr(let.value)}" for let in block.lets)
    yield from (f"where {_expr(test)}" for test in block.where)


def _stage(stage: Stage) -> str:
    of = "" if stage.anchor == stage.name else f" of {_variable(stage.anchor)}"
    return f"stage {_name(stage.name)}{of} {_clauses(stage.clauses, stage.anchor)}"


def _unless(unless: Unless) -> str:
    of = "" if unless.anchor == UNLESS_NODE else f" of {_variable(unless.anchor)}"
    window = {
        Window.WHOLE: "",
        Window.GLOBAL: " global",
        Window.AFTER: f" after {_name(unless.start or '')}",
        Window.BETWEEN: f" between {_name(unless.start or '')} and {_name(unless.end or '')}",
    }[unless.window]
    return f"unless{window}{of} {_clauses(unless.clauses, unless.anchor)}"


def _relation(relation: Relation) -> str:
    low, high = (None if b is None else duration_text(b) for b in (relation.low, relation.high))
    gap = "" if low is None and high is None else f" by {low or ''}..{high or ''}"
    return f"{_name(relation.left)} {relation.kind.value} {_name(relation.right)}{gap}"


def _clauses(clauses: tuple[Clause, ...], anchor: str) -> str:
    return f"{{ {', '.join(_clause(c, anchor) for c in clauses)} }}" if clauses else "{ }"


def _clause(clause: Clause, anchor: str) -> str:
    negated = "not " if clause.negated else ""
    source = "" if clause.source == anchor else _variable(clause.source)
    test = "" if clause.test is None else _test(clause.test)
    bind = "" if clause.bind is None else f" -> {_variable(clause.bind)}"
    return f"{negated}{source}.{_marked(clause.label)}{test}{bind}"


def _test(test: Expr) -> str:
    """In short where there is such a way, or else in brackets."""
    match test:
        case Binary(op=("==" | "!=" | "<" | "<=" | ">" | ">=") as sign, left=left, right=right):
            if left == VALUE and _other(right):
                return f" {'=' if sign == '==' else sign} {_expr(right, _SUM)}"
        case In(operand=operand, items=items, negated=negated):
            if operand == VALUE and all(map(_other, items)):
                return f" {'not ' if negated else ''}in ({', '.join(map(_expr, items))})"
        case Call(name="like", args=(operand, other)):
            if operand == VALUE and _other(other):
                return f" like {_expr(other, _SUM)}"
        case Unary(op="not", operand=Call(name="like", args=(operand, other))):
            if operand == VALUE and _other(other):
                return f" not like {_expr(other, _SUM)}"
    return _range(test) or f"[{_expr(test)}]"


def _range(test: Expr) -> str | None:
    match test:
        case Binary(op="and", left=Binary(op=">=") as low, right=Binary(op="<=") as high):
            if low.left == high.left == VALUE and _other(low.right) and _other(high.right):
                return f" between {_expr(low.right, _SUM)} and {_expr(high.right, _SUM)}"
    return None


def _other(expr: Expr) -> bool:
    return all(node != VALUE for node in walk(expr))


# Compositions. Every operand is in parentheses, because `sharing` speaks of all up to them.


def _composition(body: Body) -> str:
    match body:
        case Repeat(part=part, least=least, most=most, shared=shared):
            count = str(least) if most == least else f"{least}..{'' if most is None else most}"
            return f"{_operand(part)} * {count}{_sharing(shared)}"
        case Choice(parts=parts, exclusive=exclusive, shared=shared):
            if exclusive:
                return " xor ".join(map(_operand, parts)) + _sharing(shared)
            return " | ".join(map(_operand, parts))  # what it shares means nothing
        case Then(parts=parts, names=()):
            return " then ".join(map(_operand, parts)) + " sharing all"
        case Then(parts=parts, shared=shared, names=names):
            named = (f"{_operand(p)} as {_name(n)}" for p, n in zip(parts, names, strict=True))
            return " then ".join(named) + _sharing(shared)
    raise AssertionError(body)


def _operand(body: Body) -> str:
    return _block(body) if isinstance(body, Block) else f"({_composition(body)})"


def _sharing(shared: frozenset[str]) -> str:
    return f" sharing {', '.join(_variable(n) for n in sorted(shared))}" if shared else ""
