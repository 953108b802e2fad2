"""Microseconds since the epoch and Python's datetime, both UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_microseconds(time: int) -> datetime:
    """
    >>> from_microseconds(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return EPOCH + timedelta(microseconds=time)
