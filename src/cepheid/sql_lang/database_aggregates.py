"""Aggregates that the database computes: SQL over a table with the rows of all matches, one group for each match.

What is FINAL is grouped by match; what is RUNNING is a window over the rows of a match up to each. A row counts where
its variable is asked for, so that one table serves all aggregates; of a match without rows, or a row in no match, one
row is there that counts nowhere, and the aggregate gives what the database gives for no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cepheid.errors import PatternMistake
from cepheid.pattern.row_terms import AggregateCall, Over, Variables
from cepheid.sql_lang.aggregate_names import AggregateNames
from cepheid.sql_lang.asking import KEY, UNMATCHED, Quoted
from cepheid.sql_lang.clause import Rows
from cepheid.sql_lang.row_query import RowQuery

GROUP, STEP, POINT = "__group", "__step", "__point"
_ROWS, _OUTER = "__rows", "__o"
_RUNNING = f"OVER (PARTITION BY {GROUP} ORDER BY {STEP} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"


def chosen_name(query: RowQuery, variables: Variables) -> str:
    """The column that says of a row whether it is of the variables."""
    calls = (term for term in query.terms.values() if isinstance(term, Over) and term.call)
    sets = list(dict.fromkeys(over.variables for over in calls))
    return f"__in{sets.index(variables)}"


def kept_columns(query: RowQuery, given: Sequence[str], quoted: Quoted) -> list[str]:
    """What the rows have beside: the partition, their own columns, the terms that are known already."""
    keys = [f"{KEY}{i}" for i in range(len(query.partition_by))]
    known = [name for name in query.terms if name not in query.left]
    unmatched = [UNMATCHED] if query.rows is Rows.ALL_WITH_UNMATCHED else []
    return [*keys, *(quoted(name) for name in given), *known, *unmatched]


def one_by_one(query: RowQuery) -> Iterator[tuple[RowQuery, AggregateCall]]:
    """To find the one that the database does not take."""
    for name, over in query.left_calls.items():
        yield replace(query, left=frozenset({name})), _call(over)


def with_aggregates(query: RowQuery, table: str, columns: Sequence[str], database: AggregateNames) -> str:
    """SQL for the given columns of a table of matched rows, and the terms that are left to the database."""
    writer = _Writer(query, table, database)
    running = {n: o for n, o in query.left_calls.items() if query.all_rows and not o.final}
    final = {n: o for n, o in query.left_calls.items() if n not in running}
    if running:
        made = [f"{writer.running(over)} AS {name}" for name, over in running.items()]
        table = f"(SELECT *, {', '.join(made)} FROM {table})"
    alone = {n: o for n, o in final.items() if writer.stands_alone(_call(o), final.values())}
    if alone:
        made = [f"{writer.alone(over)} AS {name}" for name, over in alone.items()]
        table = f"(SELECT *, {', '.join(made)} FROM {table} AS {_OUTER})"
    kept = [*columns, *running]
    if not final:
        return f"SELECT {', '.join(kept)} FROM {table} WHERE {POINT}{writer.sorted(GROUP, STEP)}"
    made = [
        f"{writer.picked(name, over) if name in alone else writer.grouped(over)} AS {name}"
        for name, over in final.items()
    ]
    if not (query.all_rows and kept):
        first = [f"any_value({column}) FILTER (WHERE {POINT}) AS {column}" for column in kept]
        return f"SELECT {', '.join([*first, *made])} FROM {table} GROUP BY {GROUP}{writer.sorted(GROUP)}"
    rows = f"{writer.rows(kept)} FILTER (WHERE {POINT}) AS {_ROWS}"
    groups = f"SELECT {', '.join([rows, *made])} FROM {table} GROUP BY {GROUP}{writer.sorted(GROUP)}"
    return f"SELECT {', '.join(final)}, {writer.unfolded()} FROM ({groups})"


class _Writer:
    def __init__(self, query: RowQuery, table: str, database: AggregateNames) -> None:
        self.query, self.table, self.database = query, table, database
        self.spark = database.dialect == "spark"

    def grouped(self, over: Over) -> str:
        call, filters = _call(over), self._filters(over)
        if self.spark and not call.distinct and call.name in _IN_ORDER:
            return _IN_ORDER[call.name](call, filters)
        order = call.order
        if not (self.spark or order or call.within or call.distinct or call.arguments == ("*",)):
            order = STEP  # rows of a match have an order; who does not care for it is not asked to sort
        return _text(call, order) + _filter(filters)

    def running(self, over: Over) -> str:
        call = _call(over)
        only_whole = bool(call.distinct or call.order) and self.spark
        if only_whole or call.within or not self.database.runs(call.name):
            raise PatternMistake(
                f"`{call.name}` as it stands here has no RUNNING value in this database",
                code="not_running",
                place=call.place,
                hint=f"write FINAL {call.name}(..), or ONE ROW PER MATCH",
            )
        return f"{_text(call, call.order)}{_filter(self._filters(over))} {_RUNNING}"

    def stands_alone(self, call: AggregateCall, all_of_them: Iterable[Over]) -> bool:
        """Also what has an order, beside DISTINCT: Spark 4 fails by itself on the two in one query."""
        beside_distinct = self.spark and any(_call(over).distinct for over in all_of_them)
        return not self.database.takes_filter(call.name) or bool(call.within and beside_distinct)

    def alone(self, over: Over) -> str:
        """One that takes no FILTER, over those rows of a match that count, beside rows of the match."""
        filters = self._filters(over)
        if self.spark:
            return f"{_text(_call(over), '')} OVER (PARTITION BY {GROUP}, {', '.join(filters)})"
        chosen = " AND ".join([f"i.{GROUP} = {_OUTER}.{GROUP}", *filters])
        return f"(SELECT {_text(_call(over), '')} FROM {self.table} AS i WHERE {chosen})"

    def picked(self, name: str, over: Over) -> str:
        return f"any_value({name})" + (_filter(self._filters(over)) if self.spark else "")

    def _filters(self, over: Over) -> list[str]:
        own = _call(over).filter
        return [chosen_name(self.query, over.variables), *([f"({own})"] if own else [])]

    def sorted(self, *columns: str) -> str:
        """Locally rows come as they are matched; Spark would have to shuffle them for it."""
        return "" if self.spark else f" ORDER BY {', '.join(columns)}"

    def rows(self, columns: Sequence[str]) -> str:
        if self.spark:
            return f"collect_list(struct({', '.join(columns)}))"
        packed = ", ".join(f"{column} := {column}" for column in columns)
        return f"list(struct_pack({packed}) ORDER BY {STEP})"

    def unfolded(self) -> str:
        return f"inline({_ROWS})" if self.spark else f"unnest({_ROWS}, max_depth := 2)"


def _call(over: Over) -> AggregateCall:
    assert over.call is not None
    return over.call


def _text(call: AggregateCall, order: str) -> str:
    inside = ("DISTINCT " if call.distinct else "") + ", ".join(call.arguments)
    if order:
        inside += f" ORDER BY {order}"
    within = f" WITHIN GROUP (ORDER BY {call.within})" if call.within else ""
    nulls = f" {call.nulls}" if call.nulls else ""
    return f"{call.name}({inside}){nulls}{within}"


def _filter(filters: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(f'({text})' for text in filters)})"


# Spark promises no order of what it groups. These depend on it, and can be said so that they do not.


def _collected(call: AggregateCall, filters: list[str]) -> str:
    (value,) = call.arguments
    pairs = (
        f"collect_list(struct({STEP} AS s, ({value}) AS v)){_filter([*filters, f'({value}) IS NOT NULL'])}"
    )
    return f"transform(array_sort({pairs}, (l, r) -> CAST(l.s - r.s AS INT)), e -> e.v)"


def _listed(call: AggregateCall, filters: list[str]) -> str:
    """Of no values it is null."""
    if call.within:
        return _text(call, "") + _filter(filters)
    value, *between = call.arguments
    values = _collected(replace(call, arguments=(f"CAST({value} AS STRING)",)), filters)
    return f"nullif(array_join({values}, {between[0] if between else repr('')}), IF(size({values}) = 0, '', NULL))"


def _first(call: AggregateCall, filters: list[str]) -> str:
    return _ending("min_by", call, filters)


def _last(call: AggregateCall, filters: list[str]) -> str:
    return _ending("max_by", call, filters)


def _ending(function: str, call: AggregateCall, filters: list[str]) -> str:
    value, *rest = call.arguments
    if call.nulls == "IGNORE NULLS" or [text.lower() for text in rest] == ["true"]:
        filters = [*filters, f"({value}) IS NOT NULL"]
    return f"{function}({value}, {STEP}){_filter(filters)}"


_IN_ORDER = {
    "collect_list": _collected,
    "array_agg": _collected,
    "listagg": _listed,
    "string_agg": _listed,
    "any_value": _first,
    "first_value": _first,
    "last_value": _last,
}
