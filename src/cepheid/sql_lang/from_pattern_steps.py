"""The steps of a FROM PATTERN query: its own spellings become those of the language, whose reader does the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lark import Token, Tree

from cepheid.errors import PatternMistake, SyntaxMistake
from cepheid.lang.expressions import read_name, read_string
from cepheid.lang.patterns import Draft, PatternReader
from cepheid.lang.source import Source
from cepheid.pattern.duration import duration
from cepheid.pattern.model import Absence, Link, Node, Sequence


class StepReader(PatternReader):
    """Reads what stands in the parentheses of FROM PATTERN or, `strict`, of FROM SEQUENCE."""

    def __init__(self, source: Source, strict: bool) -> None:
        super().__init__(source, {})
        self.strict = strict

    def sequence(self, tree: Any) -> Draft:
        self._no_commas(tree)
        links = [part for link in tree.children if isinstance(link, Tree) for part in self._parts(link)]
        return super().sequence(Tree("sequence", links, tree.meta))

    def _no_commas(self, tree: Any) -> None:
        comma = next((t for t in tree.children if isinstance(t, Token) and t.type == "COMMA"), None)
        if comma is not None and not self.strict:
            raise SyntaxMistake(
                "in a PATTERN an arrow stands between steps, not a comma",
                code="comma_for_arrow",
                place=self.source.place(comma),
                hint="write ->, or FROM SEQUENCE for steps that follow each other directly",
            )

    def _parts(self, link: Any) -> list[Any]:
        """`not X and e=B` is no X until B: an absence, and then the event."""
        body, within = link.children
        operands = list(_all_of(body))
        absences = [o for o in operands if o.data == "absence"]
        if not absences or len(operands) == 1:
            return [link]
        events = [o for o in operands if o.data != "absence"]
        if len(events) != 1:
            raise PatternMistake(
                "`not` is joined by `and` with one event",
                code="absence_operand",
                place=self.source.place(absences[0]),
                hint="write `not X and e=A -> ...`; several in a row: `not X and not Y and e=A`",
            )
        return [*(_link(a) for a in absences), _link(events[0], within)]

    def link(self, tree: Any, first: bool, only: bool) -> tuple[Link, int | None, Draft]:
        return super().link(Tree("link", [None, *tree.children], tree.meta), first, only)

    # Nodes: the names of the methods are those of the rules.

    def _both(self, tree: Any) -> Draft:
        return self._joined("AND", tree)

    def _either(self, tree: Any) -> Draft:
        return self._joined("OR", tree)

    def _joined(self, word: str, tree: Any) -> Draft:
        operands = [Tree("sequence", [_link(o)], o.meta) for o in tree.children if isinstance(o, Tree)]
        return self._logical(Tree("logical", [Token(word, word), *operands], tree.meta))

    def _logical(self, tree: Any) -> Draft:
        draft = super()._logical(tree)
        for operand in draft.node.children():
            loose = _loose_absence(operand)
            if loose is not None:
                raise PatternMistake(
                    f"NOT at the edge of an operand of {str(tree.children[0]).upper()}",
                    code="absence_operand",
                    place=loose.place,
                    hint="`not X and e=B` is for one event; alternatives with a NOT are queries of their own",
                )
        return draft

    def _absence(self, tree: Any) -> Draft:
        word, body, bound = tree.children
        draft = super()._absence(Tree("absence", [word, None, body], tree.meta))
        if bound is None:
            return draft
        assert isinstance(draft.node, Absence)
        return replace(draft, node=replace(draft.node, within=self.duration(bound.children[1])))

    def _every(self, tree: Any) -> Draft:
        word, body = tree.children
        if self.strict:
            raise PatternMistake(
                "EVERY cannot stand in a SEQUENCE",
                code="every_strict",
                place=self.source.place(tree),
                hint="leave it out: a SEQUENCE may start at any event; or write FROM PATTERN",
            )
        return super()._every(Tree("every", [word, None, body], tree.meta))

    def duration(self, tree: Any) -> int:
        """Also `INTERVAL '5' SECOND`, `INTERVAL '5 seconds'`, `INTERVAL 5 SECOND`."""
        if tree.data != "interval":
            return super().duration(tree)
        _, value, *unit = tree.children
        text = read_string(value, self.source) if value.type == "STRING" else str(value)
        return duration(" ".join([text, *map(read_name, unit)]), self.source.place(tree))


def _link(body: Any, within: Any = None) -> Tree[Any]:
    return Tree("link", [body, within], body.meta)


def _all_of(body: Any) -> Iterator[Any]:
    """The operands of an `and`, however it is written; anything else is one operand."""
    if body.data == "both":
        yield from (o for o in body.children if isinstance(o, Tree))
    elif body.data == "logical" and body.children[0].type == "AND":
        for operand in body.children[1:]:
            yield _only_node(operand) or operand
    else:
        yield body


def _only_node(operand: Any) -> Any:
    """The node of an operand that is one step without a bound; else None."""
    link = operand.children[0]
    return link.children[0] if len(operand.children) == 1 and link.children[1] is None else None


def _loose_absence(operand: Node) -> Node | None:
    edges = (operand,)
    if isinstance(operand, Sequence):
        edges = (operand.links[0].node, operand.links[-1].node)  # type: ignore[assignment]
    return next((n for n in edges if isinstance(n, Absence)), None)
