"""The outline of a text: its declarations, and in them fields, steps and stages."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.editor.declared import Declared
from cepheid.editor.roles import Role
from cepheid.editor.statements import Statement, plain
from cepheid.lang.words import Word


@dataclass(frozen=True)
class Symbol:
    """A name in the outline: what it is of, where all of it stands and where its name does."""

    name: str
    kind: str  # event, pattern, stream, graph pattern, field, step, stage
    start: int
    end: int
    word: Word
    children: tuple[Symbol, ...] = ()


def outline(declared: Declared) -> list[Symbol]:
    return [
        Symbol(s.title, s.kind, s.start, s.end, s.name, _inside(declared, s))
        for s in declared.statements
        if s.name is not None
    ]


def _inside(declared: Declared, statement: Statement) -> tuple[Symbol, ...]:
    if statement.kind == "graph pattern":
        words = statement.words
        stages = [words[i + 1] for i in range(len(words) - 1) if words[i].lower == "stage"]
        return tuple(_leaf(word, "stage") for word in stages if word.kind in ("name", "quoted"))
    reading = declared.reading(statement)
    if statement.kind == "event":
        return tuple(_leaf(m.word, "field") for m in reading.marked if m.role is Role.FIELD_DECLARED)
    return tuple(_leaf(s.alias, "step") for s in reading.steps if s.alias is not None)


def _leaf(word: Word, kind: str) -> Symbol:
    return Symbol(plain(word), kind, word.start, word.end, word)
