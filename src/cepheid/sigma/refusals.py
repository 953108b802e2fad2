"""What a Sigma rule may say and Cepheid cannot run; said with the place in the rule."""

from __future__ import annotations

from cepheid.errors import PatternMistake, Place


def unsupported(message: str, place: Place | None, hint: str | None = None) -> PatternMistake:
    return PatternMistake(message, code="sigma_unsupported", place=place, hint=hint)


class Refused(Exception):
    """A value that cannot be tested; who knows its place says so."""

    def __init__(self, message: str, hint: str | None = None, modifier: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint, self.modifier = message, hint, modifier
