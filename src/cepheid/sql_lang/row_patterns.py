"""The text of a row pattern to its model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from cepheid.pattern.row_pattern import RowNode
from cepheid.sql_lang.cursor import Cursor, can_be_name
from cepheid.sql_lang.row_pattern_builder import RowPatternBuilder
from cepheid.sql_lang.row_pattern_mistakes import check_depth, explain, no_parentheses
from cepheid.sql_lang.scan import SPARK, Dialect, Kind
from cepheid.sql_lang.source import SqlSource

_SIGNS = {
    "*": "STAR",
    "+": "PLUS",
    "?": "QMARK",
    "^": "CARET",
    "$": "DOLLAR",
    "|": "BAR",
    ",": "COMMA",
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "{-": "LEXCL",
    "-}": "REXCL",
}
_NO_VARIABLES = ("AND", "OR", "NOT")


def read_row_pattern(text: str, source: str = "pattern", dialect: Dialect = SPARK) -> RowNode:
    """A pattern on its own, without PATTERN and its parentheses.

    >>> read_row_pattern("A b+?")
    Concatenation(parts=(Variable(name='A'), Quantified(part=Variable(name='B'), least=1, most=None, greedy=False)))
    """
    whole = SqlSource(text, source, dialect)
    return _read(Cursor(whole, 0, len(whole.tokens)))


def row_pattern_of(cursor: Cursor) -> RowNode:
    """The pattern in the parentheses that come next, behind the word PATTERN."""
    if not cursor.here.is_sign("("):
        raise no_parentheses(cursor)
    return _read(Cursor(cursor.source, *cursor.take_group()))


def _read(cursor: Cursor) -> RowNode:
    source = cursor.source
    _ = source.partners  # brackets that do not fit are said before anything else
    check_depth(cursor)
    try:
        tree: Tree[Token] = _parser().parse(cursor)
    except UnexpectedToken as problem:
        at = next(
            (i for i in range(cursor.at, cursor.stop) if source.tokens[i].start == problem.token.start_pos),
            cursor.stop,
        )
        raise explain(cursor, cursor.stop if problem.token.type == "$END" else at) from None
    return RowPatternBuilder(source).node(tree.children[0])


class _Tokens(Lexer):
    """The tokens of a statement as the parser wants them."""

    def __init__(self, _: Any) -> None:
        """Nothing of the parser's settings matters here."""

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]
        cursor: Cursor = data
        for i in range(cursor.at, cursor.stop):
            token = cursor.source.tokens[i]
            # Lines and columns are worked out from the offsets later, for the few that are shown.
            yield Token(_terminal(cursor, i), token.text, token.start, 1, 1, 1, 1, token.end)


def _terminal(cursor: Cursor, i: int) -> str:
    token = cursor.source.tokens[i]
    if token.kind is Kind.SIGN:
        return _SIGNS.get(token.text, "OTHER")
    if token.kind is Kind.NUMBER:
        return "INT" if token.text.isdecimal() else "OTHER"
    follower = cursor.peek(i + 1 - cursor.at)
    if token.word == "PERMUTE" and follower.is_sign("("):
        return "PERMUTE"
    return "NAME" if can_be_name(token) and token.word not in _NO_VARIABLES else "OTHER"


@cache
def _parser() -> Lark:
    grammar = resources.files("cepheid.sql_lang").joinpath("row_pattern.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer=_Tokens,
        propagate_positions=True,
        maybe_placeholders=True,
        keep_all_tokens=False,
    )
