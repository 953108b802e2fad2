"""Lengths of time, short, as pages and tables show them."""

from __future__ import annotations

from cepheid.pattern.duration import duration, duration_text


def short_length(microseconds: float) -> str:
    """A length of time in two units at most.

    >>> short_length(3_725_000_000), short_length(1_500_000), short_length(2_000)
    ('1h 2m', '1.5s', '2ms')
    """
    if microseconds < duration("1m"):
        if microseconds >= duration("1s") or not microseconds:
            return f"{microseconds / duration('1s'):.3g}s"
        return duration_text(round(microseconds))
    seconds = int(microseconds) // duration("1s")
    parts = [
        (seconds // 86400, "d"),
        (seconds // 3600 % 24, "h"),
        (seconds // 60 % 60, "m"),
        (seconds % 60, "s"),
    ]
    first = next(i for i, (n, _) in enumerate(parts) if n)
    return " ".join(f"{n}{unit}" for n, unit in parts[first : first + 2] if n)
