"""A text cut into its declarations, by a reading that forgives: it works while somebody is still writing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from cepheid.lang.words import Word, split_words
from cepheid.sql_lang.from_pattern import is_from_pattern

DECLARING = ("event", "pattern", "stream")
_GRAPH = re.compile(r"(?:\s+|#[^\n]*|//[^\n]*|/\*.*?\*/)*+(?:private\s+)?graph\s+pattern\b", re.DOTALL | re.I)


class Language(Enum):
    """What is written in the file: the language itself, graph patterns, or queries in the manner of SQL."""

    PATTERNS = "patterns"
    GRAPH = "graph"
    QUERIES = "queries"


def language_of(text: str) -> Language:
    if _GRAPH.match(text):
        return Language.GRAPH
    return Language.QUERIES if is_from_pattern(text) else Language.PATTERNS


@dataclass(frozen=True)
class Statement:
    """One declaration, from its first word to the next one's. A bare pattern has no name."""

    kind: str  # event, pattern, stream, graph pattern, or query for a bare pattern
    name: Word | None
    words: tuple[Word, ...]
    start: int
    end: int  # of its last word
    limit: int  # where the next one begins

    @property
    def title(self) -> str:
        return plain(self.name) if self.name is not None else ""


def plain(word: Word) -> str:
    """A name without its back quotes."""
    return word.text.strip("`")


def read_statements(text: str) -> list[Statement]:
    """
    >>> [(s.kind, s.title) for s in read_statements("event A { x: int }  stream S = A[x ==\\nstream T = A")]
    [('event', 'A'), ('stream', 'S'), ('stream', 'T')]
    """
    words = split_words(text)
    starts = [i for i in range(len(words)) if _declares(text, words, i)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    found = []
    for at, start in enumerate(starts):
        stop = starts[at + 1] if at + 1 < len(starts) else len(words)
        if start < stop:
            limit = words[stop].start if stop < len(words) else len(text)
            found.append(_statement(tuple(words[start:stop]), limit))
    return found


def statement_at(statements: list[Statement], offset: int) -> Statement | None:
    """The one that the offset is in, or that ends before it."""
    found = None
    for statement in statements:
        if statement.start <= offset:
            found = statement
    return found


def _declares(text: str, words: list[Word], index: int) -> bool:
    """`stream S =`, `event E {`; at the start of a line the name alone is enough."""
    word, rest = words[index], words[index + 1 : index + 3]
    if word.lower in ("graph", "private"):
        return _declares_graph(words, index)
    if word.lower not in DECLARING or not rest or rest[0].kind not in ("name", "quoted"):
        return False
    if word.lower == "pattern" and index and words[index - 1].lower == "graph":
        return False
    sign = "{" if word.lower == "event" else "="
    if len(rest) == 2 and rest[1].text == sign:
        return True
    return _begins_line(text, word) and _begins_line_or_ends(text, words, index + 2)


def _declares_graph(words: list[Word], index: int) -> bool:
    lower = [w.lower for w in words[index : index + 3]]
    if lower[:1] == ["private"]:
        return lower[1:3] == ["graph", "pattern"]
    return lower[:2] == ["graph", "pattern"] and (index == 0 or words[index - 1].lower != "private")


def _begins_line(text: str, word: Word) -> bool:
    return not text[text.rfind("\n", 0, word.start) + 1 : word.start].strip()


def _begins_line_or_ends(text: str, words: list[Word], index: int) -> bool:
    return index >= len(words) or _begins_line(text, words[index])


def _statement(words: tuple[Word, ...], limit: int) -> Statement:
    kind, name = "query", None
    at = 1 if words[0].lower == "private" else 0
    if [w.lower for w in words[at : at + 2]] == ["graph", "pattern"]:
        kind = "graph pattern"
        name = words[at + 2] if len(words) > at + 2 and words[at + 2].kind in ("name", "quoted") else None
    elif _has_name(words):
        kind, name = words[0].lower, words[1]
    return Statement(kind, name, words, words[0].start, words[-1].end, limit)


def _has_name(words: tuple[Word, ...]) -> bool:
    """`stream S`, also if nothing stands behind it yet; but `event as e` is a bare pattern."""
    if words[0].lower not in DECLARING or len(words) < 2 or words[1].kind not in ("name", "quoted"):
        return False
    if words[1].lower in ("as", "where", "until", "within", "partition", "unless"):
        return False
    return len(words) == 2 or words[2].text in ("=", "{") or words[0].lower == "event"
