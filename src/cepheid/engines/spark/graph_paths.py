"""The ways through a graph pattern as joins: blocks one after the other, a way for each choice, rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from cepheid.engines.spark.graph_rounds import BEGINS, BOTH, GOES_ON, SIDE, Rounds, chained
from cepheid.engines.spark.graph_rows import (
    CREATED,
    DECIDED,
    FIRST,
    LATEST,
    PAST,
    TICK,
    RowShape,
    SameColumns,
    shape_of,
)
from cepheid.engines.spark.graph_stages import PART, StageJoins
from cepheid.engines.spark.graph_threads import Blocks, ThreadRows
from cepheid.engines.spark.graph_values import identity
from cepheid.graph.renaming import blocks_in, bound_in
from cepheid.graph.threads import ReadyPattern
from cepheid.pattern.graph_pattern import Block, Body, Choice, Repeat, Then, variables_in

_MOST_WAYS = 24
_MOST_ROUNDS = 3  # that are joins one after the other


class TooManyWays(Exception):
    """A pattern that would be more joins than are worth it, or whose rounds cannot be joined."""


@dataclass(frozen=True)
class Part:
    """A body whose blocks know which pieces of the program they are."""

    body: Body
    parts: tuple[Part, ...] = ()
    piece: int = -1


def numbered(body: Body) -> Part:
    """In the order in which the program has made its pieces: of parts that follow each other the last first."""
    return _numbered(body, count())


def _numbered(body: Body, numbers: Iterator[int]) -> Part:
    if isinstance(body, Block):
        return Part(body, piece=next(numbers))
    if isinstance(body, Repeat):
        return Part(body, (_numbered(body.part, numbers),))
    assert isinstance(body, (Then, Choice))
    parts = reversed(body.parts) if isinstance(body, Then) else body.parts
    made = [_numbered(part, numbers) for part in parts]
    return Part(body, tuple(reversed(made) if isinstance(body, Then) else made))


class Ways:
    """All threads of a pattern that have come to its end, by the way they took."""

    def __init__(self, pattern: ReadyPattern, joins: StageJoins) -> None:
        self.pattern = pattern
        self.joins = joins
        self.blocks = Blocks(pattern, joins)
        self.same_columns = SameColumns(pattern, joins)
        self._chains = count()

    def all(self) -> list[ThreadRows]:
        return self._through(numbered(self.pattern.program.body), [ThreadRows()])

    def _through(self, part: Part, ways: list[ThreadRows]) -> list[ThreadRows]:
        if isinstance(part.body, Block):
            found = [self.blocks.found(part.piece, way) for way in ways]
        elif isinstance(part.body, Then):
            found = ways
            for inner in part.parts:
                found = self._through(inner, found)
        elif isinstance(part.body, Choice):
            found = [way for inner in part.parts for way in self._through(inner, ways)]
        else:
            assert isinstance(part.body, Repeat)
            found = self._repeated(part.body, part.parts[0], ways)
        if len(found) > _MOST_WAYS:
            raise TooManyWays(f"not by joins: there are more than {_MOST_WAYS} ways through it")
        return found

    def _repeated(self, loop: Repeat, inner: Part, ways: list[ThreadRows]) -> list[ThreadRows]:
        found = self._through(inner, ways)
        if loop.most == 1:
            return found
        cleared = bound_in(loop.part) - loop.shared
        if loop.most is None or loop.most > _MOST_ROUNDS:
            return self._chained(loop, inner, found, cleared, at_first=ways[0].df is None)
        enough = found if loop.least == 1 else []
        for done in range(2, loop.most + 1):
            found = self._through(inner, [_cleared(way, cleared) for way in found])
            enough = [*enough, *found] if done >= loop.least else enough
        return enough

    # Rounds without a small bound.

    def _chained(
        self, loop: Repeat, inner: Part, begun: list[ThreadRows], cleared: frozenset[str], at_first: bool
    ) -> list[ThreadRows]:
        """One way: where rounds bind other variables than each other, it would have to be known which went before."""
        mentioned = _mentioned(loop.part) | {PART}
        context = sorted((begun[0].binds.keys() - cleared) & mentioned)
        same = at_first and _says_the_same_alone(loop.part)
        rounds = begun if same else self._through(inner, [self._context(begun, context)])
        bound = {frozenset(way.binds) for way in begun}
        bound |= {frozenset(begun[0].binds.keys() - cleared | way.binds.keys()) for way in rounds}
        if len(bound) > 1:
            raise TooManyWays("not by joins: the rounds of a loop do not all bind the same variables")
        shape = shape_of([*begun, *rounds], self.joins.edges.ticks)
        sides = [(begun, BOTH)] if same else [(begun, BEGINS), (rounds, GOES_ON)]
        return [self._chain(loop, sides, shape, context, frozenset(rounds[0].binds), begun[0].alternative)]

    def _context(self, begun: list[ThreadRows], names: list[str]) -> ThreadRows:
        """What later rounds must agree with, each once."""
        from pyspark.sql import functions as F

        if not names:
            return ThreadRows()
        shape = shape_of([replace(w, binds={n: w.binds[n] for n in names}) for w in begun], ticks=False)
        mark = f"r{next(self._chains)}_"
        rows = self.same_columns.rows(begun, shape)
        columns = [F.col(shape.column(n)).alias(mark + shape.column(n)) for n in names]
        return ThreadRows(rows.select(*columns).distinct(), {n: shape.held(n, mark) for n in names})

    def _chain(
        self,
        loop: Repeat,
        sides: list[tuple[list[ThreadRows], int]],
        shape: RowShape,
        context: list[str],
        of_a_round: frozenset[str],
        alternative: int,
    ) -> ThreadRows:
        from pyspark.sql import functions as F

        groups = {f"g{i}": identity(F.col(shape.column(n)), shape.kinds[n]) for i, n in enumerate(context)}
        tables = []
        for ways, side in sides:
            rows = self.same_columns.rows(ways, shape)
            keys = [column.alias(name) for name, column in groups.items()]
            tables.append(rows.select(*shape.names, F.lit(side).alias(SIDE), *keys))
        rows = tables[0] if len(tables) == 1 else tables[0].unionByName(tables[1])
        rounds = Rounds(
            loop.least,
            loop.most,
            self.pattern.pattern.within,
            tuple(shape.column(n) for n in sorted(of_a_round)),
            tuple(groups),
        )
        mark = f"r{next(self._chains)}_"
        found = chained(rows.distinct(), rounds, shape)
        found = found.select(*(F.col(name).alias(mark + name) for name in shape.names))
        ticks = (F.col(mark + CREATED), F.col(mark + TICK)) if shape.ticks else (None, None)
        return ThreadRows(
            found,
            {n: shape.held(n, mark) for n in shape.variables},
            pasts=(mark + PAST,),
            first=F.col(mark + FIRST),
            latest=F.col(mark + LATEST),
            decided=F.col(mark + DECIDED),
            created=ticks[0],
            tick=ticks[1],
            alternative=alternative,
        )


def _cleared(way: ThreadRows, names: frozenset[str]) -> ThreadRows:
    return replace(way, binds={name: held for name, held in way.binds.items() if name not in names})


def _mentioned(body: Body) -> frozenset[str]:
    """Every variable of which anything is said."""
    found: set[str] = set()
    for block in blocks_in(body):
        clauses = [c for stage in block.stages() for c in stage.clauses]
        clauses += [c for unless in block.unless for c in unless.clauses]
        found |= {stage.anchor for stage in block.stages()} | {u.anchor for u in block.unless}
        found = found.union(*(c.variables() for c in clauses))
        found = found.union(*({x.variable} | variables_in(x.value) for x in block.lets))
        found = found.union(*(variables_in(e) for e in block.where))
    return frozenset(found)


def _says_the_same_alone(body: Body) -> bool:
    """Are rounds that know nothing of each other, and then agree, the same as those that know? What is negated or
    computed may look at a variable before the round itself has bound it."""
    return not any(
        block.lets or any(c.negated for s in block.stages() for c in s.clauses) for block in blocks_in(body)
    )


__all__ = ["TooManyWays", "Ways", "numbered"]
