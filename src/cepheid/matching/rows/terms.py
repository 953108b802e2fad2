"""The values of terms, for many matches at once: for each point, which is a match and its last row that counts.

All rows of all matches lie one after the other. Of the rows of some variables, the first or the last up to a point is
found by counting; nothing is looked for match by match.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.matching.rows.aggregates import aggregated
from cepheid.matching.rows.found import Matches
from cepheid.matching.rows.program import RowProgram
from cepheid.pattern.row_terms import At, MatchNumber, Over, RowTerm, Variables


@dataclass(frozen=True)
class Points:
    """Where values are wanted: a match, and how many of its rows count."""

    matches: Any
    counted: Any  # rows of the match that count; those are its first
    low: Any = (
        None  # the first row of the table that can be seen, and one more than the last; None: the partition's
    )
    high: Any = None


class MatchedRows:
    """The rows of all matches of a table of sorted rows."""

    def __init__(
        self, program: RowProgram, table: pa.Table, offsets: Any, matches: Matches, counts: Any = None
    ) -> None:
        """`counts`: how many matches each partition had before."""
        self.program, self.table, self.offsets, self.matches = program, table, offsets, matches
        self.counts = counts
        self.ends = np.cumsum(matches.sizes)
        self.begins = self.ends - matches.sizes

    @cached_property
    def rows(self) -> Any:
        """The row in the table of each row of a match."""
        steps = np.arange(len(self.matches.labels)) - np.repeat(self.begins, self.matches.sizes)
        return np.repeat(self.matches.starts, self.matches.sizes) + steps

    @cached_property
    def variables(self) -> Any:
        """By their numbers in the program."""
        return self.program.first[self.matches.labels]

    @cached_property
    def numbers(self) -> Any:
        """Of the matches, from 1 in each partition."""
        partitions = self.matches.partitions
        first = np.searchsorted(partitions, partitions, "left")
        before = 0 if self.counts is None else self.counts[partitions]
        return np.arange(len(partitions)) - first + 1 + before

    def last_points(self) -> Points:
        return Points(np.arange(len(self.matches)), self.matches.sizes)

    def of(self, variables: Variables) -> Chosen:
        if variables not in self._chosen:
            self._chosen[variables] = Chosen.of(self, variables)
        return self._chosen[variables]

    @cached_property
    def _chosen(self) -> dict[Variables, Chosen]:
        return {}

    def value(self, term: RowTerm, points: Points) -> pa.Array:
        """One for each point."""
        counted = self.matches.sizes[points.matches] if term.final else points.counted
        if isinstance(term, MatchNumber):
            return pa.array(self.numbers[points.matches])
        if isinstance(term, At):
            return self._at(term, points, counted)
        assert isinstance(term, Over)
        chosen = self.of(term.variables)
        begin, end = chosen.begin(points.matches), chosen.upto(points.matches, counted)
        values, by = (self._values(column, chosen) for column in (term.column, term.by))
        return aggregated(term, values, begin, end, by)

    def _values(self, column: str | None, chosen: Chosen) -> pa.Array | None:
        """Of all rows that are chosen."""
        return None if column is None else self.column(column).take(pa.array(self.rows[chosen.places]))

    def _at(self, term: At, points: Points, counted: Any) -> pa.Array:
        matches = points.matches
        places, there = self._places(term, matches, counted)
        if term.column is None:
            return self._labels(places + term.shift, there, matches)
        rows = self._rows_at(term, places)
        low, high = points.low, points.high
        if low is None:
            partitions = self.matches.partitions[matches]
            low, high = self.offsets[partitions], self.offsets[partitions + 1]
        there &= (rows >= low) & (rows < high)
        return self.column(term.column).take(pa.array(rows, mask=~there))

    def asks(self, term: RowTerm, points: Points) -> Any:
        """At which points the term looks at a row after the last of the partition: NEXT."""
        if not isinstance(term, At) or term.column is None or term.shift <= 0:
            return np.zeros(len(points.matches), np.bool_)
        counted = self.matches.sizes[points.matches] if term.final else points.counted
        places, there = self._places(term, points.matches, counted)
        ends = self.offsets[self.matches.partitions[points.matches] + 1]
        return there & (self._rows_at(term, places) >= ends)

    def _rows_at(self, term: At, places: Any) -> Any:
        return (self.rows[places] if len(self.rows) else places) + term.shift

    def _places(self, term: At, matches: Any, counted: Any) -> tuple[Any, Any]:
        """Which of all rows of all matches the term means, before it goes rows away; and whether there is one."""
        chosen = self.of(term.variables)
        begin, end = chosen.begin(matches), chosen.upto(matches, counted)
        which = begin + term.offset if term.first else end - 1 - term.offset
        there = (which >= begin) & (which < end)
        places = (
            chosen.places[np.where(there, which, 0)] if len(chosen.places) else np.zeros(len(which), np.int64)
        )
        return places, there

    def _labels(self, places: Any, there: Any, matches: Any) -> pa.Array:
        """Variables by name, of those places that are in the match."""
        there = there & (places >= self.begins[matches]) & (places < self.ends[matches])
        codes = self.variables[np.where(there, places, 0)] if len(self.variables) else places
        return pa.array([*self.program.variables], pa.string()).take(pa.array(codes, mask=~there))

    def column(self, name: str) -> pa.Array:
        column = self.table[name]
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


@dataclass(frozen=True)
class Chosen:
    """The rows of some variables among all rows of all matches."""

    places: Any  # among the rows of all matches
    before: Any  # how many are chosen before each place; one more than there are places
    begins: Any  # of the matches

    @classmethod
    def of(cls, rows: MatchedRows, variables: Variables) -> Chosen:
        if variables is None:
            every = np.arange(len(rows.matches.labels) + 1)
            return cls(every[:-1], every, rows.begins)
        codes = [i for i, name in enumerate(rows.program.variables) if name in variables]
        mine = np.isin(rows.variables, codes)
        before = np.concatenate([[0], np.cumsum(mine)])
        return cls(np.flatnonzero(mine), before, rows.begins)

    def begin(self, matches: Any) -> Any:
        """The number of the first that can be of a match."""
        return self.before[self.begins[matches]]

    def upto(self, matches: Any, counted: Any) -> Any:
        """One more than the number of the last among the first rows of a match."""
        return self.before[self.begins[matches] + counted]
