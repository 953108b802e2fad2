"""What is said when values do not fit an expression."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NoReturn

from cepheid.errors import EvaluationError
from cepheid.pattern.expr import Call, Expr
from cepheid.pattern.functions import Function
from cepheid.pattern.text import expr_text
from cepheid.pattern.values import Clash, clash_hint, kind_of, kind_text


def short(value: Any) -> str:
    text = repr(value) if not isinstance(value, datetime) else value.isoformat(" ")
    return text if len(text) <= 40 else text[:37] + "..."


def raise_clash(expr: Expr, clash: Clash, what: str, op: str) -> NoReturn:
    a, b = clash.left, clash.right
    raise EvaluationError(
        f"`{expr_text(expr)}`: {short(a)} is {kind_text(a)}, {short(b)} is {kind_text(b)}: they {what}",
        code="type_clash",
        place=expr.place,
        hint=clash_hint(op, kind_of(a), kind_of(b)),
    ) from None


def raise_bad_argument(expr: Call, function: Function, clash: Clash) -> NoReturn:
    values = clash.values
    shown = ", ".join(f"{short(v)} ({kind_of(v)})" for v in values)
    raise EvaluationError(
        f"`{expr_text(expr)}`: `{function.name}` cannot work on {shown}",
        code="type_clash",
        place=expr.place,
        hint=f"it takes {function.signature()}",
    ) from None


def raise_overflow(expr: Expr) -> NoReturn:
    raise EvaluationError(
        f"the result of `{expr_text(expr)}` is too large", code="overflow", place=expr.place
    ) from None
