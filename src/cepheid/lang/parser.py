"""Text in, model out: the three entrances of the language."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from importlib import resources

from lark import Lark, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from cepheid.errors import Place
from cepheid.lang.expressions import read_expression
from cepheid.lang.mistakes import explain_mistake
from cepheid.lang.program import read_program, read_stream
from cepheid.lang.source import Source
from cepheid.pattern.expr import Expr
from cepheid.pattern.model import Declarations, Stream

_COMMENTS = re.compile(r"(?:\s+|#[^\n]*|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DECLARATION = re.compile(
    r"(event|pattern|stream)\s+(?!(?:as|where|until|within|partition|unless)\b)(?:[^\W\d]\w*|`)",
    re.IGNORECASE,
)


@cache
def _parser() -> Lark:
    grammar = resources.files("cepheid.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=["program", "query", "expression"],
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse_program(text: str, source: str = "query") -> Declarations:
    """A whole program: `event`, `pattern` and `stream` declarations."""
    return read_program(_tree(text, "program", source), Source(text, source))


def parse_query(text: str, source: str = "query", name: str = "matches") -> Declarations:
    """A program, or a bare pattern expression, which becomes a program of one stream."""
    if is_program(text) and not is_blank(text):
        return parse_program(text, source)
    return Declarations(streams=(parse_pattern(text, source, name),))


def parse_pattern(text: str, source: str = "query", name: str = "matches") -> Stream:
    """A bare pattern expression with its operators."""
    tree = _tree(text, "query", source)
    return read_stream(name, tree.children[0], Source(text, source), {})


def parse_expression(text: str, source: str = "expression") -> Expr:
    """An expression, names not yet resolved."""
    return read_expression(_tree(text, "expression", source).children[0], Source(text, source))


def is_program(text: str) -> bool:
    """Does the text declare something (or nothing at all), or is it a bare pattern?"""
    return is_blank(text) or _DECLARATION.match(text, _beginning(text)) is not None


def is_blank(text: str) -> bool:
    """Nothing but blanks and comments?"""
    return _beginning(text) == len(text)


def _beginning(text: str) -> int:
    skipped = _COMMENTS.match(text)
    return skipped.end() if skipped else 0


def _tree(text: str, start: str, source: str) -> Tree:  # type: ignore[type-arg]
    try:
        return _parser().parse(text, start=start)
    except UnexpectedInput as problem:
        place = Place(
            max(problem.line, 1), max(problem.column, 1), max(problem.line, 1), _end(problem), text, source
        )
        raise explain_mistake(problem, text, place, _allowed(problem, text, start)) from None


def _allowed(problem: UnexpectedInput, text: str, start: str) -> set[str]:
    """The terminals that could stand where the parser was surprised, whatever stands there."""
    if isinstance(problem, UnexpectedToken) and problem.token.type == "$END":
        read = text
    else:
        read = text[: problem.pos_in_stream]
    parser = _parser().parse_interactive(read, start=start)
    with suppress(UnexpectedInput):
        parser.exhaust_lexer()
    return set(parser.accepts())  # type: ignore[no-untyped-call]


def _end(problem: UnexpectedInput) -> int:
    token = getattr(problem, "token", None)
    width = len(str(token).split("\n")[0]) if token is not None else 1
    return max(problem.column, 1) + max(width, 1)
