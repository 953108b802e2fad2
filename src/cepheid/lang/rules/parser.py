"""Text in, rules out."""

from __future__ import annotations

from functools import cache

from lark import Lark

from cepheid.errors import SyntaxMistake
from cepheid.lang.reading import load_grammar, read_tree
from cepheid.lang.rules.declarations import read_rule_set
from cepheid.lang.rules.mistakes import explain_rule_mistake
from cepheid.lang.source import Source
from cepheid.pattern.rule_model import ObjectType, RuleSet


@cache
def _parser() -> Lark:
    return load_grammar("cepheid.lang.rules", "rules.lark", ["rules"])


def parse_rules(text: str, source: str = "rules", types: tuple[ObjectType, ...] = ()) -> RuleSet:
    """All rules and types of a text, in the order they stand there. `types`: what else is known.

    >>> rules = parse_rules("rule R { when { ?e: Machine(state == ON) } then { retract ?e } }").rules
    >>> rules[0].conditions[0].shape.tests
    (Binary(op='==', left=Field(alias=None, path=('state',)), right=Literal(value='ON')),)
    """
    tree = read_tree(_parser(), text, "rules", source, explain_rule_mistake)
    if not any(child.data == "rule" for child in tree.children):
        raise SyntaxMistake(
            "there is no rule in the text",
            code="no_rules",
            hint="write for example rule Late { when { ?o: Order(state == LATE) } then { emit Late(?o); } }",
        )
    return read_rule_set(tree, Source(text, source), types)
