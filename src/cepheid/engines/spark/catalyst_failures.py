"""Could a test raise an error for some event? Where that is not certain, the answer is yes."""

from __future__ import annotations

import pyarrow as pa

from cepheid.engines.local.arrow_types import struct_of_arrow
from cepheid.errors import CepheidError
from cepheid.pattern.expr import Binary, Call, Case, Expr, Field, In, IsNull, Literal, Unary, walk
from cepheid.pattern.types import DURATION, NULL, NUMBERS, UNKNOWN, Type
from cepheid.plan.check_types import Scope, check_condition, infer

_LOGICAL = (Unary, In, IsNull, Case)  # with the right types they cannot
_NUMBERS = (*NUMBERS, NULL)
_MOST_PRODUCTS = 8  # of 64-bit integers: far from the largest float
_LONGEST_LIKE = 1000
_CAN_FAIL = ("exp", "pow")  # too large
_READ_AS_TEXT = {"like": 1, "regexp_like": 1, "regexp_extract": 1, "date_trunc": 0}  # must be written out


def may_fail(test: Expr, fields: pa.Schema) -> bool:
    try:
        scope = Scope(struct_of_arrow(fields), None, {}, {})
        check_condition(test, scope)
    except CepheidError:
        return True
    nodes = list(walk(test))
    products = sum(isinstance(node, Binary) and node.op == "*" for node in nodes)
    return products > _MOST_PRODUCTS or any(_node_may_fail(node, scope) for node in nodes)


def _node_may_fail(node: Expr, scope: Scope) -> bool:
    match node:
        case Literal(value=int(value)):
            return abs(value) >= 2**63
        case Literal():
            return False
        case Field():
            return node.alias is not None or _holds_unknown(infer(node, scope))
        case Binary(op="and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">="):
            return False
        case Binary(op=op, left=left, right=right):
            return op == "**" or not all(infer(side, scope) in _NUMBERS for side in (left, right))
        case Call():
            return _call_may_fail(node, scope)
    return not isinstance(node, _LOGICAL)


def _holds_unknown(kind: Type) -> bool:
    inside = [inner for _, inner in kind.fields] + ([kind.item] if kind.item is not None else [])
    return kind == UNKNOWN or any(_holds_unknown(inner) for inner in inside)


def _call_may_fail(node: Call, scope: Scope) -> bool:
    if node.name in _CAN_FAIL or any(infer(arg, scope) == DURATION for arg in node.args):
        return True
    at = _READ_AS_TEXT.get(node.name)
    return at is not None and not _short_text(node.args[at])


def _short_text(expr: Expr) -> bool:
    return isinstance(expr, Literal) and isinstance(expr.value, str) and len(expr.value) <= _LONGEST_LIKE
