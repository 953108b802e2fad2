"""And, or, not as Sigma means them: a condition holds or it does not. A missing field is no third case."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.pattern.expr import Binary, Call, Expr, In, IsNull, Literal, Unary

_FEW = 16  # more than these are put into a tree, so that nothing that walks it goes too deep


def all_of(parts: Sequence[Expr]) -> Expr:
    return _joined("and", list(parts))


def any_of(parts: Sequence[Expr]) -> Expr:
    return _joined("or", _lists(parts))


def none_of(part: Expr) -> Expr:
    """`not`: of a comparison with null it would be unknown, which is not true; Sigma says true."""
    return Unary("not", part if _certain(part) else Call("coalesce", (part, Literal(False))))


def _certain(expr: Expr) -> bool:
    """Never unknown?"""
    match expr:
        case IsNull() | Call(name="coalesce"):
            return True
        case Unary(op="not", operand=operand):
            return _certain(operand)
        case Binary(op="and" | "or", left=left, right=right):
            return _certain(left) and _certain(right)
    return False


def _joined(op: str, parts: list[Expr]) -> Expr:
    if len(parts) == 1:
        return parts[0]
    if len(parts) > _FEW:
        middle = len(parts) // 2
        return Binary(op, _joined(op, parts[:middle]), _joined(op, parts[middle:]))
    joined = parts[0]
    for part in parts[1:]:
        joined = Binary(op, joined, part)
    return joined


def _lists(parts: Sequence[Expr]) -> list[Expr]:
    """`x == 1 or x == 2` as `x in (1, 2)`, which is shorter to read and quicker to test."""
    values: dict[Expr, list[Expr]] = {}
    for part in parts:
        if isinstance(part, Binary) and part.op == "==" and isinstance(part.right, Literal):
            values.setdefault(part.left, []).append(part.right)
    found: list[Expr] = []
    for part in parts:
        if isinstance(part, Binary) and part.op == "==" and isinstance(part.right, Literal):
            several = values.pop(part.left, None)
            if several is not None:
                found.append(In(part.left, tuple(several)) if len(several) > 1 else part)
        else:
            found.append(part)
    return found
