"""`graph pattern NAME ...`: declarations in any order, each of stages or of other patterns."""

from __future__ import annotations

from typing import Any

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.lang.expressions import read_name
from cepheid.lang.graph.blocks import Options, read_block, read_options
from cepheid.lang.graph.compositions import CompositionReader
from cepheid.lang.source import Source
from cepheid.pattern.graph_pattern import Body, GraphPattern


def read_declarations(tree: Any, source: Source) -> tuple[GraphPattern, ...]:
    declared = _Declared(tree.children, source)
    return tuple(declared.pattern(name) for name in declared.trees)


class _Declared:
    """Patterns by name, read when first asked for."""

    def __init__(self, trees: list[Any], source: Source) -> None:
        self.source = source
        self.trees: dict[str, Any] = {}
        for tree in trees:
            name = read_name(tree.children[3])
            if name in self.trees:
                raise PatternMistake(
                    f"there are two graph patterns called `{name}`",
                    code="duplicate_name",
                    place=source.place(tree.children[3]),
                    hint="rename one of them",
                )
            self.trees[name] = tree
        self._read: dict[str, GraphPattern] = {}
        self._open: list[str] = []

    def pattern(self, name: str) -> GraphPattern:
        if name not in self._read:
            self._open.append(name)
            self._read[name] = self._pattern(name, self.trees[name])
            self._open.pop()
        return self._read[name]

    def _pattern(self, name: str, tree: Any) -> GraphPattern:
        private, _, _, name_tree, *rest = tree.children
        place = self.source.place(name_tree)
        body: Body
        if tree.data == "of_block":
            body, options = read_block(rest[0], self.source)
        else:
            body = CompositionReader(self.source, self.body).composition(rest[1])
            options = read_options(rest[2:], self.source)
        return GraphPattern(
            name,
            body,
            deadline=options.deadline,
            within=options.within,
            metadata=options.metadata,
            private=private is not None,
            place=place,
        )

    def body(self, name: str, place: Place | None) -> Body:
        """What a composition takes of a pattern it names."""
        if name not in self.trees:
            raise PatternMistake(
                f"there is no graph pattern `{name}`",
                code="unknown_pattern",
                place=place,
                hint=nearest(name, list(self.trees)) or "patterns are made of patterns of the same text",
            )
        if name in self._open:
            chain = " -> ".join([*self._open[self._open.index(name) :], name])
            raise PatternMistake(
                f"the graph pattern `{name}` is made of itself ({chain})",
                code="pattern_cycle",
                place=place,
                hint="for more than one round write `* 2..`",
            )
        pattern = self.pattern(name)
        _only_body(pattern, place)
        return pattern.body


def _only_body(pattern: GraphPattern, place: Place | None) -> None:
    """A bound of a part would be lost without a word."""
    options = Options(pattern.deadline, pattern.within)
    for said in options.said():
        raise PatternMistake(
            f"`{pattern.name}` has a `{said}` of its own, which bounds a whole pattern and no part of one",
            code="bound_of_part",
            place=place,
            hint=f"say `{said}` of the composition, and make `{pattern.name}` of a private pattern without it",
        )
