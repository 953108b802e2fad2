"""The text of a row pattern to its model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from cepheid.errors import Place
from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    Variable,
)
from cepheid.sql.cursor import Cursor, can_be_name
from cepheid.sql.row_pattern_mistakes import check_depth, explain, no_parentheses
from cepheid.sql.scan import SPARK, Dialect, Kind
from cepheid.sql.source import SqlSource

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
_DIGITS = 9  # of a bound: more are refused before they are counted with
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
    return _Builder(source).node(tree.children[0])


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
    grammar = resources.files("cepheid.sql").joinpath("row_pattern.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer=_Tokens,
        propagate_positions=True,
        maybe_placeholders=True,
        keep_all_tokens=False,
    )


class _Builder:
    """Makes the model of a tree; one method for each rule of the grammar."""

    def __init__(self, source: SqlSource) -> None:
        self._source = source

    def node(self, tree: Any) -> RowNode:
        node: RowNode = getattr(self, f"_{tree.data}")(tree, self._place(tree))
        return node

    def _place(self, tree: Any) -> Place:
        return self._source.place(tree.meta.start_pos, tree.meta.end_pos)

    def _parts(self, tree: Any) -> tuple[RowNode, ...]:
        return tuple(self.node(child) for child in tree.children if isinstance(child, Tree))

    def _alternation(self, tree: Any, place: Place) -> RowNode:
        return Alternation(self._parts(tree), place=place)

    def _concatenation(self, tree: Any, place: Place) -> RowNode:
        return Concatenation(self._parts(tree), place=place)

    def _group(self, tree: Any, place: Place) -> RowNode:
        return self._parts(tree)[0]

    def _variable(self, tree: Any, place: Place) -> RowNode:
        token = self._source.token_at(tree.meta.start_pos)
        return Variable(token.word or token.unquoted, place=place)

    def _at_start(self, tree: Any, place: Place) -> RowNode:
        return Anchor(True, place=place)

    def _at_end(self, tree: Any, place: Place) -> RowNode:
        return Anchor(False, place=place)

    def _empty(self, tree: Any, place: Place) -> RowNode:
        return Empty(place=place)

    def _permutation(self, tree: Any, place: Place) -> RowNode:
        return Permutation(self._parts(tree), place=place)

    def _exclusion(self, tree: Any, place: Place) -> RowNode:
        return Exclusion(self._parts(tree)[0], place=place)

    def _quantified(self, tree: Any, place: Place) -> RowNode:
        part, how = self.node(tree.children[0]), tree.children[1]
        where = self._place(how)
        if isinstance(part, Anchor):
            raise self._source.syntax(
                "quantified_anchor",
                "an anchor cannot be repeated",
                where,
                "leave the quantifier out: `^` and `$` match no row",
            )
        least, most = self._bounds(how, where)
        return Quantified(part, least, most, how.children[-1] is None, place=place)

    def _bounds(self, how: Any, place: Place) -> tuple[int, int | None]:
        if how.data in _BOUNDS:
            return _BOUNDS[how.data]
        numbers = [self._number(n) for n in how.children if n is None or n.type == "INT"]
        if how.data == "exactly":
            least = most = numbers[0]
        else:
            least, most = numbers[0] or 0, numbers[1]
        self._check_bounds(least or 0, most, place)
        return least or 0, most

    def _number(self, token: Token | None) -> int | None:
        if token is not None and len(token) > _DIGITS:
            place = self._source.place(token.start_pos or 0, token.end_pos or 0)
            raise self._source.mistake("pattern_too_big", "this bound is too high", place)
        return None if token is None else int(token)

    def _check_bounds(self, least: int, most: int | None, place: Place) -> None:
        if most is None:
            return
        if most == 0:
            raise self._source.syntax(
                "bad_bounds",
                "the upper bound must be at least 1",
                place,
                "leave that part of the pattern out",
            )
        if most < least:
            raise self._source.syntax(
                "bad_bounds",
                f"the upper bound {most} is below the lower bound {least}",
                place,
                f"write `{{{most},{least}}}`",
            )


_BOUNDS: dict[str, tuple[int, int | None]] = {"star": (0, None), "plus": (1, None), "optional": (0, 1)}
