"""Row patterns in frames the slow and plain way: each rule of a window is one line here.

Rows are taken in order. One that is skipped has no match. Any other looks for the preferred match in its frame, the
rows from itself to the end of the frame; outside of it nothing can be matched or seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from preferment import SkipMistake, Way, first_match

from cepheid.pattern.row_pattern import RowNode
from cepheid.sql_lang.clause import AfterMatch

Sees = Callable[[str, int, list[tuple[int, str]], range], bool]
"""Whether a variable takes a row, given the match so far and the rows that can be seen."""


@dataclass(frozen=True)
class FrameMatch:
    """The match of a row: where it begins and what it takes; an empty one takes nothing."""

    start: int
    taken: Way


def matches_of_rows(
    pattern: RowNode,
    frames: Sequence[range],
    holds: Sees,
    seek: bool,
    skip: AfterMatch = AfterMatch.PAST_LAST_ROW,
    to: str | None = None,
    subsets: Mapping[str, Sequence[str]] | None = None,
) -> list[FrameMatch | None]:
    """For each row of a partition its match, if it has one."""
    found: list[FrameMatch | None] = []
    next_row = 0
    for row, frame in enumerate(frames):
        match = match_in(pattern, frame, holds, seek) if row >= next_row else None
        found.append(match)
        if match is not None:
            next_row = _next_row(row, match, skip, to, subsets or {})
    return found


def match_in(pattern: RowNode, frame: range, holds: Sees, seek: bool) -> FrameMatch | None:
    for start in frame if seek else frame[:1]:
        way = first_match(
            pattern, frame.stop, lambda name, row, so_far: holds(name, row, so_far, frame), start
        )
        if way is not None:
            return FrameMatch(start, way)
    return None


def _next_row(
    row: int, match: FrameMatch, skip: AfterMatch, to: str | None, subsets: Mapping[str, Sequence[str]]
) -> int:
    if not match.taken or skip is AfterMatch.TO_NEXT_ROW:
        return row + 1  # of the row that looked: with SEEK the match may lie further on
    if skip is AfterMatch.PAST_LAST_ROW:
        return match.taken[-1].row + 1
    assert to is not None
    rows = [t.row for t in match.taken if t.variable in subsets.get(to, (to,))]
    if not rows:
        raise SkipMistake(f"no row is mapped to {to}")
    target = rows[0 if skip is AfterMatch.TO_FIRST else -1]
    if target == match.start:
        raise SkipMistake("the match would be found again")
    return target
