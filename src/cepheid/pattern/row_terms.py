"""What an expression of a row pattern asks of a match: values of certain rows, aggregates, names of variables.

An expression is such terms, and what is done with them. A term that looks at one row has a column: one of the input, or
one that was made before for an expression over one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cepheid.errors import Place
from cepheid.pattern.expr import Expr

# Variables that count: None means all of them, the universal variable.
Variables = frozenset[str] | None


@dataclass(frozen=True)
class RowTerm:
    """`final`: over all rows of the match; otherwise over those up to the current one."""

    final: bool = False


@dataclass(frozen=True)
class At(RowTerm):
    """`PREV(LAST(A.x, 2), 1)`: of the rows of some variables the first or last but so many, then so many rows away.

    Without a column it is the row's variable: `CLASSIFIER()`, which only rows of the match have.
    """

    column: str | None = None
    variables: Variables = None
    first: bool = False
    offset: int = 0
    shift: int = 0  # physical: PREV is negative, NEXT positive


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate as a database is asked for it: SQL over columns of one row."""

    name: str
    arguments: tuple[str, ...]
    distinct: bool = False
    order: str = ""  # within its parentheses
    within: str = ""  # WITHIN GROUP (ORDER BY ..)
    filter: str = ""
    nulls: str = ""  # IGNORE NULLS, RESPECT NULLS
    columns: tuple[str, ...] = ()  # all that it needs
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Over(RowTerm):
    """An aggregate. Without a column it counts rows.

    Its function is one of `row_aggregates.py`; if it has none, only the database knows it.
    """

    function: str = "count"
    column: str | None = None
    variables: Variables = None
    distinct: bool = False
    by: str | None = None  # the second column of those that have two
    call: AggregateCall | None = None  # for the database; None if it need not be asked


@dataclass(frozen=True)
class MatchNumber(RowTerm):
    """From 1 in each partition, empty matches counted."""


def looks_back(term: RowTerm, variable: str) -> bool:
    """Does it depend on the rows before in the match, when the current row is to be the variable?"""
    if isinstance(term, At):
        own = term.variables is None or variable in term.variables
        return term.column is None or term.first or term.offset > 0 or not own
    return True


@dataclass(frozen=True)
class Condition:
    """Of a variable: an expression over terms, each of which is a field of it by name."""

    expr: Expr
    terms: Mapping[str, RowTerm]

    def looks_back(self, variable: str) -> bool:
        return any(looks_back(term, variable) for term in self.terms.values())

    @property
    def ahead(self) -> int:
        """How many rows after the one it looks from it may ask for: NEXT."""
        return furthest(self.terms.values(), 1)


def furthest(terms: Iterable[RowTerm], direction: int) -> int:
    """How many rows away PREV (-1) or NEXT (1) looks at most."""
    return max((0, *(term.shift * direction for term in terms if isinstance(term, At))))
