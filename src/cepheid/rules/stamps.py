"""The time of an event in expressions that were made ready, as the user of the rules writes times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cepheid.pattern.expr import Expr, Field

Shown = Callable[[int], Any]  # microseconds as a number of ticks, or as a timestamp


def as_inside(time: int) -> int:
    """For who has no other way to write times: microseconds stay what they are."""
    return time


@dataclass(frozen=True)
class Stamp(Expr):
    """When an event happened. `named`: it is asked for by its name, so a field `time` of the event itself wins."""

    event: Field  # the place of the event
    named: bool
    shown: Shown = field(repr=False)
