"""What could be written at a place: the grammar says which words, the text which names.

A word that nobody would write is put at the place, and the role it gets there says what is wanted. That works in a
text that is not finished, and that is wrong elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.editor.declared import Declared
from cepheid.editor.hovering import GRAPH_KEYWORDS
from cepheid.editor.knowledge import AGGREGATES, ARGUMENTS, KEYWORDS, OPERATORS, TYPES, function_told
from cepheid.editor.roles import Marked, Reading, Role, read_roles
from cepheid.editor.statements import (
    DECLARING,
    Language,
    Statement,
    language_of,
    plain,
    read_statements,
    statement_at,
)
from cepheid.lang.parser import what_may_follow
from cepheid.lang.words import split_words
from cepheid.pattern.functions import FUNCTIONS
from cepheid.pattern.text import name_text

_HERE = "cepheid_is_asked_here"
_PARTIAL = re.compile(r"[^\W\d]\w*\Z")
_QUIET = re.compile(
    r"""(#|//)[^\n]*\Z|/\*(?:(?!\*/).)*\Z|"(?:\\.|[^"\\\n])*\Z|'(?:\\.|[^'\\\n])*\Z""", re.DOTALL
)
_DURATIONS = ("5s", "1m", "30m", "1h", "1d")


@dataclass(frozen=True)
class Item:
    """A completion: what it is called, what kind it is, how it is used, what is written."""

    label: str
    kind: str  # keyword, function, operator, alias, field, event, stream, pattern, type, value
    detail: str = ""
    told: str = ""
    insert: str | None = None


@dataclass(frozen=True)
class Scene:
    """The place: the role a word would have there, what the grammar allows, and the statement so far."""

    declared: Declared
    statement: Statement
    marked: Marked | None
    reading: Reading
    allowed: frozenset[str]
    dotted: bool


def completions(declared: Declared, offset: int) -> list[Item]:
    """Everything that could be written there; the editor leaves out what does not fit the beginning of a word."""
    head = declared.text[:offset]
    if _is_quiet(head):
        return []
    head = head[: len(head) - len(_partial(head))]
    language = language_of(declared.text)
    if language is Language.GRAPH:
        return [Item(word, "keyword", *told) for word, told in GRAPH_KEYWORDS.items()]
    if language is Language.QUERIES:
        return []
    return list(dict.fromkeys(_items(_scene(declared, head))))


def _is_quiet(head: str) -> bool:
    """In a comment or in a string?"""
    last = max((w.end for w in split_words(head) if not w.kind.startswith("open")), default=0)
    return _QUIET.search(head, last) is not None


def _partial(head: str) -> str:
    """The beginning of a name that is being written, with the back quote it may begin with."""
    words = split_words(head)
    if words and words[-1].kind == "open_quote":
        return head[words[-1].start :]
    found = _PARTIAL.search(head)
    return found[0] if found else ""


def _scene(declared: Declared, head: str) -> Scene:
    dotted = head.rstrip().endswith(".")
    statement = statement_at(read_statements(head + _HERE), len(head))
    assert statement is not None
    reading = read_roles(statement, declared.patterns)
    marked = next((m for m in reading.marked if plain(m.word) == _HERE), None)
    before = head[statement.start : len(head.rstrip()) - 1] if dotted else head[statement.start :]
    return Scene(declared, statement, marked, reading, _allowed(before, statement), dotted)


def _allowed(before: str, statement: Statement) -> frozenset[str]:
    """By the grammar; where the text before is wrong, by its last step alone."""
    bare = statement.kind == "query"
    found = what_may_follow(before, bare=bool(bare and before.strip()))
    if found is not None:
        return found | _declarations(before)
    last = before.rfind("->")
    return (what_may_follow("stream S = A ->" + before[last + 2 :]) if last >= 0 else None) or frozenset()


def _declarations(before: str) -> frozenset[str]:
    return frozenset() if before.strip() else frozenset(word.upper() for word in DECLARING)


def _items(scene: Scene) -> Iterator[Item]:
    role = scene.marked.role if scene.marked is not None else None
    if role in (Role.ALIAS, Role.FIELD_DECLARED, Role.DECLARED, Role.COLUMN) and not _is_start(scene):
        return
    if role is Role.TYPE:
        yield from (Item(name, "type") for name in TYPES)
        return
    if scene.dotted:
        yield from _after_dot(scene)
        return
    if role is Role.STEP_TYPE:
        yield from _step_types(scene)
    elif role is Role.ALIAS_USE:
        yield from _aliases(scene)
    elif role is Role.FIELD:
        yield from _values(scene)
    yield from _keywords(scene)


def _is_start(scene: Scene) -> bool:
    return "STREAM" in scene.allowed


def _after_dot(scene: Scene) -> Iterator[Item]:
    marked = scene.marked
    if marked is not None and marked.role is Role.FIELD and marked.step is not None and not marked.path:
        yield from _fields(scene, marked)
        if marked.step.repeated:
            yield Item("LEN", "field", "int", "how many events the closure took")
        return
    if "OP" in scene.allowed:
        for name, (usage, told) in OPERATORS.items():
            yield Item(name, "operator", usage, told, f"{name}(")


def _step_types(scene: Scene) -> Iterator[Item]:
    for statement in scene.declared.statements:
        if statement.name is not None and statement.title != scene.statement.title:
            text = scene.declared.text[statement.start : statement.end]
            yield Item(statement.title, statement.kind, _one_line(text), "", name_text(statement.title))
    known = {s.title for s in scene.declared.statements}
    for name in scene.declared.steps_types():
        if name not in known and name != _HERE:
            yield Item(name, "event", "a type of events", "", name_text(name))


def _aliases(scene: Scene) -> Iterator[Item]:
    for step in (*scene.reading.borrowed, *scene.reading.steps):
        if step.name is not None and step.name != _HERE:
            kind = plain(step.type)
            detail = f"list of {kind}" if step.repeated else kind
            yield Item(step.name, "alias", detail, "", name_text(step.name))


def _values(scene: Scene) -> Iterator[Item]:
    marked = scene.marked
    assert marked is not None
    words = ARGUMENTS.get(marked.operator)
    if words is not None:
        yield from (Item(word, "value", f".{marked.operator}") for word in words)
        if marked.operator != "skip":
            return
    elif scene.allowed and not {"NUMBER", "CASE"} <= scene.allowed:
        return  # a value stands there already
    if marked.step is not None:
        yield from _fields(scene, marked)
    yield from _aliases(scene)
    if words is not None:
        return
    for name in (*FUNCTIONS, *AGGREGATES):
        signature, told = function_told(name) or ("", "")
        yield Item(name, "function", signature, told, f"{name}(")


def _fields(scene: Scene, marked: Marked) -> Iterator[Item]:
    assert marked.step is not None
    for name, kind in scene.declared.fields_of(marked.step).items():
        yield Item(name, "field", kind, f"of {plain(marked.step.type)}", name_text(name))


def _keywords(scene: Scene) -> Iterator[Item]:
    for terminal in sorted(scene.allowed):
        word = terminal.lower()
        if word in KEYWORDS:
            usage, told = KEYWORDS[word]
            written = {"partition": "partition by", "is": "is null"}.get(word, word)
            yield Item(written, "keyword", usage, told)
    if "DURATION" in scene.allowed and "CASE" not in scene.allowed:
        yield from (Item(text, "value", "a duration") for text in _DURATIONS)


def _one_line(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= 80 else shown[:77] + "..."
