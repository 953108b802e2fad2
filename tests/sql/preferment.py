"""Row patterns matched the slow and plain way: every rule of preferment is one line here, and nothing is clever.

The potential matches at a row are enumerated lazily, the most preferred first, and the first one whose conditions
all hold is the match. A condition is judged when its row is taken, so a way that fails is left at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    Variable,
)
from cepheid.sql_lang.clause import AfterMatch

Holds = Callable[[str, int, list[tuple[int, str]]], bool]
"""Whether a variable takes a row, given the (row, variable) of the match so far; the row in question is not in it."""


@dataclass(frozen=True)
class Taken:
    """A row of a match with the variable that took it."""

    row: int
    variable: str
    excluded: bool = False


Way = tuple[Taken, ...]


@dataclass(frozen=True)
class RowMatch:
    """The match at a start row; an empty match takes no row. Numbers count from 1 in a partition."""

    number: int
    start: int
    taken: Way

    @property
    def mapping(self) -> list[tuple[int, str]]:
        return [(t.row, t.variable) for t in self.taken]


class SkipMistake(Exception):
    """AFTER MATCH SKIP would go to a row that is not there, or to the first row of the match itself."""


def potential_matches(pattern: RowNode, rows: int, holds: Holds, start: int) -> Iterator[Way]:
    """All matches that start at a row, the most preferred first. The same mapping may come more than once."""

    def ways(node: RowNode, taken: Way) -> Iterator[Way]:
        at = start + len(taken)
        match node:
            case Variable(name):
                if at < rows and holds(name, at, [(t.row, t.variable) for t in taken]):
                    yield (*taken, Taken(at, name))
            case Empty():
                yield taken
            case Anchor(at_start):
                if at == (0 if at_start else rows):
                    yield taken
            case Concatenation(parts):
                yield from sequence(parts, taken)
            case Alternation(parts):
                for part in parts:
                    yield from ways(part, taken)
            case Permutation(parts):
                for order in permutations(parts):  # in the lexicographic order of the places
                    yield from sequence(order, taken)
            case Quantified():
                yield from iterations(node, 0, taken)
            case Exclusion(part):
                for way in ways(part, taken):
                    hidden = (replace(t, excluded=True) for t in way[len(taken) :])
                    yield (*taken, *hidden)
            case _:
                raise TypeError(f"no row pattern: {node!r}")

    def sequence(parts: Sequence[RowNode], taken: Way) -> Iterator[Way]:
        if not parts:
            yield taken
            return
        for way in ways(parts[0], taken):
            yield from sequence(parts[1:], way)

    def iterations(node: Quantified, done: int, taken: Way) -> Iterator[Way]:
        def one_more() -> Iterator[Way]:
            for way in ways(node.part, taken):
                # Beyond the least number an iteration must take a row, or `(A?)*` would never end.
                if done < node.least or len(way) > len(taken):
                    yield from iterations(node, done + 1, way)

        enough = done >= node.least
        full = node.most is not None and done >= node.most
        if enough and not node.greedy:
            yield taken
        if not full:
            yield from one_more()
        if enough and node.greedy:
            yield taken

    return ways(pattern, ())


def first_match(pattern: RowNode, rows: int, holds: Holds, start: int) -> Way | None:
    """The preferred match at a row: () if it is empty, None if there is none."""
    return next(potential_matches(pattern, rows, holds, start), None)


def all_matches(
    pattern: RowNode,
    rows: int,
    holds: Holds,
    skip: AfterMatch = AfterMatch.PAST_LAST_ROW,
    to: str | None = None,
    subsets: Mapping[str, Sequence[str]] | None = None,
) -> list[RowMatch]:
    """The matches of a partition, in order. `to` is the variable or subset of SKIP TO FIRST and SKIP TO LAST."""
    matches: list[RowMatch] = []
    at = 0
    while at < rows:
        way = first_match(pattern, rows, holds, at)
        if way is None:
            at += 1
            continue
        matches.append(RowMatch(len(matches) + 1, at, way))
        at = _next_start(matches[-1], skip, to, subsets or {})
    return matches


def _next_start(
    match: RowMatch, skip: AfterMatch, to: str | None, subsets: Mapping[str, Sequence[str]]
) -> int:
    if (
        not match.taken or skip is AfterMatch.TO_NEXT_ROW
    ):  # after an empty match: the next row, whatever is said
        return match.start + 1
    if skip is AfterMatch.PAST_LAST_ROW:
        return match.taken[-1].row + 1
    if to is None:
        raise TypeError(f"{skip} needs a variable")
    members = subsets.get(to, (to,))
    candidates = [t.row for t in match.taken if t.variable in members]
    if not candidates:
        raise SkipMistake(f"no row of match {match.number} is mapped to {to}")
    target = candidates[0 if skip is AfterMatch.TO_FIRST else -1]
    if target == match.start:
        raise SkipMistake(f"match {match.number} would start again at its own first row")
    return target


def unmatched_rows(matches: Sequence[RowMatch], rows: int) -> list[int]:
    """Rows that no match takes and where no empty match is."""
    seen = {t.row for m in matches for t in m.taken} | {m.start for m in matches if not m.taken}
    return [row for row in range(rows) if row not in seen]
