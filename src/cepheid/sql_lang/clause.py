"""A MATCH_RECOGNIZE clause as it was read: its parts, with the place of each. Expressions are still text.

Names are as SQL takes them: without quotes in upper case, with quotes as they are written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cepheid.errors import Place
from cepheid.pattern.row_pattern import RowNode


@dataclass(frozen=True)
class SqlText:
    """A piece of the statement, exactly as it stands there."""

    text: str
    place: Place


@dataclass(frozen=True)
class Name:
    name: str
    place: Place
    written: str = field(default="", compare=False)  # as it stands there, without its quotes


class Rows(Enum):
    """How many rows a match gives."""

    ONE = "one row per match"
    ALL = "all rows per match"  # show empty matches: the default of ALL ROWS
    ALL_OMIT_EMPTY = "all rows per match omit empty matches"
    ALL_WITH_UNMATCHED = "all rows per match with unmatched rows"


class AfterMatch(Enum):
    PAST_LAST_ROW = "past last row"
    TO_NEXT_ROW = "to next row"
    TO_FIRST = "to first"
    TO_LAST = "to last"  # SKIP TO v without more is this too


@dataclass(frozen=True)
class Skip:
    to: AfterMatch = AfterMatch.PAST_LAST_ROW
    variable: Name | None = None


@dataclass(frozen=True)
class OrderItem:
    value: SqlText
    descending: bool = False
    nulls_first: bool | None = None  # None: not said


@dataclass(frozen=True)
class Measure:
    """`RUNNING`, `FINAL` and all else is still in the text."""

    value: SqlText
    name: Name


@dataclass(frozen=True)
class Subset:
    name: Name
    members: tuple[Name, ...]


@dataclass(frozen=True)
class Definition:
    variable: Name
    condition: SqlText


@dataclass(frozen=True)
class Clause:
    """What stands between the parentheses of MATCH_RECOGNIZE."""

    pattern: RowNode
    place: Place
    partition_by: tuple[SqlText, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = Skip()
    within: int | None = None  # microseconds, by the first of ORDER BY, from a match's first row to its last
    subsets: tuple[Subset, ...] = ()
    define: tuple[Definition, ...] = ()


class Search(Enum):
    """Where a window's match may begin."""

    INITIAL = "initial"  # at the current row only
    SEEK = "seek"  # at the first row of the frame from which there is one


@dataclass(frozen=True)
class Frame:
    """The rows of a window that a row may look at: from itself on."""

    text: SqlText  # `ROWS BETWEEN ..` with all that belongs to it
    end: str | None  # how many rows further on it ends, as SQL; None: with the partition


@dataclass(frozen=True)
class WindowClause:
    """What stands between the parentheses of a window with a row pattern."""

    clause: Clause
    frame: Frame | None = None
    search: Search = Search.INITIAL
    base: Name | None = None  # another window that this one refines
