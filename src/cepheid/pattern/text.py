"""The model as text: what `print(pattern)` shows parses back to the same model."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Any

from cepheid.pattern.duration import duration, duration_text
from cepheid.pattern.expr import (
    Aggregate,
    Binary,
    Call,
    Case,
    Element,
    Expr,
    Field,
    In,
    IsNull,
    Key,
    Length,
    Literal,
    Opaque,
    Unary,
)
from cepheid.pattern.model import (
    Absence,
    And,
    Closure,
    Declarations,
    EventType,
    Forecast,
    Guard,
    Limits,
    Link,
    Node,
    OnLimit,
    Or,
    Output,
    Pattern,
    Selection,
    Sequence,
    Skip,
    Step,
    Stream,
    TrendRows,
    Trends,
)
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.pattern.types import Type

_PLAIN = re.compile(r"[^\W\d]\w*\Z")
# Words a name must not be mistaken for; quoted, every name is safe.
_RESERVED = {
    "event",
    "pattern",
    "stream",
    "within",
    "partition",
    "by",
    "unless",
    "between",
    "after",
    "all",
    "any",
    "next",
    "first",
    "greedy",
    "every",
    "as",
    "where",
    "until",
    "not",
    "and",
    "or",
    "in",
    "is",
    "like",
    "null",
    "true",
    "false",
    "case",
    "when",
    "then",
    "else",
    "end",
}


def name_text(name: str) -> str:
    """A name, in back quotes where it needs them.

    >>> name_text("login"), name_text("login.failed")
    ('login', '`login.failed`')
    """
    return name if _PLAIN.match(name) and name.lower() not in _RESERVED else f"`{name}`"


@dataclass(frozen=True)
class Verbatim(Expr):
    """Text that stands as it is: what another language has in the place of a field."""

    text: str


def column_name(expr: Expr) -> str:
    """The output column an expression gets when nobody named it."""
    if isinstance(expr, Field):
        return ".".join(expr.path)
    return expr_text(expr)


# Expressions: a number says how tightly an operator binds.

_BINDING = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "**": 8}
_COMPARISON, _NEGATIVE, _ATOM = 4, 7, 9


def expr_text(expr: Expr, outer: int = 0) -> str:
    """An expression, with the parentheses it needs and no others."""
    text, binding = _expr(expr)
    return f"({text})" if binding < outer else text


def _expr(expr: Expr) -> tuple[str, int]:
    match expr:
        case Literal(value=value):
            return _literal(value)
        case Field(alias=alias, path=path):
            return ".".join(name_text(n) for n in ((alias,) if alias else ()) + path), _ATOM
        case TimeTest():
            return _time_test(expr), _COMPARISON
        case Verbatim(text=text):
            return text, _ATOM
        case Key(name=name):
            return ".".join(name_text(n) for n in name.split(".")), _ATOM
        case Element(alias=alias, index=index, path=path, from_end=from_end):
            return _element(alias, index, path, from_end), _ATOM
        case Length(alias=alias):
            return f"{name_text(alias)}.LEN", _ATOM
        case Aggregate(name=name, alias=alias, path=path):
            return f"{name}({'.'.join(name_text(n) for n in (alias, *path))})", _ATOM
        case Call(name="like", args=(left, right)):
            return f"{expr_text(left, 5)} like {expr_text(right, 5)}", _COMPARISON
        case Call(name=name, args=args):
            return f"{name}({', '.join(expr_text(a) for a in args)})", _ATOM
        case Case(branches=branches, default=default):
            return _case(branches, default), _ATOM
        case Unary(op="not", operand=operand):
            return f"not {expr_text(operand, 3)}", 3
        case Unary(operand=operand):
            return f"-{expr_text(operand, _NEGATIVE)}", _NEGATIVE
        case In(operand=operand, items=items, negated=negated):
            listed = ", ".join(expr_text(i) for i in items)
            return f"{expr_text(operand, 5)} {'not ' if negated else ''}in ({listed})", _COMPARISON
        case IsNull(operand=operand, negated=negated):
            return f"{expr_text(operand, 5)} is {'not ' if negated else ''}null", _COMPARISON
        case Binary():
            return _binary(expr)
        case Opaque(name=name):
            return f"<python {name}>", _ATOM
    raise AssertionError(expr)


def _time_test(test: TimeTest) -> str:
    left, right = (f"?{n if _PLAIN.match(n) else f'`{n}`'}" for n in (test.left, test.right))
    low, high = (_span(b) for b in (test.low, test.high))
    return f"{left} after[{low or '-inf'}, {high or 'inf'}] {right}"


def _span(span: Span | None) -> str | None:
    if span is None:
        return None
    sign = "-" if span.amount < 0 else ""
    return sign + (str(abs(span.amount)) if span.ticks else duration_text(abs(span.amount)))


def _literal(value: Any) -> tuple[str, int]:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value], _ATOM
    if isinstance(value, timedelta):
        return duration_text(duration(value)), _ATOM
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False), _ATOM
    if isinstance(value, float) and value in (inf, -inf):
        value = repr(value).replace("inf", "1e999")  # no word for it, but so large a number is it
    text = str(value)
    return text, _NEGATIVE if text.startswith("-") else _ATOM


def _element(alias: str, index: Expr, path: tuple[str, ...], from_end: bool) -> str:
    head = f"last({name_text(alias)})" if from_end else f"{name_text(alias)}[{expr_text(index)}]"
    return ".".join([head, *(name_text(n) for n in path)])


def _case(branches: tuple[tuple[Expr, Expr], ...], default: Expr) -> str:
    parts = [f"when {expr_text(c)} then {expr_text(v)}" for c, v in branches]
    return " ".join(["case", *parts, "else", expr_text(default), "end"])


def _binary(expr: Binary) -> tuple[str, int]:
    binding = _BINDING.get(expr.op, _COMPARISON)
    if expr.op == "**":  # the power binds to the right, and only an atom may stand on its left
        return f"{expr_text(expr.left, _ATOM)} ** {expr_text(expr.right, _NEGATIVE)}", binding
    if binding == _COMPARISON:
        return f"{expr_text(expr.left, 5)} {expr.op} {expr_text(expr.right, 5)}", binding
    return f"{expr_text(expr.left, binding)} {expr.op} {expr_text(expr.right, binding + 1)}", binding


# Patterns.


def node_text(node: Node) -> str:
    """A node as it stands inside a sequence."""
    match node:
        case Step():
            return _step(node)
        case Absence(step=step, next=only_next):
            return f"NOT {'next ' if only_next else ''}{_step(step)}"
        case Closure():
            return _closure(node)
        case And(operands=operands):
            return f"AND({', '.join(_operand(o) for o in operands)})"
        case Or(operands=operands):
            return f"OR({', '.join(_operand(o) for o in operands)})"
        case Sequence(links=links):
            return f"({_links(links)})"
    raise AssertionError(node)


def _operand(node: Node) -> str:
    """A node where a whole pattern may stand: alone, in AND and OR, in the parentheses of a closure."""
    if isinstance(node, Sequence) and node.span is not None:
        # Of one closure in parentheses a bound would be its gap.
        return (node_text(node) if len(node.links) > 1 else _links(node.links)) + _node_span(node)
    return _links(node.links if isinstance(node, Sequence) else (Link(node),))


def _node_span(node: Node) -> str:
    return (
        f" within {duration_text(node.span)}" if isinstance(node, Sequence) and node.span is not None else ""
    )


def _step(step: Step, quantifier: str = "") -> str:
    alias = f" as {name_text(step.alias)}" if step.alias else ""
    if step.where is None:
        return f"{name_text(step.type)}{quantifier}{alias}"
    return f"{name_text(step.type)}[{expr_text(step.where)}]{quantifier}{alias}"


def _closure(node: Closure) -> str:
    quantifier = _quantifier(node)
    if isinstance(node.body, Step):
        inner = _step(node.body, quantifier)
    else:
        inner = f"({_operand(node.body)}){quantifier}"
    if node.loop is not None:
        inner = f"all {node.loop.value} {inner}" if node.loop.value != "all" else f"all {inner}"
    if node.monotonic is not None:
        name = "increasing" if node.monotonic.rising else "decreasing"
        inner += f" .{name}({'.'.join(name_text(n) for n in node.monotonic.path)})"
    if node.until is not None:
        inner += f" until {expr_text(node.until)}"
    return inner


def _quantifier(node: Closure) -> str:
    short = {(1, None): "+", (0, None): "*", (0, 1): "?"}.get((node.min, node.max))
    if short:
        return short
    if node.min == node.max:
        return f"{{{node.min}}}"
    return f"{{{node.min},{'' if node.max is None else node.max}}}"


def _bound(link: Link) -> int | None:
    if isinstance(link.node, Absence):
        return link.node.within
    if isinstance(link.node, Closure) and link.node.gap is not None:
        return link.node.gap
    return link.within


def _link(link: Link, alone: bool = False) -> str:
    arrow = f"{link.arrow.value} " if link.arrow is not None else ""
    bound = _bound(link)
    if bound is None:
        return f"{arrow}{node_text(link.node)}{_node_span(link.node)}"
    within = f" within {duration_text(bound)}"
    if not alone:
        return f"{arrow}{node_text(link.node)}{within}"
    if link.within is not None:
        return f"{arrow}({node_text(link.node)}{within})"
    return f"{arrow}({node_text(link.node)}){within}"


def _links(links: tuple[Link, ...]) -> str:
    """A bound on the last link alone would be read as one on the whole, so it goes into parentheses."""
    earlier = any(_bound(link) is not None or _node_span(link.node) for link in links[:-1])
    return " -> ".join([*(_link(link) for link in links[:-1]), _link(links[-1], alone=not earlier)])


def guard_text(guard: Guard) -> str:
    text = f"unless {_step(guard.step)}"
    if guard.start and guard.end:
        return f"{text} between {name_text(guard.start)} and {name_text(guard.end)}"
    return f"{text} after {name_text(guard.start)}" if guard.start else text


def pattern_text(pattern: Pattern, joint: str = " ") -> str:
    """The whole pattern as one bare expression with its operators; `joint` stands before each of them."""
    text = _operand(pattern.root)
    if pattern.every is not None:
        text = f"{pattern.every.value} ({text})"
    if _two_spans(pattern):
        text = f"{text if pattern.every else f'({text})'} within {duration_text(pattern.within or 0)}"
    parts = [text, *(guard_text(g) for g in pattern.guards)]
    return joint.join([" ".join(parts), *(f".{o}" for o in _operators(pattern))])


def _two_spans(pattern: Pattern) -> bool:
    """A group that is the whole pattern has a bound of its own: `.within` would take its place."""
    return pattern.within is not None and bool(_node_span(pattern.root))


def _operators(pattern: Pattern) -> list[str]:
    found = []
    if pattern.within is not None and not _two_spans(pattern):
        found.append(f"within({duration_text(pattern.within)})")
    if pattern.partition_by:
        found.append(f"partition_by({', '.join(expr_text(e) for e in pattern.partition_by)})")
    if pattern.where is not None:
        found.append(f"where({expr_text(pattern.where)})")
    if pattern.selection is not Selection.STAM:
        found.append(f"{pattern.selection.value}()")
    if pattern.emission is not None:
        found.append(f"{pattern.emission.value}({'eager: true' if pattern.eager else ''})")
    if pattern.skip != Skip():
        found.append(f"skip({_skip(pattern.skip)})")
    if pattern.limits != Limits():
        found.append(f"limit({_limits(pattern.limits)})")
    if pattern.timeouts:
        found.append("timeouts()")
    if pattern.trends is not None:
        found.append(f"trend_aggregate({_trends(pattern.trends)})")
    return found


def _skip(skip: Skip) -> str:
    return skip.to.value if skip.alias is None else f"{skip.to.value}({name_text(skip.alias)})"


def _limits(limits: Limits) -> str:
    default, parts = Limits(), []
    for name in ("max_runs", "max_matches", "max_buffer"):
        if getattr(limits, name) != getattr(default, name):
            parts.append(f"{name}: {getattr(limits, name)}")
    if limits.on_limit is not OnLimit.ERROR:
        parts.append(f"on_limit: {limits.on_limit.value}")
    return ", ".join(parts)


def _trends(trends: Trends) -> str:
    parts = []
    for column in trends.columns:
        argument = ".".join(name_text(n) for n in (column.alias, *column.path) if n is not None)
        parts.append(f"{name_text(column.name)}: {column.function}({argument})")
    if trends.rows is not TrendRows.CHANGE:
        parts.append(f"rows: {trends.rows.value}")
    return ", ".join(parts)


def stream_text(stream: Stream, joint: str = " ") -> str:
    """A stream declaration."""
    text = f"stream {name_text(stream.name)} = {pattern_text(stream.pattern, joint)}"
    if stream.outputs is not None:
        text += f"{joint}.emit({_columns(stream.outputs)})"
    if stream.forecast is not None:
        text += _forecast(stream.forecast, joint)
    return text


def _columns(outputs: tuple[Output, ...]) -> str:
    return ", ".join(f"{name_text(o.name)}: {expr_text(o.expr)}" for o in outputs)


def _forecast(forecast: Forecast, joint: str) -> str:
    """Its own condition and columns stand after it."""
    default, parts = Forecast(), []
    if forecast.horizon is not None:
        parts.append(f"horizon: {duration_text(forecast.horizon)}")
    for name in ("events", "confidence", "warmup", "max_depth", "change", "interval"):
        if getattr(forecast, name) != getattr(default, name):
            parts.append(f"{name}: {_literal(getattr(forecast, name))[0]}")
    parts += ["model: key"] if forecast.per_key else []
    parts += ["learn: false"] if not forecast.learn else []
    text = f"{joint}.forecast({', '.join(parts)})"
    text += f"{joint}.where({expr_text(forecast.where)})" if forecast.where is not None else ""
    return text + (f"{joint}.emit({_columns(forecast.outputs)})" if forecast.outputs is not None else "")


def event_text(event: EventType) -> str:
    fields = ", ".join(f"{name_text(n)}: {_type(t)}" for n, t in event.fields)
    return f"event {name_text(event.name)} {{ {fields} }}"


def _type(kind: Type) -> str:
    return f"[{_type(kind.item)}]" if kind.item is not None else kind.name


def html_text(pattern: object) -> str:
    """A pattern as notebooks show it: its text."""
    return f'<pre class="cepheid-pattern">{html.escape(str(pattern))}</pre>'


def program_text(program: Declarations, joint: str = " ") -> str:
    """A whole program; with a line break as `joint` every operator stands in a line of its own."""
    lines = [event_text(e) for e in program.events]
    lines += [f"pattern {name_text(p.name or '')} = {pattern_text(p)}" for p in program.patterns]
    return "\n".join(lines + [stream_text(s, joint) for s in program.streams]) + "\n"


__all__ = [
    "column_name",
    "expr_text",
    "guard_text",
    "name_text",
    "node_text",
    "pattern_text",
    "html_text",
    "program_text",
    "stream_text",
]
