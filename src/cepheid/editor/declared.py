"""What a text declares, whole or unfinished: types of events with their fields, patterns, streams."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cepheid.editor.roles import Reading, Role, Step, read_roles
from cepheid.editor.statements import Statement, plain, read_statements
from cepheid.lang.words import Word

IMPLICIT = {"time": "timestamp", "type": "string"}
DEFAULT_COLUMNS = {"match_id": "string", "start": "timestamp", "end": "timestamp"}


@dataclass(frozen=True)
class Declared:
    """A text and everything that can be said of it without compiling it."""

    text: str
    statements: list[Statement]

    @cached_property
    def readings(self) -> list[Reading]:
        return [read_roles(s, self.patterns) for s in self.statements]

    @cached_property
    def patterns(self) -> dict[str, Statement]:
        return {s.title: s for s in self.statements if s.kind == "pattern"}

    def reading(self, statement: Statement) -> Reading:
        return self.readings[self.statements.index(statement)]

    def named(self, name: str, *kinds: str) -> Statement | None:
        """The first declaration of a name, of one of these kinds."""
        return next((s for s in self.statements if s.kind in kinds and s.title == name), None)

    def steps_types(self) -> list[str]:
        """Every type of events that a step names, once."""
        return list(dict.fromkeys(plain(s.type) for r in self.readings for s in r.steps))

    def fields(self, kind: str) -> dict[str, str]:
        """The fields of a type of events with their types; of a stream its columns; nothing if it is unknown."""
        statement = self.named(kind, "event") or self.named(kind, "stream")
        if statement is None:
            return {}
        if statement.kind == "event":
            return {**declared_fields(statement), **IMPLICIT}
        return {**self._columns(statement), **IMPLICIT}

    def fields_of(self, step: Step) -> dict[str, str]:
        return self.fields(plain(step.type))

    def _columns(self, statement: Statement) -> dict[str, str]:
        reading = self.reading(statement)
        emitted = [plain(m.word) for m in reading.marked if m.role is Role.COLUMN]
        if emitted:
            return dict.fromkeys(emitted, "")
        steps = (*reading.borrowed, *reading.steps)
        aliases = {s.name: _of_alias(s) for s in steps if s.name is not None}
        return {**DEFAULT_COLUMNS, **aliases}


def _of_alias(step: Step) -> str:
    return f"list of {plain(step.type)}" if step.repeated else plain(step.type)


def declared_fields(statement: Statement) -> dict[str, str]:
    """`event E { name: type, ... }`, as far as it is written."""
    found: dict[str, str] = {}
    words = statement.words
    for i, word in enumerate(words):
        if i < 2 or word.kind not in ("name", "quoted") or words[i - 1].text not in ("{", ","):
            continue
        found[plain(word)] = _type_after(words, i + 1)
    return found


def _type_after(words: tuple[Word, ...], at: int) -> str:
    if at >= len(words) or words[at].text != ":":
        return ""
    parts = []
    for word in words[at + 1 :]:
        if word.text in (",", "}") or word.kind not in ("name", "quoted", "sign"):
            break
        parts.append(word.text)
    return "".join(parts)


def read_declared(text: str) -> Declared:
    return Declared(text, read_statements(text))
