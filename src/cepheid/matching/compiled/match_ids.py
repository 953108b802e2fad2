"""The ids of many matches at once: the two lanes of `matching/ids.py` over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from cepheid.matching.compiled.tables import Table
from cepheid.matching.ids import LANES

_FACTORS = np.array(LANES, np.uint64)


def match_lanes(pattern: int, keys: Any, counts: Table, positions: Table, times: Table, ranks: Table) -> Any:
    """Two numbers a match, whose events lie one after the other."""
    lanes = np.empty((len(counts), len(LANES)), np.uint64)
    words = np.stack([positions, times, ranks]).astype(np.uint64)
    _fill(lanes, _FACTORS, np.uint64(pattern), keys, np.ascontiguousarray(counts), words)
    return lanes


def id_texts(lanes: Any) -> pa.Array:
    """As they are told: 32 hex digits each."""
    text = lanes.astype(">u8").tobytes().hex().encode()
    offsets = np.arange(0, 32 * len(lanes) + 1, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(len(lanes), pa.py_buffer(offsets), pa.py_buffer(text))


@njit(cache=True, nogil=True)
def _fill(lanes, factors, pattern, keys, counts, words):  # type: ignore[no-untyped-def]
    begin = 0
    for match in range(len(counts)):
        end = begin + counts[match]
        for lane in range(len(factors)):
            first, second = factors[lane]
            state = np.uint64(2 + 3 * counts[match])
            state = _mixed(state, pattern, first, second)
            state = _mixed(state, keys[match], first, second)
            for i in range(begin, end):
                for word in words[:, i]:
                    state = _mixed(state, word, first, second)
            lanes[match, lane] = state
        begin = end


@njit(cache=True)
def _mixed(state, word, first, second):  # type: ignore[no-untyped-def]
    x = (state ^ word) * first
    x ^= x >> np.uint64(29)
    x *= second
    return x ^ (x >> np.uint64(32))
