"""`?c after[1, 5] ?a`: tests of time between two events of a rule."""

from __future__ import annotations

from typing import Any

from cepheid.errors import PatternMistake
from cepheid.lang.source import Source
from cepheid.pattern.duration import duration
from cepheid.pattern.time_test import Span, TimeTest


def read_time_test(tree: Any, source: Source) -> TimeTest:
    """`x before[m, M] y` is `y after[m, M] x`."""
    first, word, low_tree, high_tree, second = tree.children
    left, right = (str(token)[1:].strip("`") for token in (first, second))
    low, high = _bound(low_tree, source, upper=False), _bound(high_tree, source, upper=True)
    if low is not None and high is not None and _order(low) == _order(high) and low.amount > high.amount:
        raise PatternMistake(
            "the window ends before it begins",
            code="window_backwards",
            place=source.place(low_tree),
            hint="the lower bound comes first",
        )
    if str(word).lower() == "before":
        left, right = right, left
    return TimeTest(left, right, low, high, place=source.place(tree))


def _order(span: Span) -> bool:
    """Ticks and durations can only be compared when the tick is known."""
    return span.ticks and span.amount != 0


def _bound(tree: Any, source: Source, upper: bool) -> Span | None:
    sign, token = tree.children
    place, negative = source.place(tree), str(sign) == "-"
    if token.type == "INF":
        if negative == upper:
            written = "after[-inf, 5]" if upper else "after[5, inf]"
            raise PatternMistake(
                f"nothing is {'before' if upper else 'after'} that",
                code="bad_bound",
                place=place,
                hint=f"a lower bound may be -inf and an upper one inf: {written}",
            )
        return None
    if token.type == "NUMBER":
        raise PatternMistake(
            f"`{token}` is no whole number of ticks",
            code="bad_bound",
            place=place,
            hint=f"write a duration, {token}s, or a whole number",
        )
    if token.type == "INT":
        return Span(-int(token) if negative else int(token), ticks=True)
    amount = duration(str(token).strip("\"'"), place)
    return Span(-amount if negative else amount)
