"""All rows of all matches as one table, for aggregates that the database computes.

Each match is a group. Where a row of the answer stands, the row has what else belongs to it: `POINT` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.matching.rows.found import Matches
from cepheid.matching.rows.terms import MatchedRows, Points
from cepheid.sql_lang.asking import MATCH, UNMATCHED
from cepheid.sql_lang.clause import Rows
from cepheid.sql_lang.database_aggregates import GROUP, POINT, STEP, chosen_name
from cepheid.sql_lang.expressions import LABEL, NUMBER
from cepheid.sql_lang.row_query import RowQuery


def all_matched_fields(query: RowQuery, kinds: Mapping[str, pa.DataType]) -> list[tuple[str, pa.DataType]]:
    """The columns that the table has for the aggregates, with their types as far as those asked for are known."""
    if not query.left:
        return []
    fields: dict[str, pa.DataType] = {}
    for over in query.left_calls.values():
        assert over.call is not None
        fields |= {name: _KINDS.get(name) or kinds.get(name) for name in over.call.columns}
        fields[chosen_name(query, over.variables)] = pa.bool_()
    return [*fields.items(), (GROUP, pa.int64()), (STEP, pa.int64()), (POINT, pa.bool_())]


_KINDS = {LABEL: pa.string(), NUMBER: pa.int64()}


@dataclass(frozen=True)
class _Lines:
    """Of the table that is made: a row of a match, an empty match, or a row in none."""

    places: Any  # among the rows of all matches; -1 of others
    matches: Any  # -1 of a row in none
    steps: Any  # from 1 in each match; 0 of others
    rows: Any  # of the table that was matched


def all_matched(query: RowQuery, rows: MatchedRows, kept: pa.Table, first_group: int = 0) -> pa.Table:
    lines = _lines(query, rows, kept.num_rows)
    points = _points(query, rows, lines)
    columns = {n: kept[n].take(pa.array(lines.rows, mask=~points)) for n in kept.column_names}
    columns |= _terms(query, rows, lines, points)
    in_match = lines.matches >= 0
    columns[MATCH] = pa.array(lines.matches, mask=~in_match)
    if query.rows is Rows.ALL_WITH_UNMATCHED:
        columns[UNMATCHED] = pa.array(~in_match)
    columns |= _asked(query, rows, lines)
    columns[GROUP] = pa.array(first_group + _groups(lines, len(rows.matches)))
    columns[STEP] = pa.array(lines.steps)
    columns[POINT] = pa.array(points)
    return pa.table(columns)


def _groups(lines: _Lines, matches: int) -> Any:
    """A number for each match and each row in none, in the order in which they first stand."""
    in_match = lines.matches >= 0
    own = np.where(in_match, lines.matches, np.cumsum(~in_match) - 1 + matches)
    _, first, groups = np.unique(own, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


def _lines(query: RowQuery, rows: MatchedRows, count: int) -> _Lines:
    found = rows.matches
    places = np.arange(len(found.labels))
    matches = np.repeat(np.arange(len(found)), found.sizes)
    steps = places - np.repeat(rows.begins, found.sizes) + 1
    empty = np.flatnonzero(found.sizes == 0) if query.rows is not Rows.ALL_OMIT_EMPTY else np.zeros(0, int)
    free = _free(rows, found, count) if query.rows is Rows.ALL_WITH_UNMATCHED else np.zeros(0, int)
    others = np.zeros(len(empty) + len(free), np.int64)
    lines = _Lines(
        np.concatenate([places, others - 1]),
        np.concatenate([matches, empty, np.full(len(free), -1)]),
        np.concatenate([steps, others]),
        np.concatenate([rows.rows, found.starts[empty], free]),
    )
    by = (lines.steps, lines.rows) if len(free) else (lines.steps, lines.matches)
    order = np.lexsort(by)
    return _Lines(lines.places[order], lines.matches[order], lines.steps[order], lines.rows[order])


def _free(rows: MatchedRows, found: Matches, count: int) -> Any:
    free = np.ones(count, np.bool_)
    free[rows.rows] = False
    free[found.starts] = False
    return np.flatnonzero(free)


def _points(query: RowQuery, rows: MatchedRows, lines: _Lines) -> Any:
    if not query.all_rows:
        return lines.steps <= 1
    labels = rows.matches.labels
    if not len(labels):
        return np.ones(len(lines.rows), np.bool_)
    return (lines.steps == 0) | ~rows.program.excluded[labels[lines.places]]


def _terms(query: RowQuery, rows: MatchedRows, lines: _Lines, points: Any) -> dict[str, pa.Array]:
    """Those that are known here."""
    own = {name: term for name, term in query.terms.items() if name not in query.left}
    inside = points & (lines.matches >= 0)
    if not query.all_rows:
        there = rows.last_points()
        which = pa.array(lines.matches, mask=~inside)
    else:
        there = Points(lines.matches[inside], lines.steps[inside])
        which = pa.array(np.cumsum(inside) - 1, mask=~inside)
    return {name: rows.value(term, there).take(which) for name, term in own.items()}


def _asked(query: RowQuery, rows: MatchedRows, lines: _Lines) -> dict[str, pa.Array]:
    """What the aggregates need of each row, and for which of them it counts."""
    taken = lines.steps > 0
    columns: dict[str, Any] = {}
    for over in query.left_calls.values():
        assert over.call is not None
        columns |= {name: None for name in over.call.columns if name not in columns}
        columns.setdefault(chosen_name(query, over.variables), _chosen(rows, lines, over.variables))
    codes = rows.variables[lines.places] if len(rows.variables) else np.zeros(len(taken), np.int64)
    for name in columns:
        if name == LABEL:
            columns[name] = pa.array([*rows.program.variables], pa.string()).take(
                pa.array(codes, mask=~taken)
            )
        elif name == NUMBER:
            columns[name] = pa.array(rows.numbers[lines.matches] if len(rows.numbers) else codes, mask=~taken)
        elif columns[name] is None:
            columns[name] = rows.column(name).take(pa.array(lines.rows, mask=~taken))
    return columns


def _chosen(rows: MatchedRows, lines: _Lines, variables: frozenset[str] | None) -> pa.Array:
    taken = lines.steps > 0
    if variables is None or not len(rows.variables):
        return pa.array(taken)
    codes = [i for i, name in enumerate(rows.program.variables) if name in variables]
    return pa.array(taken & np.isin(rows.variables[lines.places], codes))
