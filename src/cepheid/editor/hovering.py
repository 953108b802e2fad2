"""What is under the pointer, in a few lines of Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.editor.declared import Declared, declared_fields
from cepheid.editor.knowledge import KEYWORDS, OPERATORS, Told, function_told
from cepheid.editor.roles import Marked, Role, Step
from cepheid.editor.statements import Statement, plain, statement_at


@dataclass(frozen=True)
class Hover:
    """Markdown, and the stretch of the text it is about."""

    text: str
    start: int
    end: int


def hover_at(declared: Declared, offset: int) -> Hover | None:
    statement = statement_at(declared.statements, offset)
    if statement is None:
        return None
    marked = declared.reading(statement).at(offset)
    if marked is None:
        return _graph_keyword(statement, offset)
    told = _told(declared, statement, marked)
    return None if told is None else Hover(told, marked.word.start, marked.word.end)


def _told(declared: Declared, statement: Statement, marked: Marked) -> str | None:
    name = plain(marked.word)
    match marked.role:
        case Role.KEYWORD:
            return _usage(KEYWORDS.get(name.lower()))
        case Role.OPERATOR:
            return _usage(OPERATORS.get(name.lower()))
        case Role.FUNCTION:
            return _usage(function_told(name.lower()))
        case Role.DECLARED | Role.STEP_TYPE:
            return _named(declared, name)
        case Role.ALIAS | Role.ALIAS_USE:
            return None if marked.step is None else _alias(declared, name, marked.step)
        case Role.FIELD:
            return _field(declared, marked, name)
        case Role.FIELD_DECLARED:
            return f"`{name}: {declared_fields(statement).get(name, '')}` of `{statement.title}`"
        case Role.COLUMN:
            return f"`{name}`: a column of the matches of `{statement.title or 'this pattern'}`"
    return None


def _usage(told: Told | None) -> str | None:
    return None if told is None else f"```cepheid\n{told[0]}\n```\n{told[1]}"


def _named(declared: Declared, name: str) -> str:
    """An event type, a pattern or a stream: its declaration."""
    statement = declared.named(name, "event", "pattern", "stream", "graph pattern")
    if statement is None:
        return f"`{name}`: a type of events that the text does not declare"
    text = declared.text[statement.start : statement.end].strip()
    return f"```cepheid\n{text}\n```"


def _alias(declared: Declared, name: str, step: Step) -> str:
    kind = plain(step.type)
    what = f"the events of type `{kind}` of a closure" if step.repeated else f"one event of type `{kind}`"
    fields = declared.fields(kind)
    listed = "\n".join(f"- `{field}`{f': {of}' if of else ''}" for field, of in fields.items())
    return f"`{name}`: {what}" + (f"\n\n{listed}" if listed else "")


def _field(declared: Declared, marked: Marked, name: str) -> str | None:
    if marked.step is None:
        return None
    kind = plain(marked.step.type)
    if marked.path:
        return f"`{'.'.join((*marked.path, name))}` of `{kind}`"
    known = declared.fields(kind)
    if not known:
        return f"`{name}`: a field of `{kind}`, which the text does not declare"
    if name == "LEN" and marked.step.repeated:
        return "`LEN`: how many events the closure took"
    if name not in known:
        return f"`{kind}` declares no field `{name}`"
    return f"`{name}{f': {known[name]}' if known[name] else ''}` of `{kind}`"


def _graph_keyword(statement: Statement, offset: int) -> Hover | None:
    """Words that have no role, such as those of graph patterns."""
    for word in statement.words:
        if word.start <= offset <= word.end and word.kind == "name":
            told = _usage(GRAPH_KEYWORDS.get(word.lower) if statement.kind == "graph pattern" else None)
            return None if told is None else Hover(told, word.start, word.end)
    return None


GRAPH_KEYWORDS: dict[str, Told] = {
    "graph": (
        'graph pattern late { stage sent { .kind = "sent" } }',
        "A pattern of edges of a temporal graph.",
    ),
    "private": ("private graph pattern part { ... }", "Only there for other patterns to be made of."),
    "stage": ('stage sent of ?o { .kind = "sent" }', "Edges that hold together at one time."),
    "of": ("stage sent of ?o { ... }", "The node whose edges these are."),
    "concurrent": ("concurrent { stage a {...} stage b {...} }", "Stages in any order."),
    "unless": ("unless between a and b { ... }", "No such edges there."),
    "let": ("let ?x = ?a + 1", "Gives a value a name."),
    "deadline": ("deadline 3 ticks", "After so many ticks a thread is given up."),
    "meta": ('meta level: "high"', "Facts about the pattern that its matches carry."),
    "sharing": ("a then b sharing ?x", "Variables that the parts have in common."),
    "xor": ("a xor b", "Exactly one of the parts."),
    "then": ("a then b", "One part after the other."),
}
