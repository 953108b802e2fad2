"""Which names are functions and aggregates of a DuckDB connection, macros among them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any


class DuckDBFunctions:
    dialect = "duckdb"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def is_aggregate(self, name: str) -> bool:
        return name in self._aggregates or name in self._macros

    def takes_filter(self, name: str) -> bool:
        return name in self._aggregates

    def runs(self, name: str) -> bool:
        return name in self._aggregates

    def is_function(self, name: str) -> bool:
        return name in self.all_names()

    def all_names(self) -> set[str]:
        return {name for name, _, _ in self._all}

    @cached_property
    def _all(self) -> list[tuple[str, str, str]]:
        """Name, kind, and of a macro what it stands for. A name may be of several kinds."""
        query = "SELECT lower(function_name), function_type, coalesce(macro_definition, '') FROM duckdb_functions()"
        return list(self.connection.sql(query).fetchall())

    @cached_property
    def _aggregates(self) -> set[str]:
        found = {name for name, kind, _ in self._all if kind == "aggregate"}
        return found | {"percentile_cont", "percentile_disc"}  # which only its parser knows

    @cached_property
    def _macros(self) -> set[str]:
        """Those that call an aggregate, or one of these."""
        texts = [(name, text) for name, kind, text in self._all if kind == "macro"]
        found: set[str] = set()
        while more := {
            n for n, text in texts if n not in found and _called(text) & (self._aggregates | found)
        }:
            found |= more
        return found


def _called(text: str) -> set[str]:
    return set(re.findall(r"\b(\w+)\(", text.lower()))
