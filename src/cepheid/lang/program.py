"""Programs: declarations in any order, patterns used by name, streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Tree

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.lang.expressions import read_name
from cepheid.lang.operators import apply_operator, read_operator
from cepheid.lang.patterns import PatternReader
from cepheid.lang.source import Source
from cepheid.pattern.expr import conjunction
from cepheid.pattern.model import Declarations, EventType, Pattern, Stream
from cepheid.pattern.resolve import resolve_stream
from cepheid.pattern.types import BY_NAME, Type, list_of


def read_program(tree: Any, source: Source) -> Declarations:
    declared: dict[str, list[Any]] = {"event_decl": [], "pattern_decl": [], "stream_decl": []}
    for statement in tree.children:
        declared[statement.data].append(statement)
    for kind, trees in declared.items():
        _no_name_twice(kind.removesuffix("_decl"), trees, source)
    patterns = _NamedPatterns({_name(t): t for t in declared["pattern_decl"]}, source)
    return Declarations(
        events=tuple(_event(t, source) for t in declared["event_decl"]),
        patterns=tuple(patterns[_name(t)] for t in declared["pattern_decl"]),
        streams=tuple(
            read_stream(_name(t), t.children[2], source, patterns, place_of=t.children[1])
            for t in declared["stream_decl"]
        ),
    )


def read_stream(name: str, tree: Any, source: Source, named: Any, place_of: Any = None) -> Stream:
    """A pattern and its operators, resolved, as a stream."""
    stream = _unresolved(name, tree, source, named)
    if place_of is not None:
        stream = replace(stream, place=source.place(place_of))
    return resolve_stream(stream)


def _unresolved(name: str, tree: Any, source: Source, named: Any) -> Stream:
    draft = PatternReader(source, named).pattern(tree)
    base = draft.reference if draft.reference is not None and draft.reference.root == draft.node else None
    pattern = base or Pattern(draft.node)
    pattern = replace(
        pattern,
        within=draft.within,
        partition_by=draft.partition_by,
        where=conjunction(draft.where),
        guards=draft.guards,
        every=draft.every,
        name=name,
        place=source.place(tree),
    )
    stream = Stream(name, pattern, place=source.place(tree))
    for operator in draft.operators:
        stream = apply_operator(stream, read_operator(operator, source))
    return stream


class _NamedPatterns(dict[str, Pattern]):
    """Patterns by name, read when first asked for, so that they may stand in any order."""

    def __init__(self, trees: dict[str, Any], source: Source) -> None:
        super().__init__()
        self._trees, self._source, self._open = trees, source, []  # type: ignore[var-annotated]

    def __contains__(self, name: object) -> bool:
        return name in self._trees

    def __missing__(self, name: str) -> Pattern:
        tree = self._trees[name]
        if name in self._open:
            chain = " -> ".join([*self._open[self._open.index(name) :], name])
            raise PatternMistake(
                f"pattern `{name}` is made of itself ({chain})",
                code="pattern_cycle",
                place=self._source.place(tree.children[1]),
                hint=f"if `{name}` is an event type there, give the pattern another name",
            )
        self._open.append(name)
        stream = _unresolved(name, tree.children[2], self._source, self)
        self._open.pop()
        self._only_pattern(stream, tree)
        self[name] = stream.pattern
        return stream.pattern

    def _only_pattern(self, stream: Stream, tree: Any) -> None:
        made = (stream.outputs, stream.forecast, stream.pattern.trends)
        if any(one is not None for one in made):
            raise PatternMistake(
                "a pattern has no output of its own",
                code="emit_in_pattern",
                place=self._output_place(tree),
                hint=f"write `stream {stream.name} = {stream.name} .emit(...)`",
            )

    def _output_place(self, tree: Any) -> Place | None:
        operators = (t for t in tree.iter_subtrees_topdown() if t.data == "op")
        output = (t for t in operators if t.children[0].strip(". (") in _OUTPUT)
        return self._source.place(next(output, tree.children[1]))


_OUTPUT = ("emit", "trend_aggregate", "forecast")


def _no_name_twice(kind: str, trees: list[Any], source: Source) -> None:
    seen: set[str] = set()
    for tree in trees:
        name = _name(tree)
        if name in seen:
            raise PatternMistake(
                f"there are two {kind}s called `{name}`",
                code="duplicate_name",
                place=source.place(tree.children[1]),
                hint="rename one of them",
            )
        seen.add(name)


def _name(tree: Any) -> str:
    return read_name(tree.children[1])


def _event(tree: Any, source: Source) -> EventType:
    trees = [f for f in tree.children[2:] if isinstance(f, Tree)]
    fields = tuple(_field(f, source) for f in trees)
    for i, (name, _) in enumerate(fields):
        if name in dict(fields[:i]):
            raise PatternMistake(
                f"`{_name(tree)}` has two fields called `{name}`",
                code="duplicate_field",
                place=source.place(trees[i].children[0]),
                hint="leave one of them out",
            )
    return EventType(_name(tree), fields, place=source.place(tree))


def _field(tree: Any, source: Source) -> tuple[str, Type]:
    return read_name(tree.children[0]), _type(tree.children[1], source)


def _type(tree: Any, source: Source) -> Type:
    if tree.data == "list_type":
        return list_of(_type(tree.children[0], source))
    name = read_name(tree.children[0])
    found = BY_NAME.get(name.lower())
    if found is None:
        raise PatternMistake(
            f"there is no type `{name}`",
            code="unknown_type",
            place=source.place(tree),
            hint=nearest(name, list(BY_NAME))
            or "the types are int, float, string, bool, timestamp, decimal, [type]",
        )
    return found
