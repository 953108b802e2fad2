"""Where a name under the pointer is defined: aliases, streams, patterns, events, fields of events."""

from __future__ import annotations

from cepheid.editor.declared import Declared
from cepheid.editor.roles import Marked, Role
from cepheid.editor.statements import Statement, plain, statement_at
from cepheid.lang.words import Word


def definition_at(declared: Declared, offset: int) -> Word | None:
    statement = statement_at(declared.statements, offset)
    if statement is None:
        return None
    if statement.kind == "graph pattern":
        return _in_graph(declared, statement, offset)
    marked = declared.reading(statement).at(offset)
    return None if marked is None else _definition(declared, marked)


def _definition(declared: Declared, marked: Marked) -> Word | None:
    name = plain(marked.word)
    match marked.role:
        case Role.ALIAS | Role.ALIAS_USE:
            return None if marked.step is None else marked.step.alias
        case Role.STEP_TYPE:
            return _name_of(declared.named(name, "pattern") or declared.named(name, "event", "stream"))
        case Role.DECLARED:
            return marked.word
        case Role.FIELD if marked.step is not None and not marked.path:
            return _field(declared, plain(marked.step.type), name)
    return None


def _name_of(statement: Statement | None) -> Word | None:
    return None if statement is None else statement.name


def _field(declared: Declared, kind: str, name: str) -> Word | None:
    """The line of the declaration, or of `.emit`, that names the field."""
    statement = declared.named(kind, "event") or declared.named(kind, "stream")
    if statement is None:
        return None
    wanted = Role.FIELD_DECLARED if statement.kind == "event" else Role.COLUMN
    marked = declared.reading(statement).marked
    return next((m.word for m in marked if m.role is wanted and plain(m.word) == name), None)


def _in_graph(declared: Declared, statement: Statement, offset: int) -> Word | None:
    """A stage of the same pattern, or another pattern."""
    words = statement.words
    here = next((w for w in words if w.start <= offset <= w.end and w.kind in ("name", "quoted")), None)
    if here is None:
        return None
    stages = [words[i + 1] for i in range(len(words) - 1) if words[i].lower == "stage"]
    stage = next((w for w in stages if plain(w) == plain(here)), None)
    return stage or _name_of(declared.named(plain(here), "graph pattern"))
