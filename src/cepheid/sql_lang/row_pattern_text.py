"""A row pattern as text that reads back to the same model."""

from __future__ import annotations

import re

from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    Variable,
)

_SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_PLAIN = re.compile(r"[^\W\d]\w*")
_NOT_PLAIN = ("AND", "OR", "NOT", "PERMUTE")


def row_pattern_text(node: RowNode) -> str:
    """
    >>> row_pattern_text(Quantified(Concatenation((Variable("A"), Variable("b"))), 2, None, greedy=False))
    '(A `b`){2,}?'
    """
    match node:
        case Variable(name):
            plain = _PLAIN.fullmatch(name) and name == name.upper() and name not in _NOT_PLAIN
            return name if plain else "`" + name.replace("`", "``") + "`"
        case Empty():
            return "()"
        case Anchor(start):
            return "^" if start else "$"
        case Concatenation(parts):
            return " ".join(_grouped(part, Concatenation, Alternation) for part in parts)
        case Alternation(parts):
            return " | ".join(_grouped(part, Alternation) for part in parts)
        case Permutation(parts):
            return f"PERMUTE({', '.join(map(row_pattern_text, parts))})"
        case Exclusion(part):
            return f"{{- {row_pattern_text(part)} -}}"
        case Quantified(part, least, most, greedy):
            inner = _grouped(part, Concatenation, Alternation, Quantified)
            return inner + _quantifier(least, most) + ("" if greedy else "?")
    raise TypeError(f"no row pattern: {node!r}")


def _grouped(node: RowNode, *looser: type[RowNode]) -> str:
    text = row_pattern_text(node)
    return f"({text})" if isinstance(node, looser) else text


def _quantifier(least: int, most: int | None) -> str:
    sign = _SIGNS.get((least, most))
    if sign is not None:
        return sign
    if least == most:
        return f"{{{least}}}"
    return f"{{{least},{'' if most is None else most}}}"
