"""Rules however they are given: text, built in Python, or several of both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cepheid.errors import PatternMistake
from cepheid.lang.rules import parse_rules
from cepheid.pattern.rule_builder import RuleDraft, rule_set
from cepheid.pattern.rule_model import ObjectType, Rule, RuleSet
from cepheid.pattern.types import UNKNOWN, Type
from cepheid.rules.checking import check_rules


def rule_set_of(
    given: Any, source: str = "rules", types: tuple[ObjectType, ...] = (), time: Type = UNKNOWN
) -> RuleSet:
    """Rules, read and checked. `types`: what is known of objects from elsewhere; declared ones win.

    `time`: the type of the times of events, where it is known.

    >>> rule_set_of("rule R { when { ?a: event A() } then { emit B(?a); } }").rules[0].name
    'R'
    """
    rules = gathered(given, source, types)
    check_rules(rules, types, time)
    declared = {(t.name, t.event) for t in rules.types}
    return replace(rules, types=(*rules.types, *(t for t in types if (t.name, t.event) not in declared)))


def gathered(given: Any, source: str = "rules", types: tuple[ObjectType, ...] = ()) -> RuleSet:
    """Rules as they are given, not yet checked."""
    if isinstance(given, str):
        return parse_rules(given, source, types)
    if isinstance(given, (RuleDraft, Rule, ObjectType, RuleSet)):
        return rule_set(given)
    if isinstance(given, Iterable):
        return rule_set(*(gathered(one, source, types) for one in given))
    raise PatternMistake(
        f"a {type(given).__name__} is no rule",
        code="not_a_rule",
        hint='give text, or rule("R").event(...).emit(...), or a list of them',
    )
