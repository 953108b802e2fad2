"""The SELECT list: columns, the names they get, and `*`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lark import Tree

from cepheid.errors import PatternMistake, Place
from cepheid.lang.expressions import read_expression, read_name
from cepheid.lang.source import Source
from cepheid.pattern.expr import Field
from cepheid.pattern.model import Node, Output, list_aliases
from cepheid.pattern.text import expr_text


def read_select(tree: Any, root: Node, source: Source) -> tuple[Output, ...]:
    outputs: dict[str, Output] = {}
    for column in (c for c in tree.children if isinstance(c, Tree)):
        for output, place in _columns(column, root, source):
            if output.name in outputs:
                raise PatternMistake(
                    f"two columns are called `{output.name}`",
                    code="bad_argument",
                    place=place,
                    hint=f"give one a name: {expr_text(output.expr)} AS {output.name}_2",
                )
            outputs[output.name] = output
    return tuple(outputs.values())


def _columns(column: Any, root: Node, source: Source) -> Iterator[tuple[Output, Place | None]]:
    place = source.place(column)
    if column.data == "all_columns":
        yield from ((output, place) for output in _every_event(root, place))
        return
    value, _, alias = column.children
    expr = read_expression(value, source)
    name = read_name(alias) if alias is not None else _default_name(value)
    if name is None:
        raise PatternMistake(
            "this column has no name",
            code="bad_argument",
            place=place,
            hint=f"write {expr_text(expr)} AS name",
        )
    yield Output(name, expr), place


def _every_event(root: Node, place: Place | None) -> list[Output]:
    """`*`: the events of all names."""
    names = list_aliases(root)
    if not names:
        raise PatternMistake(
            "`*` is all events that have a name, and here none has one",
            code="nothing_selected",
            place=place,
            hint="name the steps: `e1=A -> e2=B`",
        )
    return [Output(name, Field(None, (name,), place=place)) for name in names]


def _default_name(value: Any) -> str | None:
    """The last name of a path; of a call its function's; a calculation has none."""
    if value.data == "path":
        return read_name(value.children[-1])
    names = [read_name(c) for c in value.children if isinstance(c, Tree) and c.data == "name"]
    if value.data == "element":
        return names[-1]
    if value.data != "call":
        return None
    whole_event = len(names) == 1 and names[0].lower() in ("first", "last")
    return (
        _default_name(value.children[1])
        if whole_event
        else names[-1].lower()
        if len(names) == 1
        else names[-1]
    )
