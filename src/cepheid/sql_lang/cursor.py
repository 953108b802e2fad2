"""A place among the tokens of a statement that moves on: what all readers of its parts share."""

from __future__ import annotations

from cepheid.errors import Place
from cepheid.sql_lang.clause import Name, SqlText
from cepheid.sql_lang.scan import Kind, Token
from cepheid.sql_lang.source import SqlSource


class Cursor:
    """Looks at the tokens from one index to before another."""

    def __init__(self, source: SqlSource, start: int, stop: int) -> None:
        self.source, self.at, self.stop = source, start, stop
        self.first = start

    def peek(self, ahead: int = 0) -> Token:
        i = self.at + ahead
        if self.first <= i < self.stop:
            return self.source.tokens[i]
        tokens = self.source.tokens
        end = tokens[self.stop - 1].end if self.stop else 0
        return Token(Kind.END, "", end)

    @property
    def here(self) -> Token:
        return self.peek()

    @property
    def before(self) -> Token:
        return self.peek(-1)

    @property
    def done(self) -> bool:
        return self.at >= self.stop

    def take(self) -> Token:
        token = self.here
        self.at += 1
        return token

    def take_group(self) -> tuple[int, int]:
        """Over a bracket and all in it: the indexes of its inside."""
        start, close = self.at + 1, self.source.partners[self.at]
        self.at = close + 1
        return start, close

    def words(self, *expected: str) -> bool:
        """Do these words come next?"""
        return all(self.peek(i).word == word for i, word in enumerate(expected))

    def take_words(self, *expected: str) -> bool:
        if not self.words(*expected):
            return False
        self.at += len(expected)
        return True

    def last(self, back: int = 1) -> Token:
        """The last token there is, or one further back."""
        return self.peek(self.stop - self.at - back)

    @property
    def left(self) -> int:
        return self.stop - self.at

    def rest(self) -> SqlText:
        """All from here on."""
        return self.source.piece(self.here, self.last())

    @property
    def place(self) -> Place:
        """Of the token that comes next; behind the last one if there is none."""
        return self.source.place_of(self.here)

    def shown(self) -> str:
        """The next token in a message."""
        return shown(self.here)


def shown(token: Token) -> str:
    return f"`{token.text}`" if token.kind is not Kind.END else "the end"


def can_be_name(token: Token) -> bool:
    """A word or a name in quotes; a string in double quotes too, for that is a name in the standard."""
    return token.kind in (Kind.WORD, Kind.NAME) or (token.kind is Kind.STRING and token.text[0] == '"')


def read_name(source: SqlSource, token: Token) -> Name:
    """As SQL takes it: without quotes in upper case, with quotes as it is written."""
    name = token.word or token.unquoted
    return Name(name, source.place_of(token), written=token.unquoted)
