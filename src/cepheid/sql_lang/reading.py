"""A statement with its row patterns, found, read and checked: the entrance for all who run one."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.sql_lang.checks import check_clause
from cepheid.sql_lang.clause import Clause
from cepheid.sql_lang.scan import SPARK, Dialect
from cepheid.sql_lang.sections import read_clause
from cepheid.sql_lang.source import SqlSource
from cepheid.sql_lang.statement import FoundClause, clauses_of
from cepheid.sql_lang.window_checks import check_window
from cepheid.sql_lang.windows import FoundWindow, windows_of


@dataclass(frozen=True)
class Statement:
    text: str
    clauses: tuple[tuple[FoundClause, Clause], ...]  # inner ones before those that contain them
    windows: tuple[FoundWindow, ...] = ()


def read_statement(text: str, source: str = "query", dialect: Dialect = SPARK) -> Statement:
    """All clauses and windows of a statement; a mistake in any of them is raised."""
    whole = SqlSource(text, source, dialect)
    clauses = tuple((found, read_clause(whole, found.inside)) for found in clauses_of(whole))
    for _, clause in clauses:
        check_clause(clause, dialect)
    windows = tuple(windows_of(whole))
    for window in windows:
        check_clause(window.parts.clause, dialect)
        check_window(window)
    return Statement(text, clauses, windows)
