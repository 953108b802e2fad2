"""WITHIN: how long a match may last.

`INTERVAL '5' MINUTE`, `INTERVAL '1:30' HOUR TO MINUTE`, `INTERVAL 1 HOUR 30 MINUTES`, `'5 minutes'`, `5 MINUTES`.
"""

from __future__ import annotations

import re

from cepheid.errors import CepheidError, PatternMistake
from cepheid.pattern.duration import MICROSECONDS, UNITS, duration
from cepheid.sql_lang.clause import SqlText
from cepheid.sql_lang.cursor import Cursor
from cepheid.sql_lang.heads import head
from cepheid.sql_lang.scan import Kind, Token

_FORMS = "write for example `WITHIN INTERVAL '5' MINUTE`, `WITHIN '5 minutes'` or `WITHIN 5 MINUTES`"
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_NO_LENGTH = re.compile(r"\b(month|quarter|year)s?\b", re.IGNORECASE)
_PARTS = re.compile(r"(?:(\d+)\s+)?(\d+(?::\d+)*(?:\.\d+)?)")


def read_within(cursor: Cursor) -> int:
    """Microseconds; the cursor stands behind WITHIN and then at the next section."""
    keyword, start = cursor.before, cursor.at
    cursor.take_words("INTERVAL")
    first = cursor.at
    while not cursor.done and head(cursor) is None:
        cursor.take()
    if cursor.at == first:
        raise cursor.source.syntax(
            "bad_duration", "after WITHIN a duration is missing", cursor.source.place_of(keyword), _FORMS
        )
    tokens = cursor.source.tokens
    piece = cursor.source.piece(tokens[start], tokens[cursor.at - 1])
    length = _length(tokens[first : cursor.at], piece)
    if length <= 0:
        raise _mistake("the duration after WITHIN must be longer than nothing", piece)
    return length


def _length(tokens: list[Token], piece: SqlText) -> int:
    if _NO_LENGTH.search(piece.text):
        raise _mistake("months and years have no fixed length", piece, "say it in days")
    first, units = tokens[0], [t.word for t in tokens[1:]]
    if first.kind is Kind.STRING:
        text = first.text[1:-1].strip()
        if not units:
            return _duration(text, piece)
        if len(units) == 1 and re.fullmatch(r"\d+(\.\d+)?", text):
            return _duration(f"{text} {units[0]}", piece)
        if len(units) == 3 and units[1] == "TO":
            return _compound(text, units[0], units[2], piece)
    elif len(tokens) % 2 == 0 and all(map(_is_pair, tokens[::2], tokens[1::2])):
        return _duration(" ".join(t.text for t in tokens), piece)
    raise _not_a_duration(piece)


def _is_pair(number: Token, unit: Token) -> bool:
    """`5 MINUTES`"""
    return number.kind is Kind.NUMBER and unit.kind is Kind.WORD


def _duration(text: str, piece: SqlText) -> int:
    try:
        return duration(text.lower())
    except CepheidError as problem:
        raise _mistake(problem.message, piece) from None


def _compound(text: str, first: str, last: str, piece: SqlText) -> int:
    """`'1 12:30:05.5' DAY TO SECOND`: days, then the rest between colons."""
    found = _PARTS.fullmatch(text)
    if first not in _FIELDS or last not in _FIELDS or found is None or ("." in text and last != "SECOND"):
        raise _not_a_duration(piece)
    numbers = [*([found[1]] if found[1] else []), *found[2].split(":")]
    fields = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
    if len(numbers) != len(fields):
        raise _not_a_duration(piece)
    lengths = (MICROSECONDS[UNITS[field.lower()]] for field in fields)
    return sum(round(float(n) * length) for n, length in zip(numbers, lengths, strict=True))


def _not_a_duration(piece: SqlText) -> PatternMistake:
    return _mistake(f"`{piece.text}` is not a duration", piece)


def _mistake(message: str, piece: SqlText, hint: str = _FORMS) -> PatternMistake:
    return PatternMistake(message, code="bad_duration", place=piece.place, hint=hint)
