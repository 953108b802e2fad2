"""Nodes and values of a graph as Spark columns: of one kind a plain column, of several a struct with a field for each.

Two are the same where they are locally: 1 is 1.0, but neither "1" nor true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.local.arrow_types import type_from_arrow
from cepheid.engines.local.events import plain
from cepheid.engines.local.frames import SCALARS
from cepheid.errors import InputMistake
from cepheid.pattern.types import Type

if TYPE_CHECKING:
    from pyspark.sql import Column

_ORDER = ("string", "bool", "int", "float", "decimal", "timestamp", "date", "duration", "bytes")
_NUMBERS = ("int", "float", "decimal")
_GREATEST_SCALE = 18  # a whole number of 64 bits beside so many digits is a decimal of 38
_TWO_63 = float(2**63)


@dataclass(frozen=True)
class Kinds:
    """What a value may be: kinds as `kind_of` names them, with their Arrow types. Of one the column is plain."""

    types: tuple[tuple[str, pa.DataType], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.types)

    @property
    def is_plain(self) -> bool:
        return len(self.types) == 1

    @property
    def arrow(self) -> pa.DataType:
        return self.types[0][1] if self.is_plain else pa.struct(list(self.types))

    def pick(self, column: Column, kind: str) -> Column:
        """The value where it is of this kind; null where it is of another."""
        from pyspark.sql import functions as F

        if kind not in self.names:
            return F.lit(None).cast(_spark_name(SCALARS_BY_KIND[kind]))
        return column if self.is_plain else column.getField(kind)

    def widened(self, column: Column, other: Kinds) -> Column:
        """As a column of more kinds."""
        if other == self:
            return column
        return other.column({name: self.pick(column, name) for name in self.names})

    def column(self, values: dict[str, Column]) -> Column:
        """Out of columns by kind, of which one has a value; null if none has."""
        from pyspark.sql import functions as F

        casts = {
            name: values[name].cast(_spark_name(kind))
            if name in values
            else F.lit(None).cast(_spark_name(kind))
            for name, kind in self.types
        }
        if self.is_plain:
            return casts[self.names[0]]
        whole = F.struct(*(column.alias(name) for name, column in casts.items()))
        filled = [F.when(casts[name].isNotNull(), F.lit(True)) for name in values if name in casts]
        return F.when(F.coalesce(*filled), whole) if filled else F.when(F.lit(False), whole)

    def value(self, cell: Any) -> Any:
        """The Python value of a cell that Arrow has read."""
        if cell is None or self.is_plain:
            return plain(cell)
        return next((plain(inner) for inner in cell.values() if inner is not None), None)

    def cell(self, value: Any) -> Any:
        """The other way round."""
        if value is None or self.is_plain:
            return value
        kind = _kind_of_value(value)
        return {name: value if name == kind else None for name in self.names}


SCALARS_BY_KIND = {kind.name: arrow for kind, arrow in SCALARS.items()} | {"decimal": pa.decimal128(38, 18)}
EVERY_KIND = Kinds(tuple((name, SCALARS_BY_KIND[name]) for name in _ORDER))


def _kind_of_value(value: Any) -> str:
    from cepheid.pattern.values import kind_of

    return kind_of(value)


@cache
def _spark_name(kind: pa.DataType) -> str:
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind).simpleString()


def kinds_of(columns: Iterable[tuple[str, pa.DataType]], what: str) -> Kinds:
    """Of the columns that hold the values, by name."""
    found: dict[str, pa.DataType] = {}
    for name, arrow in columns:
        kind = kind_of_column(name, arrow, what)
        if kind is not None:
            found[kind] = _wider(found.get(kind), arrow) if kind == "decimal" else SCALARS_BY_KIND[kind]
    return exact(_sorted(found))


def kind_of_column(name: str, arrow: pa.DataType, what: str) -> str | None:
    """None: a column that is always null."""
    kind = type_from_arrow(arrow).name
    if kind == "null":
        return None
    if kind not in _ORDER:
        raise InputMistake(
            f"the column `{name}` holds {arrow}, which cannot be the {what} of an edge",
            code="bad_value",
            hint="nodes and values are texts, numbers, bools, times and durations; of a list, make several edges",
        )
    return kind


def together(kinds: Iterable[Kinds]) -> Kinds:
    """All of them."""
    found: dict[str, pa.DataType] = {}
    for one in kinds:
        for name, arrow in one.types:
            found[name] = _wider(found.get(name), arrow) if name == "decimal" else arrow
    return _sorted(found)


def of_type(kind: Type) -> Kinds:
    """Of what is computed; every kind, if nothing is known of it."""
    if kind.name not in _ORDER:
        return EVERY_KIND
    return Kinds(((kind.name, SCALARS_BY_KIND[kind.name]),))


def shown_as(kinds: Kinds) -> Kinds:
    """How an answer shows them: numbers of two kinds as floats, or as decimals, as tables do locally."""
    numbers = [name for name in _NUMBERS if name in kinds.names]
    if len(numbers) < 2:
        return kinds
    widest = "float" if "float" in numbers else "decimal"
    return Kinds(tuple((name, arrow) for name, arrow in kinds.types if name not in numbers or name == widest))


def shown(column: Column, kinds: Kinds) -> Column:
    from pyspark.sql import functions as F

    target = shown_as(kinds)
    if target == kinds:
        return column
    picked = {name: kinds.pick(column, name) for name in kinds.names}
    numbers = [name for name in _NUMBERS if name in kinds.names]
    widest = next(name for name in target.names if name in _NUMBERS)
    kind = _spark_name(dict(target.types)[widest])
    others = {name: value for name, value in picked.items() if name not in numbers}
    return target.column({**others, widest: F.coalesce(*(picked[name].cast(kind) for name in numbers))})


def exact(kinds: Kinds) -> Kinds:
    """The same, if Spark can tell which values of them are the same."""
    if "decimal" in kinds.names and "float" in kinds.names:
        raise InputMistake(
            "the graph has decimals and floats: whether two such are the same Spark cannot tell exactly",
            code="mixed_types",
            hint='cast the columns to one type, for example .cast("double")',
        )
    return kinds


def _sorted(found: dict[str, pa.DataType]) -> Kinds:
    """Of nothing but nulls, texts."""
    return Kinds(tuple((name, found[name]) for name in _ORDER if name in found) or EVERY_KIND.types[:1])


def _wider(one: pa.DataType | None, other: pa.DataType) -> pa.DataType:
    scale = max(other.scale, one.scale if one is not None else 0)
    if scale > _GREATEST_SCALE:
        raise InputMistake(
            f"decimals with {scale} digits behind the point",
            code="bad_value",
            hint=f"cast the column to one with at most {_GREATEST_SCALE}",
        )
    return pa.decimal128(38, scale)


# Equality.


def same(one: Column, kinds: Kinds, other: Column, other_kinds: Kinds) -> Column:
    """A condition that a hash join can use."""
    from pyspark.sql import functions as F

    common = [f for f in _families(kinds) if f in _families(other_kinds)]
    if not common:
        return F.lit(False)
    both = together([kinds, other_kinds])
    return _key(one, kinds, both, common) == _key(other, other_kinds, both, common)


def identity(column: Column, kinds: Kinds) -> Column:
    """A column to group by."""
    return _key(column, kinds, kinds, _families(kinds))


def _families(kinds: Kinds) -> list[str]:
    return list(dict.fromkeys("number" if name in _NUMBERS else name for name in kinds.names))


def _key(column: Column, own: Kinds, both: Kinds, families: list[str]) -> Column:
    from pyspark.sql import functions as F

    parts: list[Column] = []
    for family in families:
        parts += _number_key(column, own, both) if family == "number" else [own.pick(column, family)]
    if len(parts) == 1:
        return parts[0]
    # A value of a family that the other side has not: a struct of nulls would be the same as another such.
    return F.when(F.coalesce(*(F.when(p.isNotNull(), F.lit(1)) for p in parts)).isNotNull(), F.struct(*parts))


def _number_key(column: Column, own: Kinds, both: Kinds) -> list[Column]:
    """Whole numbers as such, whatever they are written as."""
    from pyspark.sql import functions as F

    numbers = [name for name in both.names if name in _NUMBERS]
    if len(numbers) == 1:
        return [own.pick(column, numbers[0])]
    if "float" not in numbers:
        kind = _spark_name(dict(both.types)["decimal"])
        return [F.coalesce(*(own.pick(column, name).cast(kind) for name in numbers))]
    number = own.pick(column, "float")
    if "decimal" in numbers:  # only what is computed may be either
        number = F.coalesce(number, own.pick(column, "decimal").cast("double"))
    is_whole = (number == F.rint(number)) & (number >= F.lit(-_TWO_63)) & (number < F.lit(_TWO_63))
    whole = F.coalesce(own.pick(column, "int"), F.when(is_whole, number.cast("bigint")))
    return [whole, F.when(~is_whole, number)]
