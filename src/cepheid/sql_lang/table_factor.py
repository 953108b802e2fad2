"""The table a MATCH_RECOGNIZE clause reads: where it begins, and its alias; and the alias behind a clause."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.sql_lang.clause import Name
from cepheid.sql_lang.cursor import Cursor, can_be_name, read_name
from cepheid.sql_lang.scan import Kind, Token
from cepheid.sql_lang.source import OPENING, Span, SqlSource

_BEFORE_TABLE = {"FROM", "JOIN", "LATERAL", "USING"}
_QUERY = {"SELECT", "WITH", "VALUES", "TABLE", "FROM"}

# Words that are no alias, and that a table does not contain.
NO_ALIAS = frozenset(
    """ALL AND ANTI AS ASOF BY CASE CLUSTER CROSS DISTRIBUTE ELSE END EXCEPT FETCH FROM FULL GROUP HAVING IN INNER
    INSERT INTERSECT INTO IS JOIN LATERAL LEFT LIKE LIMIT MATCH_RECOGNIZE MINUS NATURAL NOT OFFSET ON OR ORDER OUTER
    PIVOT QUALIFY REPEATABLE RIGHT SELECT SEMI SET SORT TABLESAMPLE THEN UNION UNPIVOT USING VALUES WHEN WHERE WINDOW
    WITH""".split()  # noqa: SIM905
)
# Behind these a table goes on, as in `t VERSION AS OF 3`.
_NO_END = {"AS", "OF", "TABLE", "LATERAL", "TABLESAMPLE", "REPEATABLE", "VALUES", "WITH"}
_INSIDE_TABLE = {*_NO_END, "MATCH_RECOGNIZE"} - {"WITH"}  # the last as a table's own name


@dataclass(frozen=True)
class Alias:
    name: Name
    span: Span  # from AS, if it is there, to behind the columns
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True)
class TableFactor:
    """A table, a subquery or a table function, and what it is called."""

    span: Span  # without the alias
    alias: Alias | None = None


def factor_before(source: SqlSource, at: int) -> TableFactor | None:
    """The table in front of the token with this index; None if no table stands there."""
    start = _beginning(source, at)
    if start is None or start == at or source.tokens[at - 1].word == "AS":
        return None
    tokens = source.tokens
    cut = _alias_start(source, start, at)
    alias = read_alias(Cursor(source, cut, at)) if cut < at else None
    return TableFactor(Span(tokens[start].start, tokens[cut - 1].end), alias)


def _beginning(source: SqlSource, at: int) -> int | None:
    """Back to FROM, JOIN, a comma or an open parenthesis; None if something stands between that is no table."""
    tokens, i = source.tokens, at - 1
    while i >= 0:
        token = tokens[i]
        after_dot = i > 0 and tokens[i - 1].is_sign(".")
        if token.is_sign(*OPENING):
            i = source.partners[i]
        elif token.is_sign(",", "("):
            return _values_before(source, i) or i + 1
        elif token.kind is Kind.SIGN and not token.is_sign(".", "@"):
            return None
        elif token.word in _BEFORE_TABLE and not after_dot:
            return i + 1 if _begins_table(source, i + 1) else None
        elif token.word in NO_ALIAS - _INSIDE_TABLE and not after_dot and not _is_ordinality(source, i):
            return None
        i -= 1
    return None


def _is_ordinality(source: SqlSource, at: int) -> bool:
    """`unnest(x) WITH ORDINALITY`, which belongs to the table."""
    return source.tokens[at].word == "WITH" and source.tokens[at + 1].word == "ORDINALITY"


def _values_before(source: SqlSource, comma: int) -> int | None:
    """The index of VALUES, if the comma stands between its rows: `FROM VALUES (1), (2) AS t(x)`, `FROM VALUES 1, 2`."""
    tokens, i = source.tokens, comma - 1
    while i > 0:
        token, before = tokens[i], tokens[i - 1]
        if token.word == "VALUES":
            return i
        if token.word in _BEFORE_TABLE or token.is_sign("(") or _is_alias(token, before):
            return None
        i = source.partners[i] - 1 if token.is_sign(*OPENING) else i - 1
    return None


def _is_alias(token: Token, before: Token) -> bool:
    """A name directly behind a value, or AS: what was listed has ended."""
    if token.word == "AS":
        return True
    value = before.is_sign(")") or before.kind in (Kind.NUMBER, Kind.STRING, Kind.NAME)
    return token.kind in (Kind.WORD, Kind.NAME) and value


def _begins_table(source: SqlSource, at: int) -> bool:
    """Not so after USING with the columns of a join, and in LATERAL VIEW."""
    before, first, second = source.tokens[at - 1 : at + 2]
    if before.word == "USING":
        return not first.is_sign("(") or second.word in _QUERY
    return not (before.word == "LATERAL" and first.word == "VIEW")


def _alias_start(source: SqlSource, start: int, at: int) -> int:
    """The index at which the alias of the table in `start` to `at` begins; `at` if it has none."""
    tokens, name = source.tokens, at - 1
    if tokens[name].is_sign(")"):
        name = source.partners[name] - 1
    if name <= start or not can_be_name(tokens[name]):
        return at
    before = tokens[name - 1]
    if before.word == "AS":
        return name - 1
    if before.word in _NO_END or tokens[name].word in NO_ALIAS:
        return at
    ends_table = before.is_sign(")", "}") or before.kind in (Kind.WORD, Kind.NAME, Kind.STRING, Kind.NUMBER)
    return name if ends_table else at


def read_alias(cursor: Cursor) -> Alias | None:
    """`AS m`, `m`, `m (c1, c2)`, if one comes next."""
    start = cursor.here.start
    said = cursor.take_words("AS")
    if not can_be_name(cursor.here) or (not said and cursor.here.word in NO_ALIAS):
        if said:
            raise cursor.source.syntax(
                "missing_name", "after AS a name is missing", cursor.place, "write for example `AS m`"
            )
        return None
    name = read_name(cursor.source, cursor.take())
    columns: tuple[Name, ...] = ()
    if cursor.here.is_sign("("):
        columns = _columns(cursor)
    return Alias(name, Span(start, cursor.before.end), columns)


def _columns(cursor: Cursor) -> tuple[Name, ...]:
    start, stop = cursor.take_group()
    inner = Cursor(cursor.source, start, stop)
    found = []
    while True:
        if not can_be_name(inner.here):
            raise inner.source.syntax(
                "missing_name", f"instead of {inner.shown()} the name of a column is expected", inner.place
            )
        found.append(read_name(inner.source, inner.take()))
        if inner.done:
            return tuple(found)
        if not inner.take().is_sign(","):
            inner.at -= 1
            raise inner.source.syntax(
                "missing_comma", f"between names a comma is expected, not {inner.shown()}", inner.place
            )
