"""What conditions ask of the match so far, kept while a way is tried: rows come and are taken back again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cepheid.matching.rows.by_path import Way
from cepheid.matching.rows.kept import NOTHING, STEPS, State, is_null, state_value, whole_value
from cepheid.pattern.row_terms import At, MatchNumber, Over, RowTerm, Variables


def tracker_of(term: RowTerm, table: pa.Table, variables: Sequence[str]) -> Tracker:
    if isinstance(term, MatchNumber):
        return NumberTracker()
    if isinstance(term, At):
        return AtTracker(term, table, variables)
    assert isinstance(term, Over)
    return (
        _Sums(term, table, variables)
        if term.function in STEPS and not term.distinct
        else _All(term, table, variables)
    )


class Tracker(ABC):
    """`value` is asked of a row before it is taken: as if it were, and were the variable."""

    def take(self, row: int, variable: int, depth: int) -> None:  # noqa: B027  # some need not look
        pass

    def cut(self, depth: int) -> None:  # noqa: B027
        pass

    @abstractmethod
    def value(self, variable: int, row: int, way: Way) -> Any: ...


class NumberTracker(Tracker):
    def value(self, variable: int, row: int, way: Way) -> Any:
        return way.number


class _Chosen(Tracker):
    """The rows of some variables."""

    def __init__(self, chosen: Variables, variables: Sequence[str]) -> None:
        self.codes = {code for code, name in enumerate(variables) if chosen is None or name in chosen}
        self.rows: list[int] = []
        self.depths: list[int] = []

    def take(self, row: int, variable: int, depth: int) -> None:
        if variable in self.codes:
            self.rows.append(row)
            self.depths.append(depth)

    def cut(self, depth: int) -> None:
        while self.depths and self.depths[-1] >= depth:
            self.rows.pop()
            self.depths.pop()


class AtTracker(_Chosen):
    def __init__(self, term: At, table: pa.Table, variables: Sequence[str]) -> None:
        super().__init__(term.variables, variables)
        self.term, self.names = term, variables
        self.values = None if term.column is None else table[term.column].to_pylist()
        self.labels: list[int] = []  # the variable of each row of the match

    def take(self, row: int, variable: int, depth: int) -> None:
        super().take(row, variable, depth)
        self.labels.append(variable)

    def cut(self, depth: int) -> None:
        super().cut(depth)
        del self.labels[depth:]

    def value(self, variable: int, row: int, way: Way) -> Any:
        own = variable in self.codes
        size = len(self.rows) + own
        place = self.term.offset if self.term.first else size - 1 - self.term.offset
        if not 0 <= place < size:
            return None
        current = own and place == size - 1
        found = (row if current else self.rows[place]) + self.term.shift
        if self.values is None:
            return self._label(found, row, variable, way)
        way.asks |= way.is_open and found >= way.end
        return self.values[found] if way.begin <= found < way.end else None

    def _label(self, found: int, row: int, variable: int, way: Way) -> str | None:
        """Only rows of the match so far have a variable."""
        if found == row:
            return self.names[variable]
        return self.names[self.labels[found - way.start]] if way.start <= found < row else None


class _Of(_Chosen):
    """Values of an aggregate's rows: pairs, if it has two columns."""

    def __init__(self, term: Over, table: pa.Table, variables: Sequence[str]) -> None:
        super().__init__(term.variables, variables)
        self.term = term
        self.values: list[Any] = (
            [1] * table.num_rows if term.column is None else table[term.column].to_pylist()
        )
        if term.by is not None:
            self.values = list(zip(self.values, table[term.by].to_pylist(), strict=True))


class _Sums(_Of):
    """Those of which each row's is made from the one before."""

    def __init__(self, term: Over, table: pa.Table, variables: Sequence[str]) -> None:
        super().__init__(term, table, variables)
        self.step = STEPS[term.function]
        self.states: list[State] = []

    def take(self, row: int, variable: int, depth: int) -> None:
        if variable in self.codes:
            self.states.append(self._after(row))
        super().take(row, variable, depth)

    def cut(self, depth: int) -> None:
        super().cut(depth)
        del self.states[len(self.rows) :]

    def _after(self, row: int) -> State:
        before = self.states[-1] if self.states else NOTHING
        value = self.values[row]
        return before if is_null(self.term.function, value) else self.step(before, value)

    def value(self, variable: int, row: int, way: Way) -> Any:
        before = self.states[-1] if self.states else NOTHING
        state = self._after(row) if variable in self.codes else before
        return state_value(self.term.function, state)


class _All(_Of):
    """Any other aggregate, over all values again."""

    def value(self, variable: int, row: int, way: Way) -> Any:
        rows = [*self.rows, row] if variable in self.codes else self.rows
        return whole_value(self.term, [self.values[r] for r in rows])
