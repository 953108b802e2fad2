"""Rows that are no events: an error, or counted and kept to be shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from cepheid.engines.local.reading import Place
from cepheid.errors import InputMistake

EXAMPLES = 20

BadRowsPolicy = Literal["fail", "skip", "dead_letter"]


class BadRow(TypedDict):
    """A row that is no event, where it stood, and why."""

    source: str
    line: int
    text: str
    reason: str


@dataclass
class BadRows:
    """What becomes of rows that are no events: every one is an error, or counted and kept to be shown."""

    policy: BadRowsPolicy = "fail"
    on_bad: Callable[[BadRow], None] | None = None
    count: int = 0
    examples: list[BadRow] = field(default_factory=list)  # the first few
    letters: list[BadRow] = field(default_factory=list)  # all of them: dead_letter without a callback

    def report(self, place: Place, text: str, mistake: InputMistake) -> None:
        if self.policy == "fail":
            raise _failure(place, text, mistake)
        self.count += 1
        row = BadRow(source=place.source, line=place.line, text=text, reason=mistake.message)
        if len(self.examples) < EXAMPLES:
            self.examples.append(row)
        if self.policy == "dead_letter":
            (self.on_bad or self.letters.append)(row)


def _failure(place: Place, text: str, mistake: InputMistake) -> InputMistake:
    """The error of the policy `fail`. Of a file: its own code, the text, and how to get past it."""
    message = f"{place}: {mistake.message}"
    if not place.source:
        return InputMistake(message, code=mistake.code, hint=mistake.hint)
    shown = text if len(text) <= 80 else text[:77] + "..."
    hint = "to go on without such rows: --bad-rows skip|dead-letter (in Python bad_rows=)"
    if mistake.hint:
        hint = f"{mistake.hint}; {hint}"
    return InputMistake(f"{message}: {shown}" if shown else message, code="bad_row", hint=hint)


def policy_of(name: str) -> BadRowsPolicy:
    policies: dict[str, BadRowsPolicy] = {"fail": "fail", "skip": "skip", "dead_letter": "dead_letter"}
    policy = policies.get(name.replace("-", "_"))
    if policy is None:
        raise InputMistake(
            f"{name!r} is not a way to treat bad rows",
            code="bad_option",
            hint="use fail, skip or dead-letter",
        )
    return policy
