"""The type of the times of events, from the columns that hold times: known before a single row is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cepheid.engines.rules.reading import RuleColumns, is_log
from cepheid.errors import InputMistake
from cepheid.pattern.expr import Expr, walk
from cepheid.pattern.rule_model import Rule, RuleSet
from cepheid.pattern.time_test import Span, TimeTest
from cepheid.pattern.types import FLOAT, INT, NULL, NUMBERS, TIMESTAMP, UNKNOWN, Type

Kinds = dict[str, Type]  # of the columns of a table


def time_type(
    tables: Iterable[tuple[bool, Kinds]], columns: RuleColumns, rules: RuleSet, tick: int, patterns: bool
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
    return INT if numbers == {INT} and not patterns and _whole(rules, tick) else FLOAT


def _times(events: bool, kinds: Kinds, columns: RuleColumns) -> Iterator[Type]:
    if events or is_log(kinds, columns):
        names: tuple[str, ...] = (columns.time,)
    else:
        names = (columns.valid_from, columns.valid_to)
    yield from (kinds[name] for name in names if name in kinds)


def _whole(rules: RuleSet, tick: int) -> bool:
    """Are all bounds whole ticks? What waits for a date between two ticks fires there."""
    return all(span.microseconds(tick) % tick == 0 for rule in rules.rules for span in _spans(rule))


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
