"""A statement: its text, its tokens, its brackets, and places in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from cepheid.errors import PatternMistake, Place, SyntaxMistake
from cepheid.sql_lang.clause import SqlText
from cepheid.sql_lang.scan import SPARK, Dialect, Kind, Token, scan

CLOSING = {"(": ")", "[": "]", "{": "}", "{-": "-}"}
OPENING = {close: opening for opening, close in CLOSING.items()}


@dataclass(frozen=True)
class Span:
    """From one character of the text to before another."""

    start: int
    end: int

    def holds(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True)
class SqlSource:
    text: str
    name: str = "query"
    dialect: Dialect = SPARK

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens; an error if a string, a name in quotes or a comment does not end."""
        tokens = scan(self.text, self.dialect)
        if tokens and tokens[-1].kind is Kind.OPEN:
            raise self._never_ends(tokens[-1])
        return tokens

    @cached_property
    def partners(self) -> dict[int, int]:
        """For each bracket, by its index among the tokens, the index of its other half."""
        found: dict[int, int] = {}
        opened: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.is_sign(*CLOSING):
                opened.append(i)
            elif token.is_sign(*OPENING):
                self._check_closing(token, opened)
                start = opened.pop()
                found[start], found[i] = i, start
        if opened:
            raise self._not_closed(self.tokens[opened[-1]])
        return found

    def place(self, start: int, end: int) -> Place:
        line, column = self._position(start)
        end_line, end_column = self._position(max(start, end))
        return Place(line, column, end_line, end_column, self.text, self.name)

    def place_of(self, first: Token, last: Token | None = None) -> Place:
        return self.place(first.start, (last or first).end)

    def piece(self, first: Token, last: Token) -> SqlText:
        return SqlText(self.text[first.start : last.end], self.place_of(first, last))

    def inside(self, span: Span) -> tuple[int, int]:
        """The indexes of the tokens in a span, the second one past the last."""
        return bisect_left(self._starts, span.start), bisect_left(self._starts, span.end)

    def token_at(self, start: int) -> Token:
        return self.tokens[bisect_left(self._starts, start)]

    def syntax(self, code: str, message: str, place: Place, hint: str | None = None) -> SyntaxMistake:
        return SyntaxMistake(message, code=code, place=place, hint=hint)

    def mistake(self, code: str, message: str, place: Place, hint: str | None = None) -> PatternMistake:
        return PatternMistake(message, code=code, place=place, hint=hint)

    @cached_property
    def _starts(self) -> list[int]:
        return [t.start for t in self.tokens]

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(i + 1 for i, letter in enumerate(self.text) if letter == "\n")]

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _never_ends(self, token: Token) -> SyntaxMistake:
        if token.text.startswith("/*"):
            place = self.place(token.start, token.start + 2)
            return self.syntax("unclosed_comment", "this comment does not end", place, "close it with */")
        mark = next(letter for letter in token.text if letter in "'\"`")
        what = "name in back quotes" if mark == "`" else "string"
        if mark == '"' and self.dialect.double_quotes_are_names:
            what = "name in quotes"
        place = self.place(token.start, token.start + token.text.index(mark) + 1)
        return self.syntax("unclosed_string", f"this {what} does not end", place, f"close it with {mark}")

    def _check_closing(self, token: Token, opened: list[int]) -> None:
        if not opened:
            hint = f"leave it out, or open it before with `{OPENING[token.text]}`"
            raise self.syntax(
                "extra_bracket", f"this `{token.text}` closes nothing", self.place_of(token), hint
            )
        last = self.tokens[opened[-1]]
        if CLOSING[last.text] == token.text or (last.text == "{-" and token.text == "}"):
            return  # the latter: a value such as `{-1: 2}`
        if any(CLOSING[self.tokens[i].text] == token.text for i in opened):
            raise self._not_closed(last)
        hint = f"write `{CLOSING[last.text]}`"
        message = f"this `{token.text}` cannot close `{last.text}`"
        raise self.syntax("wrong_bracket", message, self.place_of(token), hint)

    def _not_closed(self, token: Token) -> SyntaxMistake:
        hint = f"write `{CLOSING[token.text]}` where it ends"
        return self.syntax(
            "unclosed_bracket", f"this `{token.text}` is not closed", self.place_of(token), hint
        )
