"""What is known of types while rules are read, and bare names in capitals, which are texts unless a type has them."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from cepheid.pattern.rule_model import ObjectType


class KnownTypes:
    """Declared types by name; a fact type and an event type may have one name."""

    def __init__(self, types: tuple[ObjectType, ...]) -> None:
        self._types = {(t.name, t.event): t for t in types}

    def find(self, name: str, event: bool) -> ObjectType | None:
        return self._types.get((name, event))

    def fields(self, name: str, event: bool) -> frozenset[str]:
        found = self.find(name, event)
        return frozenset() if found is None else frozenset(name for name, _ in found.fields)


def with_texts(tree: Any, fields: frozenset[str]) -> Any:
    """A tree of an expression where names in capitals are strings. A name in back quotes is always a field."""
    if not isinstance(tree, Tree):
        return tree
    if tree.data == "path" and len(tree.children) == 1:
        token: Any = tree.children[0].children[0]
        if token.type == "NAME" and str(token).isupper() and str(token) not in fields:
            return Tree("string", [Token.new_borrow_pos("STRING", f'"{token}"', token)], tree.meta)
        return tree
    return Tree(tree.data, [with_texts(child, fields) for child in tree.children], tree.meta)
