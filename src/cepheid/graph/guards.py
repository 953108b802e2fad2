"""`unless`: no node may satisfy some clauses in a window of time, strictly inside it.

What happens at the very time at which a window ends is not in it, save what is made of the edges that end it: one and
the same event cannot both complete a match and forbid it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cepheid.graph.clauses import variables_of
from cepheid.graph.edges import Edges
from cepheid.graph.finding import Found, ReadyStage, completed, find, own_edges, ready_stage, stands
from cepheid.graph.program import GraphProgram
from cepheid.graph.program import computed as computed_by
from cepheid.graph.renaming import bound_by
from cepheid.pattern.graph_pattern import Unless, Window

if TYPE_CHECKING:
    from cepheid.graph.threads import Thread


@dataclass(frozen=True)
class Guard:
    unless: Unless
    stage: ReadyStage  # what must not be
    starts: tuple[int, ...]  # stages: the window begins with the first of them; none: it has no beginning
    ends: tuple[int, ...]  # stages: it ends with the last of them
    needs: frozenset[str]  # variables that the pattern binds

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Of the variables that the pattern binds those that it finds by itself."""
        return tuple(sorted(self.needs & self.stage.finds))

    def window(self, thread: Thread) -> tuple[int | None, int | None] | None:
        """From when to when, as far as it is known; None if it has not begun."""
        begin = None
        if self.starts:
            starts = [h.time for s in self.starts if (h := thread.holds[s]) is not None]
            if not starts:
                return None
            begin = min(starts)
        ends = [thread.holds[s] for s in self.ends]
        if any(h is None for h in ends):
            return begin, None
        return begin, max(h.time for h in ends if h is not None)

    def broken(self, thread: Thread, edges: Edges) -> bool:
        """Now that the window has ended: was there what must not be?"""
        window = self.window(thread)
        assert window is not None
        begin, end = window
        assert end is not None
        return any(found.time < end for found in self.inside(thread, edges, begin)) or self.breaks_itself(
            thread, edges
        )

    def breaks_itself(self, thread: Thread, edges: Edges) -> bool:
        """Are the edges with which the window has ended themselves what must not be?"""
        window = self.window(thread)
        assert window is not None
        begin, end = window
        if begin is not None and begin == end:
            return False
        last = {n for s in self.ends if (h := thread.holds[s]) is not None and h.time == end for n in h.edges}
        for number in last:
            for own in own_edges(self.stage, edges, {}, number):
                for found in completed(self.stage, own, edges, self._known(thread)):
                    if found.time == end and self._stands(found, edges) and _made_of(found, end, last, edges):
                        return True
        return False

    def inside(self, thread: Thread, edges: Edges, begin: int | None) -> Iterator[Found]:
        """Everything that must not be, later than a time."""
        for found in find(self.stage, edges, self._known(thread), begin):
            if self._stands(found, edges):
                yield found

    def completed(self, own: Found, thread: Thread, edges: Edges) -> Found | None:
        """What must not be, of which the edges of its own node were found, with the variables of a thread."""
        return next(
            (f for f in completed(self.stage, own, edges, self._known(thread)) if self._stands(f, edges)),
            None,
        )

    def _known(self, thread: Thread) -> dict[str, Any]:
        return {name: value for name, value in thread.binds.items() if name in self.needs}

    def _stands(self, found: Found, edges: Edges) -> bool:
        return not self.stage.waits or stands(self.stage, found, edges)


def _made_of(found: Found, end: int, last: set[int], edges: Edges) -> bool:
    return all(number in last for number in found.edges if edges[number].start == end)


def guards_of(program: GraphProgram, number: int) -> list[Guard]:
    piece = program.pieces[number]
    slots = program.slots[piece.first : piece.last + 1]
    bound = program.bound[piece.first].union(
        *(bound_by(program.stages[s]) for slot in slots for s in slot.stages)
    )
    bound |= computed_by(piece.block, bound)
    return [_guard(program, number, unless, bound) for unless in piece.block.unless]


def _guard(program: GraphProgram, number: int, unless: Unless, bound: frozenset[str]) -> Guard:
    piece = program.pieces[number]
    first, last = program.slots[piece.first].stages, program.slots[piece.last].stages
    starts = {
        Window.GLOBAL: (),
        Window.WHOLE: first,
        Window.AFTER: () if unless.start is None else (program.number(unless.start, number),),
        Window.BETWEEN: () if unless.start is None else (program.number(unless.start, number),),
    }[unless.window]
    between = unless.window is Window.BETWEEN and unless.end is not None
    ends = (program.number(str(unless.end), number),) if between else last
    stage = ready_stage(unless.anchor, unless.clauses)
    return Guard(unless, stage, starts, ends, variables_of((*stage.positive, *stage.absent)) & bound)
