"""Patterns that share closures, as the tables that the compiled functions read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from cepheid.plan.linked_trends import LinkTest
from cepheid.plan.shared_closures import LinkedPattern, SharedTrends
from cepheid.trends.columns import FieldColumns, MeasureColumns, Numbers
from cepheid.trends.kernel.side_by_side import OPERATORS, Machine, Rows
from cepheid.trends.ranks import joint_ranks

Answer = tuple[int, int]  # of a pattern: a window (-1: none) and when there are rows


def machine_of(
    shared: SharedTrends,
    patterns: Sequence[LinkedPattern],
    measures: Sequence[MeasureColumns],
    answers: Sequence[Sequence[Answer]],
) -> Machine:
    """`measures` and `answers` are those of each pattern."""
    places = _places(shared, measures)
    moves = [
        [
            move.pattern,
            move.position,
            move.completes,
            places[way.source][move.pattern],
            places[way.target][move.pattern] if way.target is not None else -1,
        ]
        for way in shared.ways
        for move in way.moves
    ]
    pairs = _pairs(shared)
    links = [
        [OPERATORS.index(t.op), t.of, t.lenient, pairs.index((t.field, t.other))] for t in _links(shared)
    ]
    ways = [[w.test, w.source, -1 if w.target is None else w.target, w.names] for w in shared.ways]
    return Machine(
        _table(ways, 4),
        _spans(len(w.links) for w in shared.ways),
        _table(links, 4),
        _spans(len(w.moves) for w in shared.ways),
        _table(moves, 5),
        _table(list(zip(shared.keeps_last, shared.keeps_named, strict=True)), 2),
        _spans(map(len, places)),
        _table([[pattern, at] for own in places for pattern, at in own.items()], 2),
        _table(_patterns(shared, patterns, measures, answers), 4),
        _spans(map(len, answers)),
        _table([answer for own in answers for answer in own], 2),
        patterns[0].bounded,
    )


def rows_of(
    shared: SharedTrends,
    times: Numbers,
    bits: Numbers,
    measures: Sequence[MeasureColumns],
    columns: FieldColumns,
) -> Rows:
    """Raises NotWhole."""
    weights = [w for own in measures for w in own.weights]
    distinct = {id(w): w for w in weights}
    numbers = {key: i for i, key in enumerate(distinct)}
    ranks = [joint_ranks(columns.read(field), columns.read(other)) for field, other in _pairs(shared)]
    return Rows(
        times,
        bits,
        _stacked(list(distinct.values()), len(times)),
        np.array([numbers[id(w)] for w in weights], np.int64),
        np.array([mask for own in measures for mask in own.masks], np.int64),
        np.array([kind for own in measures for kind in own.kinds], np.int64),
        _stacked([own for own, _ in ranks], len(times)),
        _stacked([other for _, other in ranks], len(times)),
    )


def _places(shared: SharedTrends, measures: Sequence[MeasureColumns]) -> list[dict[int, int]]:
    """Of each state: where in its nodes the totals of each pattern are."""
    found = []
    for own in shared.patterns_of:
        starts = accumulate((measures[pattern].width for pattern in own), initial=0)
        found.append(dict(zip(own, starts, strict=False)))
    return found


def _patterns(
    shared: SharedTrends,
    patterns: Sequence[LinkedPattern],
    measures: Sequence[MeasureColumns],
    answers: Sequence[Sequence[Answer]],
) -> list[list[int]]:
    firsts = accumulate((len(own.weights) for own in measures), initial=0)
    found = []
    for pattern, own, first, given in zip(patterns, measures, firsts, answers, strict=False):
        reads = sum(1 << number for number, test in enumerate(shared.tests) if test in pattern.tests)
        found.append([first, first + len(own.weights), reads, max(within for within, _ in given)])
    return found


def _links(shared: SharedTrends) -> list[LinkTest]:
    return [link for way in shared.ways for link in way.links]


def _pairs(shared: SharedTrends) -> list[tuple[str, str]]:
    """The fields that links compare."""
    return list(dict.fromkeys((link.field, link.other) for link in _links(shared)))


def _table(rows: Iterable[Sequence[int]], width: int) -> Numbers:
    return np.array(list(rows), np.int64).reshape(-1, width)


def _spans(lengths: Iterable[int]) -> Numbers:
    return np.array(list(accumulate(lengths, initial=0)), np.int64)


def _stacked(columns: Sequence[Numbers], count: int) -> Numbers:
    return np.stack(columns) if columns else np.zeros((0, count), np.int64)
