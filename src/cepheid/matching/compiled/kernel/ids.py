"""Match ids in the kernel: the two lanes of `matching/ids.py`."""

from __future__ import annotations

import numpy as np

from cepheid.matching.compiled.kernel.jit import inner
from cepheid.matching.ids import LANES

LANE_ONE = (np.uint64(LANES[0][0]), np.uint64(LANES[0][1]))
LANE_TWO = (np.uint64(LANES[1][0]), np.uint64(LANES[1][1]))


@inner
def mix(state, word, first, second):
    x = (state ^ np.uint64(word)) * first
    x ^= x >> np.uint64(29)
    x *= second
    return x ^ (x >> np.uint64(32))
