"""`FROM PATTERN (...) SELECT ... INSERT INTO ...`: queries read into the same model as the language's."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from functools import cache

from lark import Lark, Tree

from cepheid.errors import PatternMistake, SyntaxMistake
from cepheid.lang.reading import load_grammar, read_tree
from cepheid.lang.source import Source
from cepheid.pattern.model import Declarations, Stream
from cepheid.sql_lang.comments import blank_comments
from cepheid.sql_lang.from_pattern_clauses import MODES
from cepheid.sql_lang.from_pattern_mistakes import explain_from_pattern
from cepheid.sql_lang.from_pattern_query import read_from_query
from cepheid.sql_lang.last_element import read_last

_BEGINNING = re.compile(r"\s*from\s+([a-z]+)\b\s*(\()?", re.IGNORECASE)


@cache
def _parser() -> Lark:
    return load_grammar("cepheid.sql_lang", "from_pattern.lark", ["queries"])


def is_from_pattern(text: str) -> bool:
    """Does the text begin with FROM PATTERN or FROM SEQUENCE, perhaps misspelt?

    >>> is_from_pattern("-- pairs\\nfrom pattern (A -> B)"), is_from_pattern("From as f -> B")
    (True, False)
    """
    beginning = _BEGINNING.match(blank_comments(text))
    if beginning is None:
        return False
    word = beginning[1].lower()
    return word in MODES or bool(beginning[2] and get_close_matches(word, MODES, n=1))


def parse_from_pattern(text: str, source: str = "query") -> Declarations:
    """One or more queries, separated by `;`: a stream for each."""
    tree = _tree(text, source)
    whole = Source(text, source)
    streams = tuple(read_from_query(query, whole) for query in tree.children)
    _no_name_twice(streams)
    return Declarations(streams=streams)


def _tree(text: str, source: str) -> Tree:  # type: ignore[type-arg]
    try:
        tree = read_tree(_parser(), blank_comments(text), "queries", source, explain_from_pattern)
    except SyntaxMistake as mistake:
        if mistake.place is not None:  # the line is shown as it was written
            mistake.place = replace(mistake.place, text=text)
        raise
    return read_last(tree)


def _no_name_twice(streams: tuple[Stream, ...]) -> None:
    seen: set[str] = set()
    for stream in streams:
        if stream.name in seen:
            raise PatternMistake(
                f"two queries are called `{stream.name}`",
                code="duplicate_name",
                place=stream.place,
                hint="each has an INSERT INTO with a name of its own",
            )
        seen.add(stream.name)
