"""The conditions of a row pattern's variables, asked of rows: of all rows at once where they look at nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.matching.compiled.arrow_terms import Fields, Stays
from cepheid.matching.compiled.arrow_tests import condition
from cepheid.matching.evaluate import compile_test
from cepheid.matching.moment import Moment
from cepheid.matching.rows.by_path import Watcher, Way
from cepheid.matching.rows.sight import Looks
from cepheid.matching.rows.trackers import Tracker, tracker_of
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Expr
from cepheid.pattern.row_terms import At, Condition, RowTerm

# Of a variable, at each level of what can be seen, for every row: could it be the variable? None: every row can, or it
# depends on the match.
Known = list[Any] | None


def local_answers(
    asked: Condition, table: pa.Table, offsets: Any, back: int | None = None, forth: int | None = None
) -> Any:
    """For every row of the table: could it be the variable? Of a condition that does not look back in the match.

    Neighbours more than `back` rows before or `forth` rows behind are not seen.
    """
    fields = {name: _there(term, table, offsets, back, forth) for name, term in asked.terms.items()}
    try:
        found = condition(asked.expr, Fields(fields, table.num_rows))
    except Stays:
        return _one_by_one(asked.expr, fields, table.num_rows)
    if isinstance(found, pa.Scalar):
        return np.full(table.num_rows, bool(found.as_py()))
    return pc.fill_null(found, False).to_numpy(zero_copy_only=False)


def _there(
    term: RowTerm, table: pa.Table, offsets: Any, back: int | None = None, forth: int | None = None
) -> pa.Array:
    """The column as each row sees it: its own value, or that of a neighbour in its partition."""
    assert isinstance(term, At)
    assert term.column is not None
    column = table[term.column].combine_chunks()
    if not term.shift:
        return column
    if (back is not None and -term.shift > back) or (forth is not None and term.shift > forth):
        return pa.nulls(table.num_rows, column.type)
    rows = np.arange(table.num_rows) + term.shift
    sizes = np.diff(offsets)
    there = (rows >= np.repeat(offsets[:-1], sizes)) & (rows < np.repeat(offsets[1:], sizes))
    return column.take(pa.array(rows, mask=~there))


def _one_by_one(expr: Expr, fields: Mapping[str, pa.Array], rows: int) -> Any:
    test = compile_test((expr,))
    assert test is not None
    columns = {name: column.to_pylist() for name, column in fields.items()}
    events = (Event("", 0, {name: column[row] for name, column in columns.items()}) for row in range(rows))
    return np.fromiter((test(Moment(event, {})) for event in events), np.bool_, rows)


class PathConditions:
    """Of all variables, asked along a way: those that look back by what is tracked, the others by what is known."""

    def __init__(
        self,
        variables: Sequence[str],
        conditions: Mapping[str, Condition],
        known: Sequence[Known],
        table: pa.Table,
        looks: Looks = Looks(),  # noqa: B008
    ) -> None:
        self.ahead = [conditions[name].ahead if name in conditions else 0 for name in variables]
        self.known = [None if levels is None else [a.tolist() for a in levels] for levels in known]
        self.looks = looks
        self.trackers: dict[RowTerm, Tracker] = {}
        self.asked: list[tuple[Any, list[tuple[str, Tracker]]] | None] = []
        for name in variables:
            asked = conditions.get(name)
            if asked is None or not asked.looks_back(name):
                self.asked.append(None)
                continue
            mine = []
            for field, term in asked.terms.items():
                if term not in self.trackers:
                    self.trackers[term] = tracker_of(term, table, variables)
                mine.append((field, self.trackers[term]))
            self.asked.append((compile_test((asked.expr,)), mine))
        self.watchers: Sequence[Watcher] = list(self.trackers.values())

    def holds(self, variable: int, row: int, way: Way) -> bool:
        asked = self.asked[variable]
        if asked is None:
            way.asks |= way.is_open and row + self.ahead[variable] >= way.end
            known = self.known[variable]
            return known is None or bool(known[self.looks.level(row, way.begin, way.end)][row])
        test, terms = asked
        fields = {field: tracker.value(variable, row, way) for field, tracker in terms}
        return test is None or bool(test(Moment(Event("", 0, fields), {})))
