"""Text in, model out: the three entrances of the language."""

from __future__ import annotations

import re
from functools import cache

from lark import Lark, Tree

from cepheid.lang.expressions import read_expression
from cepheid.lang.mistakes import explain_mistake
from cepheid.lang.program import read_program, read_stream
from cepheid.lang.reading import accepted_after, load_grammar, read_tree
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
    return load_grammar("cepheid.lang", "grammar.lark", ["program", "query", "expression"])


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


def what_may_follow(text: str, bare: bool = False) -> frozenset[str] | None:
    """The terminals of the grammar that could go on from a beginning of a program, or of a bare pattern.

    >>> "ARROW" in (what_may_follow("stream S = A ") or ()), what_may_follow("stream -> ")
    (True, None)
    """
    return accepted_after(_parser(), text, "query" if bare else "program")


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
    return read_tree(_parser(), text, start, source, explain_mistake)
