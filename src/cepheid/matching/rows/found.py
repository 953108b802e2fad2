"""What is found of a row pattern, and how the search goes on after a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
class OpenEnds:
    """Of a stream: partitions of which more rows may come, each with what is known of it from before.

    A search that asks for a row that is not there yet is not decided: its partition waits where it started. Nothing
    that is found before can change, whatever comes.
    """

    starts: Any  # for each partition, the row to go on at
    cut: Any  # for each, whether there were rows before its first that are no longer known
    counts: Any  # for each, how many matches were found before
    reached: int = -NEVER  # what comes is at this time or later

    @classmethod
    def fresh(cls, offsets: Any, reached: int = -NEVER) -> OpenEnds:
        """Of partitions that are seen for the first time."""
        size = len(offsets) - 1
        return cls(offsets[:-1], np.zeros(size, np.bool_), np.zeros(size, np.int64), reached)


@dataclass(frozen=True)
class Matches:
    """In the order in which they are found: by partition, then by where they start."""

    starts: Any  # the first row of each; of an empty match the row it is found at
    sizes: Any  # in rows
    partitions: Any
    labels: Any  # of all rows of all matches, one after the other: the place in the program
    waits: Any = None  # of open ends: for each partition, the row at which it waits; its end, if nothing does

    def __len__(self) -> int:
        return len(self.starts)

    def only(self, which: Any, waits: Any) -> Matches:
        """Some of them."""
        labels = self.labels[np.repeat(which, self.sizes)]
        return Matches(self.starts[which], self.sizes[which], self.partitions[which], labels, waits)


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
