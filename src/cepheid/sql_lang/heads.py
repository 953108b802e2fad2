"""The sections of a clause and the words they begin with.

None of these words is taken from the user: a column may be called `pattern` or `define`. So a section begins only
where an expression before it can have ended, and only with all of its words.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import Enum

from cepheid.sql_lang.cursor import Cursor
from cepheid.sql_lang.scan import Kind, Token


class Section(Enum):
    """In the order in which they may stand."""

    PARTITION = "PARTITION BY"
    ORDER = "ORDER BY"
    MEASURES = "MEASURES"
    FRAME = "ROWS BETWEEN"
    ROWS = "ONE ROW PER MATCH or ALL ROWS PER MATCH"
    SKIP = "AFTER MATCH SKIP"
    SEARCH = "INITIAL or SEEK"
    PATTERN = "PATTERN"
    WITHIN = "WITHIN"
    SUBSET = "SUBSET"
    DEFINE = "DEFINE"

    @property
    def rank(self) -> int:
        return list(Section).index(self)


_WORDS: dict[tuple[str, ...], Section] = {
    ("PARTITION", "BY"): Section.PARTITION,
    ("ORDER", "BY"): Section.ORDER,
    ("MEASURES",): Section.MEASURES,
    ("ONE", "ROW"): Section.ROWS,
    ("ALL", "ROWS"): Section.ROWS,
    ("ROWS", "BETWEEN"): Section.FRAME,
    ("ROWS", "CURRENT"): Section.FRAME,
    ("ROWS", "UNBOUNDED"): Section.FRAME,
    ("RANGE", "BETWEEN"): Section.FRAME,
    ("GROUPS", "BETWEEN"): Section.FRAME,
    ("AFTER", "MATCH"): Section.SKIP,
    ("INITIAL", "PATTERN"): Section.SEARCH,
    ("SEEK", "PATTERN"): Section.SEARCH,
    ("PATTERN",): Section.PATTERN,
    ("WITHIN",): Section.WITHIN,
    ("SUBSET",): Section.SUBSET,
    ("DEFINE",): Section.DEFINE,
}
_FIRST = sorted({words[0] for words in _WORDS} - {"ONE", "ALL", "ROWS", "RANGE", "GROUPS"})

# After these words an expression goes on.
_GOES_ON = frozenset(
    """AND OR NOT IN IS LIKE ILIKE RLIKE REGEXP BETWEEN ESCAPE CASE WHEN THEN ELSE AS DISTINCT BY DIV
    COLLATE""".split()  # noqa: SIM905
)


def head(cursor: Cursor) -> Section | None:
    """The section that begins at the next token; None if none does."""
    for words, section in _WORDS.items():
        if cursor.words(*words):
            # `percentile_cont(0.5) WITHIN GROUP (...)` is a value.
            return None if section is Section.WITHIN and cursor.peek(1).word == "GROUP" else section
    return None


def sure_head(cursor: Cursor) -> bool:
    """Does a section begin here whatever stands before? So it is with two words that no value has."""
    # `rows BETWEEN 1 AND 2` may be the condition of a column called so.
    sure = (words for words, section in _WORDS.items() if len(words) > 1 and section is not Section.FRAME)
    return any(cursor.words(*words) for words in sure)


def head_after_value(cursor: Cursor) -> Section | None:
    """The same in the midst of values: only where one can have ended."""
    return head(cursor) if ends_value(cursor.before) else None


def ends_value(token: Token) -> bool:
    """Can an expression end with this token?"""
    if token.kind is Kind.SIGN:
        return token.is_sign(")", "]", "}")
    return token.kind is not Kind.END and token.word not in _GOES_ON


def misspelt_head(token: Token) -> str | None:
    """The word at the beginning of a section that this one is close to."""
    close = get_close_matches(token.word, _FIRST, n=1, cutoff=0.8) if token.word else []
    return close[0] if close and close[0] != token.word else None
