"""A plan: the pattern after all rewrites, its automaton, its key. What matchers and `explain` read."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.expr import Expr
from cepheid.pattern.model import Arrow, Emission, Forecast, Guard, Pattern, TrendColumn, TrendRows
from cepheid.plan.automaton import Automaton


@dataclass(frozen=True)
class GuardSpec:
    """`unless X ...` with its tests told apart."""

    guard: Guard
    alpha: tuple[Expr, ...]
    beta: tuple[Expr, ...]


@dataclass(frozen=True)
class TrendPlan:
    """What `.trend_aggregate` asks for."""

    columns: tuple[TrendColumn, ...]
    rows: TrendRows
    having: tuple[Expr, ...]  # conditions on the aggregate: rows that do not satisfy them are not given
    groups: tuple[Expr, ...]  # what the answer sees of single trends: it tells rows apart

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)


@dataclass(frozen=True)
class Plan:
    name: str
    pattern: Pattern
    automaton: Automaton
    guards: tuple[GuardSpec, ...]
    emission: Emission
    key: tuple[Expr, ...]  # what the input is partitioned by
    key_names: tuple[str, ...]  # columns of the answer: empty if the key was inferred
    inferred_key: bool
    aliases: dict[str, bool]  # every name a match binds, and whether it is a list
    event_types: tuple[str, ...]  # every type a step, NOT or guard names
    identity: str  # what match ids are made of
    needed: frozenset[str] | None = None  # the fields runs remember; None: all
    output_exprs: tuple[Expr, ...] = ()
    counting: bool = False  # the answer only counts matches: count_matches()
    trends: TrendPlan | None = None  # the answer aggregates matches: .trend_aggregate()
    forecast: Forecast | None = None

    @property
    def sees_all_events(self) -> bool:
        """Neighbours, `until` and forecasts look at every event of the partition, also those no step names."""
        automaton = self.automaton
        return (
            self.forecast is not None
            or any(e.arrow is Arrow.NEXT for e in automaton.edges)
            or any(a.node.next for a in automaton.absences)
            or any(c.until is not None for c in automaton.closures)
        )

    @property
    def closing_types(self) -> frozenset[str]:
        """Types of which every event counts, whatever its fields: under `longest` it may close a closure at the end."""
        automaton = self.automaton
        if self.emission is not Emission.LONGEST:
            return frozenset()
        ends = [s for s, accepts in enumerate(automaton.accepting) if any(not a.absences for a in accepts)]
        edges = [e for state in ends for e in automaton.out[state]]
        return frozenset(automaton.positions[e.position].step.type for e in edges)
