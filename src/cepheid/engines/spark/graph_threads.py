"""Threads as rows: how far the matches of a DataFrame have come on one way through a pattern.

On one way it is known which variables are bound and which stages were found, so all that is asked of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cepheid.engines.spark.graph_edges import TICK
from cepheid.engines.spark.graph_guards import allowed
from cepheid.engines.spark.graph_relations import decided_at, decided_tick, is_related
from cepheid.engines.spark.graph_stages import (
    Binds,
    HoldAt,
    StageJoins,
    all_of,
    any_of,
    greatest,
    least,
)
from cepheid.engines.spark.graph_tests import Condition, Held, filtered, read_by, with_value
from cepheid.graph.threads import PieceRules, ReadyPattern
from cepheid.pattern.graph_pattern import variables_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class ThreadRows:
    df: DataFrame | None = None  # None: nothing was found yet
    binds: Binds = field(default_factory=dict)
    holds: tuple[HoldAt, ...] = ()  # all, of every round
    now: Mapping[int, HoldAt] = field(default_factory=dict)  # by stage; of a loop those of this round
    pasts: tuple[str, ...] = ()  # columns with the stages of rounds that were joined in Python
    first: Column | None = None  # the time of the first stage; None: there is none
    floor: Column | None = None  # of all that was found before this slot
    latest: Column | None = None
    created: Column | None = None  # ticks, if they are asked for
    tick: Column | None = None
    decided: Column | None = None  # by relations
    alternative: int = 0


class Blocks:
    """Finds the blocks of a pattern, one after the other."""

    def __init__(self, pattern: ReadyPattern, joins: StageJoins) -> None:
        self.pattern = pattern
        self.joins = joins
        self._computed = 0

    def found(self, piece: int, threads: ThreadRows) -> ThreadRows:
        rules = self.pattern.rules[piece]
        slots = self.pattern.program.slots[rules.piece.first : rules.piece.last + 1]
        begins = True
        for slot in slots:
            opening = threads.first is None
            threads = replace(threads, floor=threads.latest)
            done: list[HoldAt] = []
            for stage in slot.stages:
                threads = self._stage(stage, threads, done, opening, rules, begins)
                begins = False
        return self._ended(rules, replace(threads, alternative=slots[-1].alternative))

    def _stage(
        self,
        number: int,
        threads: ThreadRows,
        done: list[HoldAt],
        opening: bool,
        rules: PieceRules,
        begins: bool,
    ) -> ThreadRows:
        """`done`: the stages of the slot that were found before, whose edges are taken."""

        def asked(hold: HoldAt) -> list[Column]:
            conditions = [] if threads.floor is None else [hold.time > threads.floor]
            taken = [s for h in done for a in h.own for b in hold.own if (s := a.is_same(b)) is not None]
            if taken:
                conditions.append(~any_of(taken))
            return [*conditions, *self._in_time(hold.time, threads, opening)]

        found = self.joins.found(self.pattern.stages[number], number, threads.df, threads.binds, asked)
        done.append(found.hold)
        time, tick = found.hold.time, found.tick if self.joins.edges.ticks else None
        moved = replace(
            threads,
            df=found.df,
            binds=found.binds,
            holds=(*threads.holds, found.hold),
            now={**threads.now, number: found.hold},
            first=_least(threads.first, time) if opening else threads.first,
            latest=time if len(done) == 1 else _greatest(threads.latest, time),
            created=_least(threads.created, tick) if opening else threads.created,
            tick=_greatest(threads.tick, tick),
        )
        return self._computed_and_true(rules, threads.binds, moved, begins)

    def _in_time(self, time: Column, threads: ThreadRows, opening: bool) -> list[Column]:
        within = self.pattern.pattern.within
        if within is None or threads.first is None:
            return []
        later = time - threads.first <= within
        return [later, threads.latest - time <= within] if opening and threads.latest is not None else [later]

    def _computed_and_true(
        self, rules: PieceRules, before: Binds, threads: ThreadRows, begins: bool
    ) -> ThreadRows:
        """As `PieceRules.computed_and_true` does it."""
        for let in rules.piece.block.lets:
            if let.variable not in threads.binds and variables_in(let.value) <= threads.binds.keys():
                threads = self._with_let(let.variable, let.value, threads)
        fields = _fields(threads.binds)
        tests = [
            Condition(e, {n: fields[n] for n in read_by(e)}, in_clause=False)
            for e in rules.piece.block.where
            if variables_in(e) <= threads.binds.keys() and (begins or not variables_in(e) <= before.keys())
        ]
        assert threads.df is not None
        return replace(threads, df=filtered(threads.df, tests)) if tests else threads

    def _with_let(self, name: str, expr: object, threads: ThreadRows) -> ThreadRows:
        from cepheid.pattern.expr import Expr

        assert isinstance(expr, Expr)
        assert threads.df is not None
        column = f"let{self._computed}"
        self._computed += 1
        fields = _fields(threads.binds)
        read = {n: fields[n] for n in read_by(expr)}
        df, kinds = with_value(threads.df, column, expr, read)
        return replace(threads, df=df, binds={**threads.binds, name: Held(column, kinds)})

    def _ended(self, rules: PieceRules, threads: ThreadRows) -> ThreadRows:
        """What is asked when the last slot of a block is done."""
        assert threads.df is not None
        df, decided, tick = threads.df, threads.decided, threads.tick
        owed = [(r, threads.now[left], threads.now[right]) for r, left, right in rules.relations]
        if owed:
            df = df.where(all_of([is_related(*one) for one in owed]))
            decided = _greatest(decided, greatest([decided_at(*one) for one in owed]))
            if self.joins.edges.ticks:
                tick = _greatest(tick, greatest([decided_tick(*one) for one in owed]))
        for guard in rules.guards:
            df = allowed(guard, df, threads.binds, threads.now, self.joins)
        return replace(threads, df=df, decided=decided, tick=tick)


def _fields(binds: Binds) -> dict[str, Held]:
    return {f"?{name}": held for name, held in binds.items()}


def _least(one: Column | None, other: Column | None) -> Column | None:
    return other if one is None else one if other is None else least([one, other])


def _greatest(one: Column | None, other: Column | None) -> Column | None:
    return other if one is None else one if other is None else greatest([one, other])


__all__ = ["TICK", "Blocks", "ThreadRows"]
