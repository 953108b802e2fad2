"""What functions take and what type they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.pattern.types import Type, common
from cepheid.pattern.values import NUMBERS, TIMES


@dataclass(frozen=True)
class Accept:
    """The kinds an argument may have. No kinds: anything."""

    label: str
    kinds: frozenset[str] = frozenset()

    def takes(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds or kind in ("null", "unknown")


ANYTHING = Accept("anything")
TEXT = Accept("string", frozenset({"string"}))
NUMBER = Accept("number", frozenset(NUMBERS))
WHOLE = Accept("int", frozenset({"int"}))
TIME = Accept("timestamp", frozenset(TIMES))
SIGNED = Accept("number or duration", frozenset({*NUMBERS, "duration"}))
SIZED = Accept("string or list", frozenset({"string", "bytes", "list"}))
SCALAR = Accept("scalar", frozenset({*NUMBERS, *TIMES, "bool", "string", "bytes", "duration"}))
LOGICAL = Accept("bool, number or string", frozenset({*NUMBERS, "bool", "string"}))
INSTANT = Accept("string, number or timestamp", frozenset({*NUMBERS, *TIMES, "string"}))

ResultType = Callable[[Sequence[Type]], Type | None]


def gives(kind: Type) -> ResultType:
    return lambda types: kind


def same_as_first(types: Sequence[Type]) -> Type:
    return types[0]


def common_type(types: Sequence[Type]) -> Type | None:
    result: Type | None = types[0]
    for kind in types[1:]:
        result = None if result is None else common(result, kind)
    return result


def ordered_type(types: Sequence[Type]) -> Type | None:
    """Lists and structs can be equal, but not one less than the other."""
    result = common_type(types)
    return None if result is not None and result.name in ("list", "struct") else result


def first_if_comparable(types: Sequence[Type]) -> Type | None:
    return None if common_type(types) is None else types[0]
