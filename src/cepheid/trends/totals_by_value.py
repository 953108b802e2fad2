"""Totals by a value, added up over all values that compare with another in some way, without looking at each.

Values lie in order in blocks, each with the total of its own: a range is some whole blocks and parts of one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cepheid.pattern.values import TIMES, Clash, as_utc, equal, kind_of, ordered_pair
from cepheid.trends.measures import Measures, Totals

_LARGE = 128  # values of a block; then it becomes two
_IN_ORDER = ("bool", "int", "float", "decimal", "string", "bytes", "duration", "timestamp")


@dataclass
class _Block:
    values: list[Any] = field(default_factory=list)
    totals: list[Totals] = field(default_factory=list)
    total: Totals = ()


class TotalsByValue:
    """Values of whatever kinds, none of them null. Those of a kind lie in order together."""

    def __init__(self, measures: Measures) -> None:
        self.measures = measures
        self.kinds: dict[str, list[_Block]] = {}
        self.others: list[tuple[Any, Totals]] = []  # lists, structs: they are equal or not

    def add(self, value: Any, totals: Totals) -> None:
        kind = kind_of(value)
        if kind in TIMES:
            kind, value = "timestamp", as_utc(value)
        if kind not in _IN_ORDER:
            self.others.append((value, totals))
            return
        blocks = self.kinds.setdefault(kind, [_Block()])
        at = min(bisect_left(blocks, value, key=_last_of), len(blocks) - 1) if blocks[0].values else 0
        block = blocks[at]
        place = bisect_left(block.values, value)
        if place < len(block.values) and block.values[place] == value:
            block.totals[place] = self.measures.added(block.totals[place], totals)
        else:
            block.values.insert(place, value)
            block.totals.insert(place, totals)
        block.total = self.measures.added(block.total, totals) if block.total else totals
        if len(block.values) > _LARGE:
            blocks[at : at + 1] = self._halves(block)

    def _halves(self, block: _Block) -> list[_Block]:
        half = len(block.values) // 2
        parts = [
            _Block(block.values[:half], block.totals[:half]),
            _Block(block.values[half:], block.totals[half:]),
        ]
        for part in parts:
            part.total = self._sum(part.totals)
        return parts

    def matching(self, op: str, value: Any) -> Totals:
        """The totals of all known values v for which `value op v` holds."""
        found = self.measures.empty
        for blocks in self.kinds.values():
            target = ordered_pair(blocks[0].values[0], value)[1]  # a Clash, if they cannot be compared

            def key(known: Any) -> Any:
                return ordered_pair(known, value)[0]

            for below, inclusive in _RANGES[op]:
                part = self._below if below else self._above
                found = self.measures.added(found, part(blocks, target, inclusive, key))
            if op == "==":
                found = self.measures.added(found, self._at(blocks, target, key))
        for known, totals in self.others:
            if _compared(op, value, known):
                found = self.measures.added(found, totals)
        return found

    def _below(self, blocks: list[_Block], target: Any, inclusive: bool, key: Callable[[Any], Any]) -> Totals:
        found = self.measures.empty
        cut = bisect_right if inclusive else bisect_left
        for block in blocks:
            at = cut(block.values, target, key=key)
            if at < len(block.values):
                return self.measures.added(found, self._sum(block.totals[:at]))
            found = self.measures.added(found, block.total)
        return found

    def _above(self, blocks: list[_Block], target: Any, inclusive: bool, key: Callable[[Any], Any]) -> Totals:
        found = self.measures.empty
        cut = bisect_left if inclusive else bisect_right
        for block in reversed(blocks):
            at = cut(block.values, target, key=key)
            if at > 0:
                return self.measures.added(found, self._sum(block.totals[at:]))
            found = self.measures.added(found, block.total)
        return found

    def _at(self, blocks: list[_Block], target: Any, key: Callable[[Any], Any]) -> Totals:
        found = self.measures.empty
        for block in blocks:
            first, last = (cut(block.values, target, key=key) for cut in (bisect_left, bisect_right))
            found = self.measures.added(found, self._sum(block.totals[first:last]))
        return found

    def _sum(self, totals: list[Totals]) -> Totals:
        found = self.measures.empty
        for one in totals:
            found = self.measures.added(found, one)
        return found

    def __iter__(self) -> Iterator[tuple[Any, Totals]]:
        for blocks in self.kinds.values():
            for block in blocks:
                yield from zip(block.values, block.totals, strict=True)
        yield from self.others


# Which known values satisfy `value op v`: (those below or those above, also those equal).
_RANGES: dict[str, tuple[tuple[bool, bool], ...]] = {
    "==": (),
    "!=": ((True, False), (False, False)),
    "<": ((False, False),),
    "<=": ((False, True),),
    ">": ((True, False),),
    ">=": ((True, True),),
}


def _last_of(block: _Block) -> Any:
    return block.values[-1]


def _compared(op: str, value: Any, known: Any) -> bool:
    if op not in ("==", "!="):
        raise Clash(value, known)
    return equal(value, known) is (op == "==")
