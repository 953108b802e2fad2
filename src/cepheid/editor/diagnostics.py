"""Everything that is wrong with a text, and what may surprise: our own errors, one for each declaration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cepheid.editor.statements import Language, Statement, language_of, plain, read_statements, statement_at
from cepheid.engines.graph.patterns import graph_patterns
from cepheid.engines.program import Program, compile, declarations_of
from cepheid.errors import CepheidError
from cepheid.explain.advice import warnings
from cepheid.explain.words import Names
from cepheid.lang.parser import is_blank
from cepheid.pattern.model import Declarations, Stream
from cepheid.pattern.resolve import resolve_stream

_MOST = 50


@dataclass(frozen=True)
class Problem:
    """Something to underline: from where to where in the text, what it is, what to do."""

    start: int
    end: int
    message: str
    code: str
    hint: str | None = None
    warning: bool = False


def problems(text: str) -> list[Problem]:
    """
    >>> [(p.code, text[p.start:p.end]) for text in ["stream S = A[x >]"] for p in problems(text)]
    [('missing_value', ']')]
    """
    if is_blank(text):
        return []
    checks: dict[Language, Callable[[str], Iterable[Problem]]] = {
        Language.GRAPH: _graph_advice,
        Language.QUERIES: _advice,
        Language.PATTERNS: _advice,
    }
    return sorted(_all_mistakes(text, checks[language_of(text)]), key=lambda p: (p.start, p.warning))


def _all_mistakes(text: str, check: Callable[[str], Iterable[Problem]]) -> Iterator[Problem]:
    """After a mistake its declaration is left out, and the rest is read again."""
    rest = text
    for _ in range(_MOST):
        try:
            yield from check(rest)
            return
        except CepheidError as mistake:
            problem = _problem(mistake, text)
            yield problem
        statements = read_statements(rest)
        wrong = statement_at(statements, problem.start)
        if wrong is None:
            return
        for statement in _with_dependent(wrong, statements):
            rest = _blanked(rest, statement)
        if is_blank(rest):
            return


def _advice(text: str) -> list[Problem]:
    """Patterns that no stream uses are checked all the same."""
    declarations = declarations_of(text)
    program = compile(declarations) if declarations.streams else None
    for pattern in declarations.patterns:
        stream = resolve_stream(Stream(pattern.name or "pattern", pattern))
        compile(Declarations(events=declarations.events, streams=(stream,)))
    return [] if program is None else list(_warnings(text, program))


def _warnings(text: str, program: Program) -> Iterator[Problem]:
    for planned in program:
        place = planned.stream.place
        start, end = replace(place, text=text).span() if place is not None else (0, len(text.rstrip()))
        for said in warnings(planned.plan, Names(planned.plan)):
            yield Problem(start, end, said, "advice", None, True)


def _graph_advice(text: str) -> list[Problem]:
    graph_patterns(text)
    return []


def _with_dependent(wrong: Statement, statements: list[Statement]) -> list[Statement]:
    """A declaration, and what is made of it if it is a pattern: that cannot be judged without it."""
    found = [wrong]
    for statement in found:
        if statement.kind in ("pattern", "graph pattern"):
            found += [s for s in statements if s not in found and _uses(s, statement.title)]
    return found


def _uses(statement: Statement, name: str) -> bool:
    return any(word.kind in ("name", "quoted") and plain(word) == name for word in statement.words)


def _blanked(text: str, statement: Statement) -> str:
    """The text with blanks in the place of a declaration, so that all other places stay what they are."""
    start, limit = statement.start, statement.limit
    return text[:start] + re.sub(r"[^\n]", " ", text[start:limit]) + text[limit:]


def _problem(mistake: CepheidError, text: str) -> Problem:
    if mistake.place is None:
        start, end = 0, len(text.split("\n", 1)[0])
    else:
        start, end = replace(mistake.place, text=text).span()
    return Problem(start, end, mistake.message, mistake.code, mistake.hint)
