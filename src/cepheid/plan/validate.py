"""What cannot mean anything is refused here, with its place and a way out."""

from __future__ import annotations

from cepheid.pattern.model import Pattern
from cepheid.pattern.types import Schema


def validate(pattern: Pattern, schema: Schema) -> None:
    pass
