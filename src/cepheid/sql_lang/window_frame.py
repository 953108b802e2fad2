"""The frame of a window with a row pattern: from the current row on to where it is said."""

from __future__ import annotations

from cepheid.errors import SyntaxMistake
from cepheid.sql_lang.cursor import Cursor

_FORMS = (
    "write `ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING`, or `5 FOLLOWING` or `CURRENT ROW` behind AND"
)


def frame_end(cursor: Cursor) -> str | None:
    """How many rows after the current one the frame ends, as SQL; None: with the partition.

    The cursor holds the frame from ROWS to its last word.
    """
    if not cursor.take_words("ROWS", "BETWEEN", "CURRENT", "ROW", "AND"):
        raise _bad(cursor, "the frame of a window with a row pattern begins with the current row")
    end = _without_exclusion(cursor)
    if end.left == 2 and end.words("UNBOUNDED", "FOLLOWING"):
        return None
    if end.left == 2 and end.words("CURRENT", "ROW"):
        return "0"
    if end.left < 2 or end.last().word != "FOLLOWING":
        raise _bad(cursor, "the frame of a window with a row pattern ends with the current row or behind it")
    end.stop -= 1
    return end.rest().text


def _without_exclusion(cursor: Cursor) -> Cursor:
    """Only EXCLUDE NO OTHERS may stand behind, which says nothing."""
    end = Cursor(cursor.source, cursor.at, cursor.stop)
    words = [cursor.source.tokens[i].word for i in range(cursor.at, cursor.stop)]
    if "EXCLUDE" not in words:
        return end
    if words[-3:] != ["EXCLUDE", "NO", "OTHERS"]:
        raise _bad(cursor, "no row of the frame of a window with a row pattern can be excluded")
    end.stop -= 3
    return end


def _bad(cursor: Cursor, message: str) -> SyntaxMistake:
    tokens = cursor.source.tokens
    place = cursor.source.place_of(tokens[cursor.first], tokens[cursor.stop - 1])
    return cursor.source.syntax("bad_frame", message, place, _FORMS)
