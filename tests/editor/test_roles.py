"""The forgiving reading and the real parser see the same: on every text that is right."""

from __future__ import annotations

import pytest
from editor_texts import pattern_texts

from cepheid.editor.roles import Role, read_roles
from cepheid.editor.statements import plain, read_statements
from cepheid.errors import CepheidError
from cepheid.lang.parser import parse_query
from cepheid.pattern.model import Declarations, Pattern, Step, walk_nodes


def steps_of(pattern: Pattern) -> list[tuple[str, str | None]]:
    inside = [n for n in walk_nodes(pattern.root) if isinstance(n, Step)]
    return [(s.type, s.alias) for s in (*inside, *(g.step for g in pattern.guards))]


def parsed(text: str) -> Declarations | None:
    try:
        return parse_query(text)
    except CepheidError:
        return None


def test_steps_and_aliases_are_those_of_the_parser() -> None:
    seen = 0
    for text in pattern_texts():
        declarations = parsed(text)
        if declarations is None or declarations.patterns:
            continue  # a pattern used by name brings steps that do not stand there
        statements = [s for s in read_statements(text) if s.kind in ("stream", "query")]
        assert len(statements) == len(declarations.streams), text
        for statement, stream in zip(statements, declarations.streams, strict=True):
            read = [(plain(s.type), s.name) for s in read_roles(statement).steps]
            assert sorted(map(str, read)) == sorted(map(str, steps_of(stream.pattern))), text
            seen += 1
    assert seen > 200


def test_declarations_are_those_of_the_parser() -> None:
    seen = 0
    for text in pattern_texts():
        declarations = parsed(text)
        if declarations is None:
            continue
        statements = read_statements(text)
        for kind, declared in (("event", declarations.events), ("pattern", declarations.patterns)):
            assert [s.title for s in statements if s.kind == kind] == [d.name for d in declared], text
            seen += len(declared)
        for event in declarations.events:
            statement = next(s for s in statements if s.kind == "event" and s.title == event.name)
            fields = [plain(m.word) for m in read_roles(statement).marked if m.role is Role.FIELD_DECLARED]
            assert fields == [name for name, _ in event.fields], text
    assert seen > 10


@pytest.mark.parametrize(
    "text", ["", "  # nothing", "stream", "stream S", "stream S =", "event E {", "(((", "->", "]"]
)
def test_anything_can_be_read(text: str) -> None:
    for statement in read_statements(text):
        read_roles(statement)


def test_every_beginning_of_every_text_can_be_read() -> None:
    """Somebody writes them letter by letter."""
    for text in pattern_texts()[::12]:
        for end in range(0, len(text), 3):
            for statement in read_statements(text[:end]):
                read_roles(statement)
