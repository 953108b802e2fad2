"""Times of a graph as its user writes them, and back: numbers stay numbers, all else are datetimes in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cepheid.engines.local.events import plain
from cepheid.engines.local.times import PER_SECOND, from_microseconds, to_microseconds
from cepheid.errors import InputMistake

Time = int | float | datetime


class Clock:
    """
    >>> clock = Clock("ms")
    >>> clock.microseconds(1500), clock.time(1_500_000)
    (1500000, 1500)
    """

    def __init__(self, unit: str = "s", numbers: bool | None = None) -> None:
        if unit not in PER_SECOND:
            raise InputMistake(f"{unit!r} is not a time_unit", code="bad_option", hint="use s, ms, us or ns")
        self.unit = unit
        self.numbers = numbers  # None: no time has been seen

    def microseconds(self, time: Any) -> int:
        time = plain(time)
        number = isinstance(time, (int, float)) or type(time).__name__ == "Decimal"
        found = to_microseconds(time, self.unit)
        if self.numbers is not None and number != self.numbers:
            raise InputMistake(
                f"{time!r} is a {'number' if number else 'date'}, but the times before were not",
                code="mixed_times",
                hint="write all times of a graph in one way",
            )
        self.numbers = number
        return found

    def time(self, microseconds: int) -> Time:
        if not self.numbers:
            return from_microseconds(microseconds)
        whole, rest = divmod(microseconds * PER_SECOND[self.unit], 10**6)
        return whole if rest == 0 else microseconds * PER_SECOND[self.unit] / 10**6
