"""Clauses made ready: what an edge must be to satisfy one, and where to look for such edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.graph.edges import Edge, Edges, key_of
from cepheid.matching.evaluate import compile_test, compile_value
from cepheid.matching.moment import Moment, Test
from cepheid.pattern.event import Event
from cepheid.pattern.expr import Binary, Expr, Literal, conjuncts
from cepheid.pattern.graph_pattern import VALUE, Clause, variables_in

Binds = Mapping[str, Any]


@dataclass(frozen=True)
class ReadyClause:
    clause: Clause
    early: Test | None  # of the target alone
    late: Test | None  # with other variables
    needs: frozenset[str]  # those variables
    constant: Any  # the target, if it must be one value; otherwise None

    @property
    def source(self) -> str:
        return self.clause.source

    @property
    def label(self) -> str:
        return self.clause.label

    @property
    def bind(self) -> str | None:
        return self.clause.bind

    def fits(self, edge: Edge) -> bool:
        """As far as it can be said of the edge alone."""
        if edge.label != self.clause.label:
            return False
        return self.early is None or self.early(moment({}, edge.target))

    def passes(self, edge: Edge, binds: Binds) -> bool:
        """The rest, where the variables it needs are bound."""
        return self.late is None or self.late(moment(binds, edge.target))


def ready(clause: Clause) -> ReadyClause:
    parts = conjuncts(clause.test)
    early = [p for p in parts if not variables_in(p)]
    late = [p for p in parts if variables_in(p)]
    return ReadyClause(
        clause,
        of_its_type(compile_test(early)),
        of_its_type(compile_test(late)),
        frozenset[str]().union(*(variables_in(p) for p in late)),
        next((c for p in early if (c := _constant(p)) is not None), None),
    )


def of_its_type(test: Test | None) -> Test | None:
    """A label may have targets of several types: one that cannot be compared is another value, and no mistake."""
    if test is None:
        return None

    def tested(at: Moment) -> bool:
        try:
            return test(at)
        except EvaluationError as problem:
            if problem.code == "type_clash":
                return False
            raise

    return tested


def _constant(test: Expr) -> Any:
    if isinstance(test, Binary) and test.op == "==":
        for one, other in ((test.left, test.right), (test.right, test.left)):
            if one == VALUE and isinstance(other, Literal):
                return other.value
    return None


def moment(binds: Binds, value: Any = None) -> Moment:
    """What an expression over variables and a target looks at."""
    fields = {f"?{name}": bound for name, bound in binds.items()}
    fields["value"] = value
    return Moment(Event("", 0, fields), {})


def value_of(expr: Expr, binds: Binds) -> Any:
    return compile_value(expr)(moment(binds))


def same(one: Any, other: Any) -> bool:
    return bool(key_of(one) == key_of(other))


def merged(one: Binds, other: Binds) -> dict[str, Any] | None:
    """Both together; None if they do not agree."""
    for name, value in other.items():
        if name in one and not same(one[name], value):
            return None
    return {**one, **other}


def bound_to(clause: ReadyClause, edge: Edge, binds: Binds) -> dict[str, Any] | None:
    """The variables with the edge taken for the clause; None if it cannot be."""
    own = {clause.source: edge.source}
    if clause.bind is not None:
        if clause.bind == clause.source and not same(edge.source, edge.target):
            return None
        own[clause.bind] = edge.target
    return merged(binds, own)


def candidates(clause: ReadyClause, edges: Edges, binds: Binds) -> Sequence[int]:
    """Edges that may satisfy it, from the smallest index there is."""
    if clause.source in binds:
        return edges.leaving(binds[clause.source], clause.label)
    if clause.bind is not None and clause.bind in binds:
        return edges.entering(clause.label, binds[clause.bind])
    if clause.constant is not None:
        return edges.entering(clause.label, clause.constant)
    return edges.labelled(clause.label)


def exists(clause: ReadyClause, edges: Edges, binds: Binds, time: int) -> bool:
    """Is there an edge for it that holds at the time? Variables it does not know may be anything."""
    for number in candidates(clause, edges, binds):
        edge = edges[number]
        if not edge.holds_at(time) or not clause.fits(edge):
            continue
        bound = bound_to(clause, edge, binds)
        if bound is not None and clause.passes(edge, bound):
            return True
    return False


def variables_of(clauses: Iterable[ReadyClause]) -> frozenset[str]:
    return frozenset[str]().union(*(c.clause.variables() for c in clauses))
