"""All matches of a row pattern in a table of sorted rows, by the faster way where the conditions allow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.matching.rows.by_bits import MOST_MARKS, MOST_VARIABLES, match_bits
from cepheid.matching.rows.by_path import MOST_STEPS, match_paths
from cepheid.matching.rows.conditions import Known, PathConditions, local_answers
from cepheid.matching.rows.found import Matches, OpenEnds, Skipping
from cepheid.matching.rows.program import RowProgram
from cepheid.matching.rows.sight import Looks
from cepheid.pattern.row_terms import Condition


def match_rows(
    program: RowProgram,
    conditions: Mapping[str, Condition],
    table: pa.Table,
    offsets: Any,
    skipping: Skipping,
    times: Any = None,
    within: int | None = None,
    most_steps: int = MOST_STEPS,
    ends: OpenEnds | None = None,
) -> Matches:
    """Partitions lie between `offsets`, their rows in order. A variable without a condition takes every row.

    With open ends only what is certain is found.
    """
    known = answers(program, conditions, table, offsets)
    if goes_by_bits(program, conditions):
        bits = bits_of(known, table.num_rows)
        unknown = None if ends is None else _not_known_yet(program, conditions, offsets)
        if unknown is not None:
            bits &= ~unknown
        return match_bits(program, bits, offsets, skipping, times, within, ends, unknown)
    asked = PathConditions(program.variables, conditions, known, table)
    return match_paths(program, asked, offsets, skipping, times, within, most_steps, ends)


def goes_by_bits(program: RowProgram, conditions: Mapping[str, Condition]) -> bool:
    local = not any(asked.looks_back(name) for name, asked in conditions.items() if name in program.variables)
    return local and len(program.variables) <= MOST_VARIABLES and program.marks <= MOST_MARKS


def answers(
    program: RowProgram,
    conditions: Mapping[str, Condition],
    table: pa.Table,
    offsets: Any,
    looks: Looks = Looks(),  # noqa: B008
) -> list[Known]:
    """Of each variable which rows could be it, at each level of what can be seen."""
    found: list[Known] = []
    for name in program.variables:
        asked = conditions.get(name)
        if asked is None or asked.looks_back(name):
            found.append(None)
            continue
        own = Looks.of([asked])  # where nothing is hidden from this one the answers are the same
        seen: dict[tuple[int, int], Any] = {}
        levels = []
        for back, forth in looks.levels():
            sees = _sees(own.back, looks.back, back), _sees(own.forth, looks.forth, forth)
            if sees not in seen:
                seen[sees] = local_answers(asked, table, offsets, *sees)
            levels.append(seen[sees])
        found.append(levels)
    return found


def _sees(own: tuple[int, ...], levelled: tuple[int, ...], limit: int) -> int:
    """How far a condition sees: as far as it looks, where nothing is ever hidden."""
    return max((d for d in own if not levelled or d <= limit), default=0)


def bits_of(known: list[Known], rows: int, levels: int = 1) -> Any:
    found = np.zeros((levels, rows), np.int64)
    for code, by_level in enumerate(known):
        for level in range(levels):
            found[level] |= (1 if by_level is None else by_level[level].astype(np.int64)) << code
    return found


def _not_known_yet(program: RowProgram, conditions: Mapping[str, Condition], offsets: Any) -> Any:
    """As bits, the variables that look at rows after the last (NEXT); None if none looks ahead."""
    ahead = {i: conditions[name].ahead for i, name in enumerate(program.variables) if name in conditions}
    if not any(ahead.values()):
        return None
    left = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(offsets[-1])  # rows, itself among them
    found = np.zeros(len(left), np.int64)
    for code, rows in ahead.items():
        found |= (left <= rows).astype(np.int64) << code
    return found
