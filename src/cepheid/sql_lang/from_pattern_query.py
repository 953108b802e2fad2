"""One FROM PATTERN query to a stream: its pattern, its clauses, how it starts again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Tree

from cepheid.errors import PatternMistake
from cepheid.lang.expressions import read_name
from cepheid.lang.patterns import Draft
from cepheid.lang.source import Source
from cepheid.pattern.expr import Expr, conjunction
from cepheid.pattern.model import Emission, Every, Pattern, Selection, Skip, SkipTo, Stream
from cepheid.pattern.resolve import resolve_stream
from cepheid.sql_lang.from_pattern_select import read_select
from cepheid.sql_lang.from_pattern_steps import StepReader

_NAMELESS = "matches"  # as a bare pattern of the language
_CLAUSES = {"whole_within": "WITHIN", "partition": "PARTITION BY", "condition": "WHERE"}


def read_from_query(tree: Any, source: Source) -> Stream:
    _, mode, body, clauses, select, insert = tree.children
    strict = str(mode.children[0]).lower() == "sequence"
    reader = StepReader(source, strict)
    draft = reader.pattern(body)
    _read_clauses(draft, clauses.children, reader)
    name = read_name(insert.children[-1]) if insert is not None else _NAMELESS
    pattern = Pattern(
        draft.node,
        within=draft.within,
        partition_by=draft.partition_by,
        where=conjunction(draft.where),
        name=name,
        place=source.place(tree),
    )
    pattern = _adjacent(pattern) if strict else replace(pattern, every=draft.every or Every.FIRST)
    outputs = read_select(select, pattern.root, source) if select is not None else None
    place = source.place(insert.children[-1] if insert is not None else tree.children[0])
    return resolve_stream(Stream(name, pattern, outputs, place=place))


def _adjacent(pattern: Pattern) -> Pattern:
    """FROM SEQUENCE: neighbours only. As in a PATTERN an event is in one match, and a count takes all it can."""
    return replace(
        pattern, selection=Selection.STRICT, emission=Emission.LONGEST, skip=Skip(SkipTo.PAST_LAST)
    )


def _read_clauses(draft: Draft, clauses: list[Any], reader: StepReader) -> None:
    seen: set[str] = set()
    for clause in clauses:
        if clause.data in seen:
            word = _CLAUSES[clause.data]
            raise PatternMistake(
                f"the query has two {word}",
                code="two_clauses",
                place=reader.source.place(clause),
                hint="keep one" if clause.data == "whole_within" else f"put all of it into one {word}",
            )
        seen.add(clause.data)
        if clause.data == "whole_within":
            _bound(draft, clause, reader)
        else:
            values: tuple[Expr, ...] = tuple(reader.expr(e) for e in clause.children if isinstance(e, Tree))
            if clause.data == "partition":
                draft.partition_by = values
            else:
                draft.where += values


def _bound(draft: Draft, clause: Any, reader: StepReader) -> None:
    if draft.within is not None:
        raise PatternMistake(
            "the whole pattern has two bounds",
            code="two_bounds",
            place=reader.source.place(clause),
            hint="the WITHIN at the end of the parentheses is the whole pattern's too: keep one of them",
        )
    draft.within = reader.duration(clause.children[1])
