"""`e1[last].f` and `e1[last - 1].f`: in those brackets `last` is the place of the last event, not a field."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree


def read_last(tree: Tree[Any]) -> Tree[Any]:
    """The tree with `last(e1).f` for `e1[last].f`, and `e1.LEN - 1` for `last` inside a longer calculation."""
    for element in tree.find_data("element"):
        alias, index, *path = element.children
        if _is_last(index):
            element.data = "call"
            element.children = [_name("last", index), Tree("path", [alias], alias.meta), *path]
        else:
            element.children[1] = _counted(index, alias)
    return tree


def _counted(index: Any, alias: Any) -> Any:
    if not isinstance(index, Tree):
        return index
    if _is_last(index):
        length = Tree("path", [alias, _name("LEN", index)], index.meta)
        one = Tree("integer", [Token("INT", "1")], index.meta)
        return Tree("binary", [length, Token("MINUS", "-"), one], index.meta)
    index.children = [_counted(child, alias) for child in index.children]
    return index


def _is_last(tree: Any) -> bool:
    if tree.data != "path" or len(tree.children) != 1:
        return False
    token = tree.children[0].children[0]
    return bool(token.type == "NAME" and token.lower() == "last")


def _name(text: str, at: Any) -> Tree[Any]:
    return Tree("name", [Token("NAME", text)], at.meta)
