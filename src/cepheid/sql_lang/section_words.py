"""The sections that are made of words: rows per match, where to go on after a match, the frame of a window."""

from __future__ import annotations

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.clause import AfterMatch, Frame, Rows, Search, Skip
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.heads import head_after_value
from cepheid.sql_lang.source import CLOSING
from cepheid.sql_lang.window_frame import frame_end

_ROWS = {
    ("ONE", "ROW", "PER", "MATCH"): Rows.ONE,
    ("ALL", "ROWS", "PER", "MATCH", "SHOW", "EMPTY", "MATCHES"): Rows.ALL,
    ("ALL", "ROWS", "PER", "MATCH", "OMIT", "EMPTY", "MATCHES"): Rows.ALL_OMIT_EMPTY,
    ("ALL", "ROWS", "PER", "MATCH", "WITH", "UNMATCHED", "ROWS"): Rows.ALL_WITH_UNMATCHED,
    ("ALL", "ROWS", "PER", "MATCH"): Rows.ALL,
}


def read_rows(cursor: Cursor) -> Rows:
    for words, rows in _ROWS.items():
        if cursor.take_words(*words):
            if cursor.here.word in ("SHOW", "OMIT", "WITH"):
                raise _bad_rows(cursor, 1)
            return rows
    raise _bad_rows(cursor, 0)


def _bad_rows(cursor: Cursor, ahead: int) -> SyntaxMistake:
    """Shows the first word that fits no form."""
    start = cursor.at if not ahead else cursor.at - 4
    cursor.at = start
    agreed = max(_agreement(cursor, words) for words in _ROWS)
    cursor.at = start + agreed
    return cursor.source.syntax(
        "bad_rows_per_match",
        f"after `{cursor.before.text}` {cursor.shown()} cannot stand here",
        cursor.place,
        "write ONE ROW PER MATCH, or ALL ROWS PER MATCH with or without SHOW EMPTY MATCHES, "
        "OMIT EMPTY MATCHES or WITH UNMATCHED ROWS",
    )


def _agreement(cursor: Cursor, words: tuple[str, ...]) -> int:
    """How many of the words stand there."""
    return next((i for i, word in enumerate(words) if cursor.peek(i).word != word), len(words))


def read_skip(cursor: Cursor) -> Skip:
    """Behind AFTER MATCH."""
    if not cursor.take_words("SKIP"):
        raise _bad_skip(cursor)
    if cursor.take_words("PAST", "LAST", "ROW"):
        return Skip()
    if cursor.take_words("TO", "NEXT", "ROW"):
        return Skip(AfterMatch.TO_NEXT_ROW)
    if not cursor.take_words("TO"):
        raise _bad_skip(cursor)
    to = AfterMatch.TO_LAST
    # A variable may itself be called FIRST or LAST.
    if cursor.here.word in ("FIRST", "LAST") and _is_variable(cursor, 1):
        to = AfterMatch.TO_FIRST if cursor.take().word == "FIRST" else AfterMatch.TO_LAST
    if not _is_variable(cursor, 0):
        raise _bad_skip(cursor)
    return Skip(to, read_name(cursor.source, cursor.take()))


def _is_variable(cursor: Cursor, ahead: int) -> bool:
    token, after = cursor.peek(ahead), cursor.peek(ahead + 1)
    if token.word in ("INITIAL", "SEEK") and after.word == "PATTERN":
        return False
    return can_be_name(token) and not (token.word == "PATTERN" and after.is_sign("("))


def _bad_skip(cursor: Cursor) -> SyntaxMistake:
    return cursor.source.syntax(
        "bad_skip",
        f"after `{cursor.before.text}` {cursor.shown()} cannot stand here",
        cursor.place,
        "write AFTER MATCH SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO FIRST A or SKIP TO LAST A",
    )


def read_search(cursor: Cursor) -> Search:
    return Search.SEEK if cursor.take().word == "SEEK" else Search.INITIAL


def read_frame(cursor: Cursor) -> Frame:
    """`ROWS BETWEEN CURRENT ROW AND ..` up to the next section."""
    start = cursor.at
    cursor.at += 2
    while not cursor.done and head_after_value(cursor) is None:
        if cursor.here.is_sign(*CLOSING):
            cursor.take_group()
        else:
            cursor.take()
    inside = Cursor(cursor.source, start, cursor.at)
    return Frame(inside.rest(), frame_end(inside))
