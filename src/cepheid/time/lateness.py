"""Late and too late: how an event is judged against the watermark, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Literal

from cepheid.errors import TooLate
from cepheid.pattern.duration import duration_text
from cepheid.pattern.event import Event

Verdict = Literal["on_time", "late", "too_late"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TooLatePolicy(Enum):
    """What becomes of an event that is too late."""

    DROP = "drop"
    DEAD_LETTER = "dead_letter"
    FAIL = "fail"


@dataclass(frozen=True)
class Lateness:
    """The user's settings, in microseconds: `disorder` is L, `threshold` is T (the setting `lateness`)."""

    disorder: int = 0
    threshold: int = 0
    policy: TooLatePolicy = TooLatePolicy.DROP


@dataclass(frozen=True)
class DeadLetter:
    """An event that was too late, and why."""

    event: Event
    reason: str


def judge(time: int, watermark: int | None, threshold: int = 0) -> Verdict:
    """Late: time < W. Too late: time < W − T.

    >>> [judge(time, watermark=10, threshold=2) for time in (10, 9, 8, 7)]
    ['on_time', 'late', 'late', 'too_late']
    """
    if watermark is None or time >= watermark:
        return "on_time"
    return "late" if time >= watermark - threshold else "too_late"


def too_late_reason(event: Event, watermark: int, threshold: int) -> str:
    """One sentence for a dead letter or an error."""
    behind = duration_text(watermark - event.time)
    return (
        f"{event.type} at {_instant(event.time)} is {behind} behind the watermark {_instant(watermark)}, "
        f"more than the lateness {duration_text(threshold)}"
    )


def too_late_error(event: Event, watermark: int, threshold: int) -> TooLate:
    return TooLate(
        f"an event came too late: {too_late_reason(event, watermark, threshold)}",
        code="too_late",
        hint="raise `disorder` (how far events may be out of order) or `lateness` "
        "(how late one may still be matched), or choose the policy drop or dead_letter",
    )


def _instant(time: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=time)).isoformat().replace("+00:00", "Z")
    except OverflowError:  # beyond the years 1 to 9999: still an event, so say it in the unit it has
        return f"{time}us"
