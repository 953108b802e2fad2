"""A SELECT whose windows have row patterns, as two: an inner one of the rows, and an outer one over what was matched.

The inner query has FROM, WHERE, GROUP BY and HAVING as they are written, and the items of SELECT that ask nothing over
such windows. Behind them come the columns that all else needs. The outer query computes the rest, and has DISTINCT,
ORDER BY and LIMIT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.errors import PatternMistake
from cepheid.sql_lang.clause import OrderItem
from cepheid.sql_lang.source import Span
from cepheid.sql_lang.window_query import WindowQuery

ITEM = "__x"  # columns of the inner query that are items of SELECT


@dataclass(frozen=True)
class Item:
    """An item of SELECT. With a name it is computed after matching, over leaves and what windows give."""

    text: str
    name: str | None = None
    written: str = ""  # its expression, to know it again in ORDER BY
    many: bool = False  # `*` and the like


@dataclass(frozen=True)
class WindowedSelect:
    span: Span
    items: tuple[Item, ...]
    rows: str  # FROM and what follows, with the windows of the database
    leaves: tuple[str, ...]  # SQL of the columns behind the items
    windows: tuple[WindowQuery, ...]
    distinct: str
    condition: str | None  # QUALIFY
    order_by: tuple[OrderItem, ...]  # over leaves and windows
    order_written: tuple[str, ...]
    rest: str

    def inner(self) -> str:
        items = ["CAST(NULL AS INT)" if item.name is not None else item.text for item in self.items]
        return f"SELECT {', '.join([*items, *(f'({text})' for text in self.leaves)])}\n{self.rows}"

    def alone(self, item: Item) -> str:
        """A query of one item, to see how many columns it is."""
        return f"SELECT {item.text}\n{self.rows}"

    def widths(self, total: int, ask: Callable[[str], int]) -> list[int]:
        """How many columns each item is, if the inner query has so many; `ask` counts those of a query."""
        many = [item for item in self.items if item.many]
        left = total - len(self.leaves) - (len(self.items) - len(many))
        counted = {id(item): left if len(many) == 1 else ask(self.alone(item)) for item in many}
        found = [counted.get(id(item), 1) for item in self.items]
        if sum(found) + len(self.leaves) != total:
            raise PatternMistake(
                "an item of SELECT is several columns: beside a row pattern in a window only `*` may be that",
                code="several_columns",
                hint="put it into a subquery",
            )
        return found

    def names(self, total: int) -> list[str]:
        """Of the columns of the inner query."""
        count = total - len(self.leaves)
        return [*(f"{ITEM}{i}" for i in range(count)), *(f"__i{i}" for i in range(len(self.leaves)))]

    def outer(
        self, table: str, widths: Sequence[int], names: Sequence[str], quoted: Callable[[str], str]
    ) -> str:
        """`names` are those that the database gives to the columns of the inner query."""
        columns: list[_Shown] = []
        at = 0
        for item, width in zip(self.items, widths, strict=True):
            if item.name is not None:
                columns.append(_Shown(item.text, item.name, item.written))
            else:
                columns += [_Shown(f"{ITEM}{i}", names[i], item.written) for i in range(at, at + width)]
            at += width
        shown = ", ".join(f"{column.text} AS {quoted(column.name)}" for column in columns)
        text = f"SELECT {self.distinct} {shown} FROM {table}"
        if self.condition is not None:
            text += f" WHERE {self.condition}"
        if self.order_by:
            text += f" ORDER BY {', '.join(self._orders(columns, quoted))}"
        return f"{text} {self.rest}".rstrip()

    def _orders(self, columns: list[_Shown], quoted: Callable[[str], str]) -> list[str]:
        return [
            _directed(_in_answer(written, columns, quoted) or item.value.text, item)
            for item, written in zip(self.order_by, self.order_written, strict=True)
        ]


@dataclass(frozen=True)
class _Shown:
    """A column of the answer."""

    text: str
    name: str
    written: str


def _in_answer(written: str, columns: list[_Shown], quoted: Callable[[str], str]) -> str | None:
    """What rows are ordered by, if it is a column of the answer: by its name or as it is written there."""
    name = written.strip('`"').lower()
    same = [c for c in columns if c.name.lower() == name] or [c for c in columns if c.written == written]
    if not same:
        return None
    alone = sum(c.name.lower() == same[0].name.lower() for c in columns) == 1
    return quoted(same[0].name) if alone else same[0].text


def _directed(text: str, item: OrderItem) -> str:
    """As the database orders: nothing is said of nulls that was not said."""
    direction = " DESC" if item.descending else ""
    nulls = "" if item.nulls_first is None else f" NULLS {'FIRST' if item.nulls_first else 'LAST'}"
    return f"{text}{direction}{nulls}"
