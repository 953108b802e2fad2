"""Functions over the rows of a match, as aggregates of groups: a group is the rows of one match, numbered in order.

So every aggregate of a database can be asked, with DISTINCT, FILTER and all. In a group there is one row more, which
has no number: without it there would be no group where a match has no rows.
"""

from __future__ import annotations

from itertools import pairwise

from cepheid.errors import PatternMistake, Place
from cepheid.sql_lang.scan import Dialect
from cepheid.sql_lang.select_parts import outside_brackets, split_at_commas
from cepheid.sql_lang.source import SqlSource

NTH, LAST = "__nth", "__last"  # the number of a row in its match, from 1; is it the last?

# They do not look at the frame.
WITHOUT_FRAME = frozenset(
    """row_number rank dense_rank percent_rank cume_dist ntile lead lag""".split()  # noqa: SIM905
)
_FIRST, _LAST = ("first_value", "first"), ("last_value", "last")
# What they give depends on the order of rows: it is that of the window, unless they say another.
_IN_ORDER = {"duckdb": ("list", "array_agg", "string_agg", "group_concat", "listagg")}
_LISTS, _JOINED = ("collect_list", "array_agg"), ("listagg", "string_agg")


def function_name(call: str, letters: Dialect) -> str:
    source = SqlSource(call, dialect=letters)
    opening = next(i for i, token in enumerate(source.tokens) if token.is_sign("("))
    return source.tokens[opening - 1].unquoted.lower()


def as_aggregate(call: str, dialect: str, letters: Dialect, place: Place) -> str:
    """The call, whose columns are those of the rows of a match, as an aggregate over them."""
    found = _Call(SqlSource(call, dialect=letters), place)
    if found.name in (*_FIRST, *_LAST, "nth_value"):
        return _value(found, dialect)
    if dialect == "spark" and found.name in _LISTS and not found.says_order and len(found.arguments) == 1:
        return _list(found)
    return found.filtered(_ordered(found, dialect))


def _value(call: _Call, dialect: str) -> str:
    """The value of one row: there is exactly one of its number."""
    if call.condition:
        raise call.mistake(f"{call.name} cannot have FILTER", "only aggregates have it")
    arguments, ignoring = call.arguments, call.ignores_nulls
    if dialect == "spark" and call.name != "nth_value" and len(arguments) == 2:
        ignoring = arguments.pop().lower() == "true"
    if len(arguments) != (2 if call.name == "nth_value" else 1):
        raise call.mistake(f"{call.name} has a wrong number of arguments")
    value = arguments[0]
    if call.name == "nth_value":
        if ignoring:
            raise call.mistake("nth_value cannot leave out nulls over a window with a row pattern")
        return f"first({value}) FILTER (WHERE {NTH} = ({arguments[1]}))"
    if ignoring:
        by = "min_by" if call.name in _FIRST else "max_by"
        return f"{by}({value}, {NTH}) FILTER (WHERE {NTH} IS NOT NULL AND ({value}) IS NOT NULL)"
    return f"first({value}) FILTER (WHERE {f'{NTH} = 1' if call.name in _FIRST else LAST})"


def _ordered(call: _Call, dialect: str) -> str:
    if call.says_order or not call.arguments:
        return call.text
    if call.name in _IN_ORDER.get(dialect, ()):
        return f"{call.before_closing} ORDER BY {NTH}{call.behind_arguments}"
    if dialect == "spark" and call.name in _JOINED:
        return f"{call.text} WITHIN GROUP (ORDER BY {NTH})"
    return call.text


def _list(call: _Call) -> str:
    """Nulls are left out, as Spark does."""
    (value,) = call.arguments
    pairs = f"collect_list(named_struct('n', {NTH}, 'v', {value}))"
    pairs = call.filtered(pairs, f"({value}) IS NOT NULL")
    return f"transform(array_sort({pairs}, (l, r) -> CAST(l.n - r.n AS INT)), s -> s.v)"


class _Call:
    """`name(arguments) WITHIN GROUP (...) FILTER (WHERE ...)`, cut into its parts."""

    def __init__(self, source: SqlSource, place: Place) -> None:
        self.source, self.place = source, place
        tokens = source.tokens
        self.opening = next(i for i, token in enumerate(tokens) if token.is_sign("("))
        self.closing = source.partners[self.opening]
        self.name = tokens[self.opening - 1].unquoted.lower()
        self.condition = ""
        self.end = len(tokens)
        for i in outside_brackets(source, self.closing + 1, len(tokens)):
            if tokens[i].word == "FILTER" and i + 2 < len(tokens) and tokens[i + 2].word == "WHERE":
                close = source.partners[i + 1]
                self.condition = source.text[tokens[i + 2].end : tokens[close].start].strip()
                self.end = min(self.end, i)
        words = [t.word for t in tokens[: self.end]]
        self.ignores_nulls = ("IGNORE", "NULLS") in pairwise(words)
        top = [tokens[i].word for i in outside_brackets(source, self.opening + 1, self.closing)]
        self.says_order = bool({"DISTINCT", "ORDER"} & set(top)) or "WITHIN" in words[self.closing :]

    @property
    def text(self) -> str:
        """Without FILTER."""
        return self.source.text[: self.source.tokens[self.end - 1].end]

    @property
    def before_closing(self) -> str:
        return self.source.text[: self.source.tokens[self.closing].start]

    @property
    def behind_arguments(self) -> str:
        return self.text[self.source.tokens[self.closing].start :]

    @property
    def arguments(self) -> list[str]:
        tokens, found = self.source.tokens, []
        for start, stop in split_at_commas(self.source, self.opening + 1, self.closing):
            last = stop
            if tokens[stop - 1].word == "NULLS" and stop - start > 2:
                last = stop - 2
            found.append(self.source.text[tokens[start].start : tokens[last - 1].end])
        return found

    def filtered(self, function: str, *more: str) -> str:
        conditions = [f"{NTH} IS NOT NULL", *([f"({self.condition})"] if self.condition else []), *more]
        return f"{function} FILTER (WHERE {' AND '.join(conditions)})"

    def mistake(self, message: str, hint: str | None = None) -> PatternMistake:
        return PatternMistake(message, code="bad_window_function", place=self.place, hint=hint)
