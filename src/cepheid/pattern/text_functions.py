"""Functions of strings."""

from __future__ import annotations

import re
from functools import lru_cache

from cepheid.pattern.regex import matches


def substring(text: str, start: int, length: int | None = None) -> str:
    """From 1; a negative start counts from the end, 0 is the first."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    if start < 0 and length is not None and -start > len(text):
        length -= -start - len(text)  # what lies before the text is cut off
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def concat(*texts: str) -> str:
    return "".join(texts)


def replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def like(text: str, pattern: str) -> bool:
    r"""SQL's LIKE: % is anything, _ one character, \ takes the next character as it is."""
    parts = _like_parts(pattern)
    if isinstance(parts, str):
        return matches(text, parts)
    return _in_order(text, parts)


@lru_cache(maxsize=1024)
def _like_parts(pattern: str) -> tuple[str, ...] | str:
    """The texts between the %; with an _ among them, a regular expression for the whole."""
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    if "_" in tokens:
        meaning = {"%": ".*", "_": "."}
        return rf"(?s)\A{''.join(meaning.get(t) or re.escape(_unescaped(t)) for t in tokens)}\z"
    parts = [""]
    for token in tokens:
        if token == "%":
            parts.append("")
        else:
            parts[-1] += _unescaped(token)
    return tuple(parts)


def _unescaped(token: str) -> str:
    return token[1:] if len(token) == 2 else token


def _in_order(text: str, parts: tuple[str, ...]) -> bool:
    if len(parts) == 1:
        return text == parts[0]
    first, *middle, last = parts
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
