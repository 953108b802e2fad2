"""What a step has done so far, so that it can be taken back: an edge is taken as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

Moment = tuple[int, int]


class Journal:
    """
    >>> journal, numbers = Journal(), [1]
    >>> numbers.append(2)
    >>> journal.note(numbers.pop)
    >>> journal.take_back()
    >>> numbers
    [1]
    """

    def __init__(self) -> None:
        self._notes: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def begin(self) -> None:
        self._notes.clear()

    def note(self, undo: Callable[..., Any], *given: Any) -> None:
        """Something was done; this undoes it."""
        self._notes.append((undo, given))

    def take_back(self) -> None:
        """The last first."""
        while self._notes:
            undo, given = self._notes.pop()
            undo(*given)

    def put(self, owner: Any, name: str, value: Any) -> None:
        """An attribute gets another value."""
        self._notes.append((setattr, (owner, name, getattr(owner, name))))
        setattr(owner, name, value)

    def push(self, heap: list[Moment], item: Moment) -> None:
        heappush(heap, item)
        self._notes.append((_without, (heap, item)))

    def pop(self, heap: list[Moment]) -> Moment:
        item = heappop(heap)
        self._notes.append((heappush, (heap, item)))
        return item


def _without(heap: list[Moment], item: Moment) -> None:
    heap.remove(item)
    heapify(heap)
