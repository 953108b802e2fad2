"""The fact of a change, where it must not be taken for the event: only the event has the old fields, as `old`."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expr import Expr, Field

OLD = "old"


@dataclass(frozen=True)
class FactField(Expr):
    """A field of the fact right after the change."""

    event: Field  # the place of the event
    path: tuple[str, ...]
