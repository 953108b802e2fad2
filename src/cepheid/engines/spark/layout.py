"""How events travel through Spark: which prepared column holds what."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.engines.local.events import Columns

# Prepared columns have names of their own, so that no name of the user's can clash with them or with each other.
TIME, TYPE, SEQUENCE, END, NOW, LETTER = "_t", "_y", "_s", "_e", "_now", "_d"
BITS_A_COLUMN = 62


@dataclass(frozen=True)
class Layout:
    """The prepared columns of one unit, for both ends: the plan that makes them, the worker that reads them."""

    columns: Columns
    keys: int
    bit_columns: int
    fields: tuple[str, ...]  # the user's names of the columns _f0, _f1, ...
    with_time: bool  # is the time one of the fields an event needs?
    has_now: bool = False
    # Does a column say which rows leave a dead letter here, and not in another unit?
    has_letter: bool = False
    # Are the key columns equal where the keys are, and only there? Otherwise the matcher tells finer keys apart.
    exact_key: bool = True
    # For each part of the key the field that it is, which then travels once; None: it has a column of its own.
    key_fields: tuple[str | None, ...] = ()

    def key_names(self) -> list[str]:
        fields = dict(zip(self.fields, self.field_names(), strict=True))
        shared = self.key_fields or (None,) * self.keys
        return [f"_k{i}" if name is None else fields[name] for i, name in enumerate(shared)]

    def bit_names(self) -> list[str]:
        return [f"_b{i}" for i in range(self.bit_columns)]

    def order_names(self) -> list[str]:
        return [f"_o{i}" for i in range(len(self.columns.order))]

    def field_names(self) -> list[str]:
        return [f"_f{i}" for i in range(len(self.fields))]
