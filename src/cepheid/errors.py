"""Every error Cepheid raises: one root, a code, a place in the text, a hint. All of them survive pickling."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where in a source text something stands. Lines and columns count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""
    source: str = "query"

    def excerpt(self) -> str:
        """The line it stands on, with a caret under the place."""
        lines = self.text.split("\n")
        if not 1 <= self.line <= len(lines):
            return ""
        line = lines[self.line - 1].rstrip("\r").expandtabs(1)
        end = self.end_column if self.end_line == self.line else len(line) + 1
        carets = "^" * max(1, min(end, len(line) + 1) - self.column)
        number = str(self.line)
        return f"  {number} | {line}\n  {' ' * len(number)} | {' ' * (self.column - 1)}{carets}"

    def find(self, pattern: str) -> Place:
        """The last stretch inside this place that fits a regular expression; the place itself if none does.

        >>> Place(1, 1, 1, 17, "A as a -> B as a").find("as a").column
        13
        """
        start, end = self.span()
        found = list(re.finditer(pattern, self.text[start:end]))
        if not found:
            return self
        (line, column), (end_line, end_column) = (self._position(start + at) for at in found[-1].span())
        return replace(self, line=line, column=column, end_line=end_line, end_column=end_column)

    def span(self) -> tuple[int, int]:
        """Where it begins and ends in the text, counted in characters.

        >>> Place(2, 1, 2, 4, "A\\nBCD").span()
        (2, 5)
        """
        start = min(self._offset(self.line, self.column), len(self.text))
        return start, max(start, min(self._offset(self.end_line, self.end_column), len(self.text)))

    def _offset(self, line: int, column: int) -> int:
        return sum(len(text) + 1 for text in self.text.split("\n")[: line - 1]) + column - 1

    def _position(self, offset: int) -> tuple[int, int]:
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)


class CepheidWarning(UserWarning):
    """Something that is not an error but hardly what was meant.

    Raised with `warnings.warn` by `run` and `match`; the command line prints it.
    """


class CepheidError(Exception):
    """The root of all errors a user can cause or meet.

    `str(error)` shows all of it, with the line of the text and a caret. Errors pickle, so they come
    back from Spark's workers whole.

    Args:
        message: What is wrong, in a sentence.
        code: A short name of the mistake that does not change between versions.
        place: Where in the text it is: source, line, column.
        hint: What to do about it.
    """

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        place: Place | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        head = self.message
        if self.place is not None:
            head = f"{self.place.source}, line {self.place.line}, column {self.place.column}: {head}"
        parts = [head]
        if self.place is not None and (excerpt := self.place.excerpt()):
            parts.append(excerpt)
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.code, self.place, self.hint)


def _rebuild(
    kind: type[CepheidError], message: str, code: str, place: Place | None, hint: str | None
) -> CepheidError:
    return kind(message, code=code, place=place, hint=hint)


class SyntaxMistake(CepheidError):
    """The text is not in the language."""

    code = "syntax"


class PatternMistake(CepheidError):
    """The text is in the language, but it does not mean anything that can be run."""

    code = "pattern"


class InputMistake(CepheidError):
    """The events, or a file of them, are not what was promised."""

    code = "input"


class SetupMistake(CepheidError):
    """What a job runs on is missing, too old or set wrongly: Java, Spark, a Python package, a setting."""

    code = "setup"


class EvaluationError(CepheidError):
    """An expression met values it cannot work on."""

    code = "evaluation"


class LimitReached(CepheidError):
    """A limit the user can set was reached; nothing was dropped silently."""

    code = "limit"


class TooLate(CepheidError):
    """An event older than the lateness threshold, under the policy `fail`."""

    code = "too_late"


class SnapshotMistake(CepheidError):
    """Saved state that does not belong to this program or this version."""

    code = "snapshot"


def nearest(name: str, known: list[str] | tuple[str, ...] | set[str]) -> str | None:
    """A hint with the known names closest to a misspelt one.

    >>> nearest("amout", ["amount", "user"])
    'did you mean `amount`?'
    """
    from difflib import get_close_matches

    by_folded = {candidate.lower(): candidate for candidate in sorted(known)}
    close = get_close_matches(name.lower(), list(by_folded), n=2, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(f"`{by_folded[c]}`" for c in close) + "?"
    return None
