"""The type of the times of events, from the columns that hold times: known before a single row is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from cepheid.engines.program import Program
from cepheid.engines.rules.reading import RuleColumns, is_log
from cepheid.errors import InputMistake
from cepheid.pattern.expr import Expr, walk
from cepheid.pattern.rule_model import Rule, RuleSet
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.pattern.types import FLOAT, INT, NULL, NUMBERS, TIMESTAMP, UNKNOWN, Type

Kinds = dict[str, Type]  # of the columns of a table
_WINDOWS = ("within", "gap", "span")  # of patterns, in microseconds


def time_type(
    tables: Iterable[tuple[bool, Kinds]],
    columns: RuleColumns,
    rules: RuleSet,
    program: Program | None,
    tick: int,
) -> Type:
    """Ticks are whole numbers, unless something may happen between two of them. All that is no number is a timestamp.

    `tables`: whether each is one of events, and its columns.
    """
    found = {kind for events, kinds in tables for kind in _times(events, kinds, columns)} - {NULL}
    if not found:
        return UNKNOWN
    numbers = {kind for kind in found if kind in NUMBERS}
    if not numbers:
        return TIMESTAMP
    if found - numbers:
        raise InputMistake(
            "some times are numbers, and some are not",
            code="mixed_times",
            hint="write the times of all facts and events in one way",
        )
    whole = all(length % tick == 0 for length in (*_bounds(rules, tick), *_windows(program)))
    return INT if numbers == {INT} and whole else FLOAT


def _times(events: bool, kinds: Kinds, columns: RuleColumns) -> Iterator[Type]:
    if events or is_log(kinds, columns):
        names: tuple[str, ...] = (columns.time,)
    else:
        names = (columns.valid_from, columns.valid_to)
    yield from (kinds[name] for name in names if name in kinds)


def _bounds(rules: RuleSet, tick: int) -> Iterator[int]:
    """Of tests of time: what waits for a date between two ticks fires there."""
    return (span.microseconds(tick) for rule in rules.rules for span in _spans(rule))


def _spans(rule: Rule) -> Iterator[Span]:
    for test in (test for condition in rule.conditions for test in _tests(condition)):
        for node in walk(test):
            if isinstance(node, TimeTest):
                yield from (span for span in (node.low, node.high) if span is not None)


def _tests(condition: Any) -> Iterator[Expr]:
    for name in ("shape", "before", "after"):
        shape = getattr(condition, name, None)
        if shape is not None:
            yield from shape.tests


def _windows(part: Any) -> Iterator[int]:
    """Of patterns, wherever they stand in a program: an absence is certain when its window ends."""
    if isinstance(part, tuple):
        for one in part:
            yield from _windows(one)
    elif is_dataclass(part):
        for f in fields(part):
            value = getattr(part, f.name)
            if f.name in _WINDOWS and isinstance(value, int):
                yield value
            else:
                yield from _windows(value)
