"""The ids of many matches at once: the two lanes of `matching/ids.py` over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.matching.compiled.tables import Table
from cepheid.matching.ids import LANES


def match_lanes(pattern: int, keys: Any, counts: Table, positions: Table, times: Table, ranks: Table) -> Any:
    """Two numbers a match. Matches with equally many events are worked out together, event by event."""
    lanes = np.empty((len(counts), 2), np.uint64)
    begins = np.cumsum(counts) - counts
    for count in np.unique(counts).tolist():
        which = np.flatnonzero(counts == count)
        for lane, (first, second) in enumerate(LANES):
            state = np.full(len(which), 2 + 3 * count, np.uint64)
            state = _mixed(state, np.uint64(pattern), first, second)
            state = _mixed(state, keys[which], first, second)
            for i in range(count):
                at = begins[which] + i
                for words in (positions, times, ranks):
                    state = _mixed(state, words[at].astype(np.uint64), first, second)
            lanes[which, lane] = state
    return lanes


def _mixed(state: Any, word: Any, first: int, second: int) -> Any:
    x = (state ^ word) * np.uint64(first)
    x ^= x >> np.uint64(29)
    x = x * np.uint64(second)
    return x ^ (x >> np.uint64(32))
