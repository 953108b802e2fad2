"""How far conditions look at neighbours. Near the ends of a frame less is seen: a row outside of it is null.

So there are levels. At level 0 all is seen; at the others some of the neighbours that are asked for are hidden, and
the answers of the conditions are another row of bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cepheid.pattern.row_terms import At, Condition


@dataclass(frozen=True)
class Looks:
    """The distances that are asked for, backward (PREV) and forward (NEXT), each once and in order."""

    back: tuple[int, ...] = ()
    forth: tuple[int, ...] = ()

    @classmethod
    def of(cls, conditions: Iterable[Condition]) -> Looks:
        shifts = {t.shift for c in conditions for t in c.terms.values() if isinstance(t, At)}
        return cls(
            tuple(sorted(-s for s in shifts if s < 0)),
            tuple(sorted(s for s in shifts if s > 0)),
        )

    def levels(self) -> list[tuple[int, int]]:
        """How far can be seen at each level, backward and forward."""
        backs = [(0, *self.back)[len(self.back) - hidden] for hidden in range(len(self.back) + 1)]
        forths = [(0, *self.forth)[len(self.forth) - hidden] for hidden in range(len(self.forth) + 1)]
        return [(back, forth) for back in backs for forth in forths]

    def level(self, row: int, low: int, high: int) -> int:
        hidden_back = sum(1 for distance in self.back if row - distance < low)
        hidden_forth = sum(1 for distance in self.forth if row + distance >= high)
        return hidden_back * (len(self.forth) + 1) + hidden_forth


_NOTHING_HIDDEN = Looks()


class Sight(NamedTuple):
    """The same for the compiled matcher: by level and row, which variables the row may be."""

    bits: Any
    back: Any  # the last is the furthest; 0 if there is none
    forth: Any


def sight_of(bits: Any, looks: Looks = _NOTHING_HIDDEN) -> Sight:
    """`bits` has a row for each level; only one, if nothing is ever hidden."""
    return Sight(
        np.atleast_2d(bits),
        np.array((0, *looks.back), np.int64),
        np.array((0, *looks.forth), np.int64),
    )


@njit(cache=True, nogil=True)
def level_of(back, forth, row, low, high):  # type: ignore[no-untyped-def]
    hidden_back = hidden_forth = 0
    for distance in back[1:]:
        hidden_back += row - distance < low
    for distance in forth[1:]:
        hidden_forth += row + distance >= high
    return hidden_back * len(forth) + hidden_forth
