"""Which names are aggregates: those that are known here, and those of the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from cepheid.pattern.row_aggregates import kept_names


class AggregateNames(Protocol):
    """What a database knows. Names are in lower case."""

    @property
    def dialect(self) -> str: ...

    def is_aggregate(self, name: str) -> bool: ...

    def takes_filter(self, name: str) -> bool:
        """May FILTER stand behind the aggregate? Not so behind some that users or macros make."""

    def runs(self, name: str) -> bool:
        """Does the aggregate have a value over the rows up to each, as a window?"""

    def is_function(self, name: str) -> bool: ...

    def all_names(self) -> Iterable[str]:
        """Of functions, for the one that was meant."""


class KeptAggregates:
    """No database is asked: only what can be kept while rows are matched is an aggregate."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def is_aggregate(self, name: str) -> bool:
        return name in kept_names(self.dialect)

    def takes_filter(self, name: str) -> bool:
        return True

    def runs(self, name: str) -> bool:
        return True

    def is_function(self, name: str) -> bool:
        return True  # the database says so itself when it is asked

    def all_names(self) -> Iterable[str]:
        return kept_names(self.dialect)
