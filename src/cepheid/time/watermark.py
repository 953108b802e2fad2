"""The watermark: the time before which no more events are expected."""

from __future__ import annotations

from collections.abc import Mapping


class Watermark:
    """W = largest time seen − allowed disorder, in microseconds. It never goes back.

    >>> watermark = Watermark(disorder=5)
    >>> watermark.observe(20)
    >>> watermark.observe(18)
    >>> watermark.value
    15
    """

    __slots__ = ("disorder", "value")

    def __init__(self, disorder: int = 0) -> None:
        if disorder < 0:
            raise ValueError(f"disorder must not be negative, got {disorder}")
        self.disorder = disorder
        self.value: int | None = None  # None: no event seen, so nothing can be late

    def observe(self, time: int) -> None:
        """An event of this time arrived."""
        self.advance_to(time - self.disorder)

    def advance_to(self, time: int) -> None:
        """Time is known to have come this far without an event: an idle source, or an explicit tick."""
        if self.value is None or time > self.value:
            self.value = time

    def snapshot(self) -> dict[str, int | None]:
        return {"disorder": self.disorder, "value": self.value}

    @classmethod
    def restore(cls, state: Mapping[str, int | None]) -> Watermark:
        watermark = cls(state["disorder"] or 0)
        watermark.value = state["value"]
        return watermark
