"""What conditions ask of the match so far, kept while a way is tried: rows come and are taken back again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cepheid.matching.rows.aggregates import PYTHON
from cepheid.matching.rows.by_path import Way
from cepheid.pattern.row_terms import At, MatchNumber, Over, RowTerm, Variables


def tracker_of(term: RowTerm, table: pa.Table, variables: Sequence[str]) -> Tracker:
    if isinstance(term, MatchNumber):
        return NumberTracker()
    if isinstance(term, At):
        return AtTracker(term, table, variables)
    assert isinstance(term, Over)
    return (
        _Sums(term, table, variables)
        if term.function in _SUMS and not term.distinct
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
        self.labels: list[int] = []  # the variable of each chosen row

    def take(self, row: int, variable: int, depth: int) -> None:
        super().take(row, variable, depth)
        if variable in self.codes:
            self.labels.append(variable)

    def cut(self, depth: int) -> None:
        super().cut(depth)
        del self.labels[len(self.rows) :]

    def value(self, variable: int, row: int, way: Way) -> Any:
        own = variable in self.codes
        size = len(self.rows) + own
        place = self.term.offset if self.term.first else size - 1 - self.term.offset
        if not 0 <= place < size:
            return None
        current = own and place == size - 1
        if self.values is None:
            return self.names[variable if current else self.labels[place]]
        found = (row if current else self.rows[place]) + self.term.shift
        way.asks |= way.is_open and found >= way.end
        return self.values[found] if way.begin <= found < way.end else None


class _Sums(_Chosen):
    """Sums and counts, least and greatest: each row's is made from the one before."""

    def __init__(self, term: Over, table: pa.Table, variables: Sequence[str]) -> None:
        super().__init__(term.variables, variables)
        self.function = term.function
        self.values = [1] * table.num_rows if term.column is None else table[term.column].to_pylist()
        self.states: list[tuple[int, Any]] = []

    def take(self, row: int, variable: int, depth: int) -> None:
        if variable in self.codes:
            self.states.append(self._after(row))
        super().take(row, variable, depth)

    def cut(self, depth: int) -> None:
        super().cut(depth)
        del self.states[len(self.rows) :]

    def _after(self, row: int) -> tuple[int, Any]:
        count, kept = self.states[-1] if self.states else (0, None)
        value = self.values[row]
        if value is None:
            return count, kept
        if kept is None:
            return 1, value
        if self.function in ("min", "max"):
            return count + 1, min(kept, value) if self.function == "min" else max(kept, value)
        return count + 1, kept + value if self.function != "count" else kept

    def value(self, variable: int, row: int, way: Way) -> Any:
        before: tuple[int, Any] = self.states[-1] if self.states else (0, None)
        count, kept = self._after(row) if variable in self.codes else before
        if self.function == "count":
            return count
        return kept / count if self.function == "avg" and count else kept


_SUMS = ("count", "sum", "avg", "min", "max")


class _All(_Chosen):
    """Any other aggregate, over all values again."""

    def __init__(self, term: Over, table: pa.Table, variables: Sequence[str]) -> None:
        super().__init__(term.variables, variables)
        self.term, self.function = term, PYTHON[term.function]
        assert term.column is not None
        self.values = table[term.column].to_pylist()

    def value(self, variable: int, row: int, way: Way) -> Any:
        rows = [*self.rows, row] if variable in self.codes else self.rows
        known = [v for v in (self.values[r] for r in rows) if v is not None]
        return self.function(list(dict.fromkeys(known)) if self.term.distinct else known)
