"""The cases of `cases/*.yaml`: tables, a query with MATCH_RECOGNIZE, and the rows worked out by hand.

Tables that several cases share stand in `tables.yaml`; a case names them: `tables: [prices]`. A table that is a
text, `t: a a b`, has the columns id and k: a row for each word, numbered from 1. The word `-` is null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "cases"
SHARED = Path(__file__).parent / "tables.yaml"
KEYS = {"name", "tables", "query", "columns", "rows", "ordered", "why", "only", "error"}


@dataclass(frozen=True)
class Table:
    columns: dict[str, str]  # name to type
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Case:
    """One query. With `error` it fails: `code` and `contains` are parts of the error's code and message.

    A list `contains` means any of its fragments, in any case.
    """

    name: str
    query: str
    tables: dict[str, Table]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    ordered: bool = False
    why: str = ""
    only: str | None = None  # "local" or "spark": for names in quotes
    error: dict[str, Any] | None = None
    file: str = ""


def load_cases(topic: str | None = None) -> list[Case]:
    """The cases of a topic, a file's name without its ending; without it, all."""
    shared = {name: _table(entry) for name, entry in yaml.safe_load(SHARED.read_text("utf-8")).items()}
    files = sorted(FOLDER.glob("*.yaml" if topic is None else f"{topic}.yaml"))
    return [case for path in files for case in _read(path, shared)]


def _read(path: Path, shared: dict[str, Table]) -> Iterator[Case]:
    for entry in yaml.safe_load(path.read_text("utf-8")):
        if unknown := set(entry) - KEYS:
            raise ValueError(f"{path.name}, {entry.get('name')}: unknown keys {sorted(unknown)}")
        tables = entry.get("tables") or {}
        if isinstance(tables, dict):
            named = {name: _table(table) for name, table in tables.items()}
        else:
            named = {name: shared[name] for name in tables}
        yield Case(
            name=entry["name"],
            query=entry["query"],
            tables=named,
            columns=tuple(entry.get("columns", ())),
            rows=tuple(tuple(row) for row in entry.get("rows", ())),
            ordered=entry.get("ordered", False),
            why=entry.get("why", ""),
            only=entry.get("only"),
            error=entry.get("error"),
            file=path.name,
        )


def _table(entry: dict[str, Any] | str) -> Table:
    if isinstance(entry, str):
        words = (None if word == "-" else word for word in entry.split())
        return Table({"id": "int", "k": "string"}, tuple(enumerate(words, 1)))
    columns: dict[str, str] = entry["columns"]
    rows = (
        tuple(value_of(kind, value) for kind, value in zip(columns.values(), row, strict=True))
        for row in entry["rows"]
    )
    return Table(dict(columns), tuple(rows))


PYTHON_TYPES: dict[str, type] = {
    "int": int,
    "bigint": int,
    "double": float,
    "string": str,
    "boolean": bool,
    "date": date,
    "timestamp": datetime,
}


def value_of(kind: str, value: Any) -> Any:
    """A value of YAML as the Python value of a column's type; a `ValueError` if it is none."""
    if value is None:
        return None
    if kind.startswith("decimal("):
        return Decimal(str(value))
    if kind == "double" and type(value) is int:
        return float(value)
    if type(value) is not PYTHON_TYPES.get(kind):
        raise ValueError(f"{value!r} is no {kind}")
    return value


def differences(case: Case, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """What an answer has wrong. Names of columns are compared in any case, numbers by their value."""
    if [c.lower() for c in columns] != [c.lower() for c in case.columns]:
        return [f"columns are {list(columns)}, not {list(case.columns)}"]
    got, wanted = ([tuple(_plain(v) for v in row) for row in given] for given in (rows, case.rows))
    if got == wanted or (not case.ordered and Counter(got) == Counter(wanted)):
        return []
    missing, surplus = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    found = [f"missing: {row}" for row in missing.elements()]
    found += [f"too much: {row}" for row in surplus.elements()]
    return found or ["the rows are in another order"]


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return round(float(value), 9)
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    return (bool, value) if isinstance(value, bool) else value  # True is not 1 here
