"""What the kernel cannot take. The reference matcher takes it instead, and `explain` says why."""

from __future__ import annotations


class Unsupported(Exception):
    """A plan, or a part of one, that is left to the reference matcher."""
