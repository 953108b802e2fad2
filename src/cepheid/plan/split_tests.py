"""Alpha and beta: tests that need one event alone, and tests that look at other events of the run."""

from __future__ import annotations

from cepheid.pattern.expr import Expr, Field, Opaque, aliases_in, conjuncts, rewrite
from cepheid.pattern.model import Step


def split_tests(step: Step, repeated: bool) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The conjuncts of a step: (alpha, beta). In a step that is taken once, its own name is the event itself.

    In a closure its own name is the event captured before, so a test that uses it is a beta test.
    """
    parts = conjuncts(step.where)
    if not repeated and step.alias is not None:
        parts = tuple(own_to_bare(p, step.alias) for p in parts)
    alpha = tuple(p for p in parts if not aliases_in(p) and not isinstance(p, Opaque))
    return alpha, tuple(p for p in parts if p not in alpha)


def own_to_bare(expr: Expr, alias: str | None) -> Expr:
    """A step's own name, in its own condition, is the event at hand."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Field) and node.alias == alias:
            return Field(None, node.path, place=node.place)
        return None

    return rewrite(expr, change)
