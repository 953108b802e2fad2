"""Expressions that look at no event: whoever translates tests has them worked out by the evaluator itself."""

from __future__ import annotations

from typing import Any

from cepheid.matching.evaluate import compile_value
from cepheid.matching.moment import Moment
from cepheid.pattern.expr import MATCH_FUNCTIONS, Binary, Call, Case, Expr, In, IsNull, Literal, Unary, walk

_NODES = (Literal, Unary, Binary, In, IsNull, Case, Call)


def is_constant(expr: Expr) -> bool:
    return all(isinstance(n, _NODES) and not _of_match(n) for n in walk(expr))


def _of_match(node: Expr) -> bool:
    return isinstance(node, Call) and node.name in MATCH_FUNCTIONS


def constant(expr: Expr) -> Any:
    """Raises what the evaluator raises."""
    return compile_value(expr)(Moment(None, {}))
