"""Names of ours for the functions of row patterns and for aggregates, before an expression is parsed.

The parser then knows nothing of them and leaves them as they are: a database has more aggregates than any parser, and
FIRST means something else here than there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import exp

from cepheid.sql_lang.scalar import Tree

_MARK = "__CEPHEID_"
_AGGREGATE = "AGG_"
_OWN = ("FIRST", "LAST", "PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "RUNNING", "FINAL")
# Words before a parenthesis that call nothing, whatever functions there are.
_WORDS = frozenset(
    """AND OR NOT IN IS LIKE ILIKE RLIKE BETWEEN CASE WHEN THEN ELSE CAST TRY_CAST EXTRACT FILTER GROUP OVER BY AS ON
    WHERE DISTINCT INTERVAL EXISTS DECIMAL NUMERIC VARCHAR CHAR STRUCT ARRAY MAP""".split()  # noqa: SIM905
)
_BEHIND = (("WITHIN", "GROUP", "("), ("FILTER", "("), ("IGNORE", "NULLS"), ("RESPECT", "NULLS"))


def marked(text: str, dialect: str, is_aggregate: Callable[[str], bool]) -> str:
    """`FINAL f(x)` becomes a call too, with all that belongs to `f`."""
    tokens = sqlglot.tokenize(text, read=dialect)
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(tokens):
        word = token.text.upper()
        if token.token_type.name in ("STRING", "IDENTIFIER") or _is_column(tokens, i):
            continue
        if word in ("RUNNING", "FINAL"):
            if i + 2 < len(tokens) and tokens[i + 2].text == "(":
                close = _end_of_call(tokens, i + 2)
                changes += [(token.start, token.end + 1, f"{_MARK}{word}("), (close + 1, close + 1, ")")]
        elif i + 1 < len(tokens) and tokens[i + 1].text == "(":
            if word in _OWN:
                changes.append((token.start, token.end + 1, _MARK + word))
            elif _may_call(tokens, i) and is_aggregate(token.text.lower()):
                changes.append((token.start, token.end + 1, f"{_MARK}{_AGGREGATE}{token.text}"))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _is_column(tokens: list[Any], at: int) -> bool:
    return at > 0 and tokens[at - 1].text == "."


def _may_call(tokens: list[Any], at: int) -> bool:
    """Not so `x LIKE ANY (..)`."""
    word = tokens[at].text.upper()
    if not word.isidentifier() or word in _WORDS:
        return False
    return word not in ("ANY", "SOME", "ALL") or at == 0 or tokens[at - 1].text.upper() in ("(", ",", "FINAL",
        "RUNNING", "NOT", "AND", "OR", "WHEN", "THEN", "ELSE")  # fmt: skip


def _end_of_call(tokens: list[Any], opening: int) -> int:
    """Where the call ends whose parenthesis opens there: behind FILTER and the like."""
    at = _closing(tokens, opening)
    while True:
        words = next((w for w in _BEHIND if _are(tokens, at + 1, w)), None)
        if words is None:
            return int(tokens[at].end)
        at = at + len(words) if words[-1] != "(" else _closing(tokens, at + len(words))


def _are(tokens: list[Any], at: int, words: tuple[str, ...]) -> bool:
    return tuple(t.text.upper() for t in tokens[at : at + len(words)]) == words


def _closing(tokens: list[Any], opening: int) -> int:
    """The index of the parenthesis that closes."""
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return i
    return len(tokens) - 1


def own_name(node: Tree) -> str:
    """Of a call of a function of row patterns, in upper case."""
    name = _marked_name(node)
    return "" if name.startswith(_AGGREGATE) else name.upper()


def aggregate_name(node: Tree) -> str:
    """Of a call of an aggregate, in lower case."""
    name = _marked_name(node)
    return name.removeprefix(_AGGREGATE).lower() if name.startswith(_AGGREGATE) else ""


def _marked_name(node: Tree) -> str:
    if isinstance(node, exp.Anonymous) and str(node.this).startswith(_MARK):
        return str(node.this).removeprefix(_MARK)
    return ""


def shown(node: Tree) -> str:
    return str(node.sql()).replace(_MARK + _AGGREGATE, "").replace(_MARK, "")
