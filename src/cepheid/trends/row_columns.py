"""What the rows of an aggregate show: where it can be read off columns, no row has to become an object."""

from __future__ import annotations

from cepheid.pattern.expr import Call, Expr, Key, walk
from cepheid.pattern.model import Output
from cepheid.plan.plan import Plan

Outputs = tuple[Output, ...] | None
_END = Call("match_end", ())


def plain_columns(plan: Plan, outputs: Outputs) -> dict[str, Expr] | None:
    """The columns, where each is an aggregate, a partition column or the time (no Key), and all rows are given.

    None: there is more to do for a row.
    """
    assert plan.trends is not None
    if outputs is None:
        names = (*plan.key_names, *plan.trends.names)
        found: dict[str, Expr] = {"time": _END, **{name: Key(name) for name in names}}
    else:
        found = {o.name: o.expr for o in outputs}
    plain = all(isinstance(e, Key) or e == _END for e in found.values())
    return found if plain and not plan.trends.having else None


def shows_ids(outputs: Outputs) -> bool:
    """Does a row tell its id? It is made of what only the matcher of single events knows."""
    exprs = [o.expr for o in outputs or ()]
    return any(isinstance(n, Call) and n.name == "match_id" for expr in exprs for n in walk(expr))
