"""SQL text cut into tokens. Nothing is lost: what stands between two tokens is blanks and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache


@dataclass(frozen=True)
class Dialect:
    """What differs between systems already at the level of letters."""

    double_quotes_are_names: bool = False
    backslash_escapes: bool = True


SPARK = Dialect()
STANDARD = Dialect(double_quotes_are_names=True, backslash_escapes=False)  # DuckDB reads so, too


class Kind(Enum):
    WORD = "word"
    NAME = "name in quotes"
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"
    BLANK = "blank"
    COMMENT = "comment"
    OPEN = "does not end"  # a string, a name in quotes or a comment without its end
    END = "the end"


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """In upper case, if it is a word without quotes; else nothing."""
        return self.text.upper() if self.kind is Kind.WORD else ""

    def is_sign(self, *signs: str) -> bool:
        return self.kind is Kind.SIGN and self.text in signs

    @property
    def unquoted(self) -> str:
        """The content of a name in quotes, whichever they are; a word as it is written."""
        mark = self.text[:1]
        if mark not in ("`", '"') or len(self.text) < 2:
            return self.text
        return self.text[1:-1].replace(mark * 2, mark)


def scan(text: str, dialect: Dialect = SPARK) -> list[Token]:
    """The tokens of a text, without blanks and comments.

    >>> [t.text for t in scan("select 'a b', `c d` -- so")]
    ['select', "'a b'", ',', '`c d`']
    """
    return [t for t in pieces(text, dialect) if t.kind not in (Kind.BLANK, Kind.COMMENT)]


def pieces(text: str, dialect: Dialect = SPARK) -> Iterator[Token]:
    """All of a text, piece by piece: put together they are the text again."""
    pattern = _pattern(dialect)
    at = 0
    while at < len(text):
        if text.startswith("/*", at):
            token = _comment(text, at)
        else:
            found = pattern.match(text, at)
            assert found is not None  # the last alternative takes any character
            token = Token(_kind(found, dialect), found.group(), at)
        yield token
        at = token.end


def _comment(text: str, start: int) -> Token:
    """A comment in `/* */`, with those inside it."""
    depth = 0
    for mark in _COMMENT_MARKS.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return Token(Kind.COMMENT, text[start : mark.end()], start)
    return Token(Kind.OPEN, text[start:], start)


def _kind(found: re.Match[str], dialect: Dialect) -> Kind:
    group = found.lastgroup or ""
    if group == "double":
        return Kind.NAME if dialect.double_quotes_are_names else Kind.STRING
    return _KINDS[group]


_COMMENT_MARKS = re.compile(r"/\*|\*/")
_KINDS = {
    "blank": Kind.BLANK,
    "comment": Kind.COMMENT,
    "string": Kind.STRING,
    "back": Kind.NAME,
    "open": Kind.OPEN,
    "number": Kind.NUMBER,
    "word": Kind.WORD,
    "sign": Kind.SIGN,
}


@cache
def _pattern(dialect: Dialect) -> re.Pattern[str]:
    escaped = r"\\.|" if dialect.backslash_escapes else ""
    plain = r"[^'\\]" if dialect.backslash_escapes else "[^']"
    double = r'(?:\\.|""|[^"\\])*+' if not dialect.double_quotes_are_names else r'(?:""|[^"])*+'
    if dialect.backslash_escapes:
        # A backslash at the end of the line carries such a comment on, and r'..' has no escapes at all.
        line_comment, special = r"--(?:\\\n|[^\n])*", r"""[rR]'[^']*'|[rR]"[^"]*\""""
    else:
        line_comment = r"--[^\n]*"
        special = r"[eE]'(?:\\.|''|[^'\\])*+'|(?<![\w$])\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
    return re.compile(
        rf"""(?P<blank>\s+)
        |(?P<comment>{line_comment})
        |(?P<string>{special}|'(?:{escaped}''|{plain})*+')
        |(?P<double>"{double}")
        |(?P<back>`(?:``|[^`])*+`)
        |(?P<open>['"`].*)
        |(?P<number>(?:\d+\.(?!\.)\d*|(?<![\w`"\])])\.\d+|\d+)(?:[eE][+-]?\d+)?\w*)
        |(?P<word>[^\W\d]\w*)
        |(?P<sign>\{{-|-\}}|<=>|->|=>|::|:=|\|\||\|>|<=|>=|<>|!=|==|<<|>>|.)""",
        re.DOTALL | re.VERBOSE,
    )
