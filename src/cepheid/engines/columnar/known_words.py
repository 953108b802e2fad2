"""The numbers that stand for keys in match ids, worked out once for all streams that share the keys."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cepheid.engines.columnar.instants import Numbers

Words = npt.NDArray[np.uint64]


class KnownWords:
    """By the numbers of keys."""

    def __init__(self, keys: int) -> None:
        self._words, self._known = np.zeros(keys, np.uint64), np.zeros(keys, np.bool_)

    def of(self, keys: Numbers, rows: Numbers, worked_out: Callable[[Numbers], Words]) -> Words:
        """`rows` is a row of each of the keys."""
        new = np.flatnonzero(~self._known[keys])
        if len(new):
            numbers, first = np.unique(keys[new], return_index=True)
            self._words[numbers] = worked_out(rows[new[first]])
            self._known[numbers] = True
        found: Words = self._words[keys]
        return found
