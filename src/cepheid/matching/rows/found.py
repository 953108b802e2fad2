"""What is found of a row pattern, and how the search goes on after a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheid.errors import EvaluationError

NEVER = 2**62
TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(4)


@dataclass(frozen=True)
class Skipping:
    """AFTER MATCH SKIP: to the next row, past the last, to the first or the last row of some variables."""

    mode: int = PAST_LAST
    variables: frozenset[str] = frozenset()
    name: str = ""  # as the query has it


@dataclass(frozen=True)
class Matches:
    """In the order in which they are found: by partition, then by where they start."""

    starts: Any  # the first row of each; of an empty match the row it is found at
    sizes: Any  # in rows
    partitions: Any
    labels: Any  # of all rows of all matches, one after the other: the place in the program

    def __len__(self) -> int:
        return len(self.starts)


def raise_if_stuck(stuck: int, row: int, skipping: Skipping) -> None:
    if not stuck:
        return
    if stuck == 1:
        raise EvaluationError(
            f"AFTER MATCH SKIP TO {skipping.name} leads to the first row of the match (row {row + 1:,} of the sorted "
            "input): the same match would be found again for ever",
            code="skip_to_first_row",
            hint="skip to a later variable, or TO NEXT ROW",
        )
    raise EvaluationError(
        f"AFTER MATCH SKIP TO {skipping.name}: the match at row {row + 1:,} of the sorted input has no such row",
        code="skip_to_no_row",
        hint="skip to a variable that every match has, or PAST LAST ROW",
    )
