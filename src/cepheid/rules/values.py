"""Values of objects as they were matched, by name: written out, as they are asked for at each firing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cepheid.pattern.expr import Expr, Field
from cepheid.rules.closures import place, value_of
from cepheid.rules.written import written


def values_of(exprs: Mapping[str, Expr]) -> Callable[[Any], dict[str, Any]]:
    """
    >>> from cepheid.rules.objects import Event
    >>> values = values_of({"who": Field("0", ()), "level": Field("0", ("level",))})
    >>> values([Event("Alarm", "a7", {"level": 3}, number=1, time=0)])
    {'who': 'a7', 'level': 3}
    """
    known: dict[str, Any] = {}

    def name(thing: Any) -> str:
        known[f"value{len(known)}"] = thing
        return f"value{len(known) - 1}"

    text = values_text(exprs, name)
    values: Callable[[Any], dict[str, Any]] = written("things", [f"return {text}"], known)
    return values


def values_text(exprs: Mapping[str, Expr], name: Callable[[Any], str]) -> str:
    """Of `things`. `name`: of a function that the text is to know."""
    return f"{{{', '.join(f'{n!r}: {_value_text(e, name)}' for n, e in exprs.items())}}}"


def _value_text(expr: Expr, name: Callable[[Any], str]) -> str:
    if isinstance(expr, Field) and not expr.path:
        return f"things[{place(str(expr.alias))}].identity"
    return f"{name(value_of(expr))}(things)"
