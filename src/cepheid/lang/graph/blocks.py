"""Blocks: stages, windows, relations, computed variables, tests, and what is said of the pattern as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.errors import PatternMistake
from cepheid.lang.expressions import read_expression, read_name, read_string
from cepheid.lang.graph.clauses import read_clauses, read_variable
from cepheid.lang.source import Source
from cepheid.pattern.duration import duration
from cepheid.pattern.expr import Literal
from cepheid.pattern.graph_pattern import (
    UNLESS_NODE,
    Allen,
    Block,
    Concurrent,
    Let,
    Relation,
    Stage,
    Unless,
    Window,
)


@dataclass(frozen=True)
class Options:
    """What is said of a whole pattern."""

    deadline: int | None = None
    within: int | None = None
    metadata: dict[str, object] = field(default_factory=dict)

    def said(self) -> Iterator[str]:
        """The bounds that there are."""
        yield from ("deadline",) if self.deadline is not None else ()
        yield from ("within",) if self.within is not None else ()


_OPTIONS = ("deadline", "span", "metadata")


def read_block(tree: Any, source: Source) -> tuple[Block, Options]:
    items = {kind: [t for t in tree.children if t.data == kind] for kind in _KINDS}
    block = Block(
        tuple(_part(t, source) for t in tree.children if t.data in ("stage", "concurrent")),
        tuple(_unless(t, source) for t in items["unless"]),
        tuple(_relation(t, source) for t in items["relation"]),
        tuple(_let(t, source) for t in items["let"]),
        tuple(read_expression(t.children[1], source) for t in items["condition"]),
        place=source.place(tree),
    )
    return block, read_options([t for t in tree.children if t.data in _OPTIONS], source)


_KINDS = ("unless", "relation", "let", "condition")


def _part(tree: Any, source: Source) -> Stage | Concurrent:
    if tree.data == "stage":
        return _stage(tree, source)
    stages = tuple(_stage(t, source) for t in tree.children[1:])
    return Concurrent(stages, place=source.place(tree))


def _stage(tree: Any, source: Source) -> Stage:
    _, name_tree, of, clauses = tree.children
    name = read_name(name_tree)
    anchor = _anchor(of, name)
    return Stage(name, anchor, read_clauses(clauses, anchor, source), place=source.place(name_tree))


def _anchor(of: Any, default: str) -> str:
    return default if of is None else read_variable(of.children[1])


def _unless(tree: Any, source: Source) -> Unless:
    word, window, of, clauses = tree.children
    anchor = _anchor(of, UNLESS_NODE)
    made = Unless(anchor, read_clauses(clauses, anchor, source), place=source.place(word))
    if window is None:
        return made
    if window.data == "anywhere":
        return replace(made, window=Window.GLOBAL)
    names = [read_name(c) for c in window.children if getattr(c, "data", None) == "name"]
    if window.data == "after":
        return replace(made, window=Window.AFTER, start=names[0])
    return replace(made, window=Window.BETWEEN, start=names[0], end=names[1])


def _relation(tree: Any, source: Source) -> Relation:
    left, kind, right, _, gap = tree.children
    low, high = (None, None) if gap is None else _gap(gap, source)
    allen = Allen(str(kind).lower())
    return Relation(read_name(left), allen, read_name(right), low, high, place=source.place(tree))


def _gap(tree: Any, source: Source) -> tuple[int | None, int | None]:
    bounds = [
        None if c is None else _duration(c, source) for c in tree.children if getattr(c, "type", "") != "DOTS"
    ]
    if tree.data == "exactly_by":
        return bounds[0], bounds[0]
    return (None, bounds[0]) if tree.data == "up_to_by" else (bounds[0], bounds[1])


def _let(tree: Any, source: Source) -> Let:
    _, name, _, value = tree.children
    return Let(read_variable(name), read_expression(value, source), place=source.place(name))


# What is said of the whole.


def read_options(trees: list[Any], source: Source) -> Options:
    options = Options()
    seen: set[str] = set()
    for tree in trees:
        if tree.data in seen:
            raise PatternMistake(
                f"`{tree.children[0]}` is said twice",
                code="said_twice",
                place=source.place(tree),
                hint="keep one",
            )
        seen.add(tree.data)
        options = _with_option(options, tree, source)
    return options


def _with_option(options: Options, tree: Any, source: Source) -> Options:
    if tree.data == "deadline":
        return replace(options, deadline=int(tree.children[1]))
    if tree.data == "span":
        return replace(options, within=_duration(tree.children[1], source))
    entries: dict[str, object] = {}
    for entry in tree.children[1:]:
        name, value = read_name(entry.children[0]), read_expression(entry.children[1], source)
        if not isinstance(value, Literal):
            raise PatternMistake(
                f"`{name}` is no constant",
                code="bad_meta",
                place=value.place,
                hint='what `meta` says is a text, a number, true, false or null: meta severity: "high"',
            )
        entries[name] = value.value
    return replace(options, metadata=entries)


def _duration(tree: Any, source: Source) -> int:
    token = tree.children[0]
    place = source.place(token)
    if token.type == "STRING":
        return duration(read_string(token, source), place)
    if token.type in ("NUMBER", "INT"):
        raise PatternMistake(
            f"`{token}` has no unit of time",
            code="bad_duration",
            place=place,
            hint=f"write {token}s or {token}m",
        )
    return duration(str(token), place)
