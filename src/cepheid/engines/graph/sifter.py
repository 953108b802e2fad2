"""Patterns over edges that come one by one, in the order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from cepheid.engines.graph.clock import Clock, Time
from cepheid.engines.graph.graph import find_edge, made_edge
from cepheid.engines.graph.matches import Match, Matches, user_match
from cepheid.engines.graph.patterns import ready_patterns
from cepheid.engines.graph.reading import EventColumns, RawEdge, edge_columns, take_edges, take_events
from cepheid.engines.graph.values import plain_value
from cepheid.errors import InputMistake, PatternMistake, SnapshotMistake, nearest
from cepheid.graph import sifter as core
from cepheid.graph.happenings import Completed, Ended, Excluded, Happening, TickDelta
from cepheid.graph.pool import Live
from cepheid.graph.saving import copy_of, state_of, with_state
from cepheid.graph.switching import disable, enable, take_in, take_out
from cepheid.pattern.graph_text import graph_text

_FORMAT, _VERSION = "cepheid sifter", 2


@dataclass(frozen=True)
class ThreadView:
    """A thread as it stands: what it has bound, how far it has come and what it waits for."""

    id: int
    pattern: str
    binds: dict[str, Any]
    stage: str  # the last that was found
    waiting_for: tuple[str, ...]  # stages; none: an interval must end
    since: Time  # the time of its first stage
    created: int  # the tick of that
    age: int  # in ticks
    parent: int | None  # the thread it came of


class Sifter:
    """Threads of matches that advance edge by edge.

    Edges come in the order of their starts; those of one time in any order. What depends on all edges of a time (that
    something is not there, that an interval has ended) is told when the time is over: with the next edge of a later
    time, by `advance`, at the end of the tick, or by `finish`. A step that fails changes nothing.

    Args:
        patterns: A text, patterns built in Python, or what `graph_patterns` gives.
        time_unit: What a number as a time counts: `s`, `ms`, `us` or `ns`.
        completing_leaves: Whether a thread that completes leaves the pool.

    >>> sifter = Sifter('graph pattern p { stage a { .kind = "a" } stage b { .kind = "b" } }')
    >>> sifter.add("e1", "kind", "a", 1)
    [Advanced(pattern='p', thread=1, binds={'a': 'e1'}, stage='a', parent=None)]
    >>> [type(h).__name__ for h in sifter.add("e2", "kind", "b", 2)]
    ['Completed']
    """

    def __init__(self, patterns: Any, *, time_unit: str = "s", completing_leaves: bool = False) -> None:
        """`completing_leaves`: a thread that completes leaves the pool; otherwise it stays and may complete again."""
        self._clock = Clock(time_unit)
        self._core = core.Sifter(ready_patterns(patterns), completing_leaves)
        self._latest: int | None = None  # how far time has come

    def __repr__(self) -> str:
        return f"<{len(self._core.patterns)} patterns, {self.active} threads, tick {self.tick}>"

    # Edges.

    def add(self, source: Any, label: str, target: Any, start: Any, end: Any = None) -> list[Happening]:
        """An edge that is new, or one that is known and ends. What happens because of it is the answer."""
        with self._as_a_whole():
            edge = made_edge(self._clock, source, label, target, start, end)
            known = self._core.edges.number(edge)
            if known is not None:
                return [] if edge.end is None else self._closed(known, edge.end)
            self._in_order(edge.start, "an edge starts")
            return self._told(self._core.add(edge))

    def close(self, source: Any, label: str, target: Any, end: Any, *, start: Any = None) -> list[Happening]:
        """An open edge ends. Without a start it is the one that is open."""
        with self._as_a_whole():
            number = find_edge(self._core.edges, self._clock, source, label, target, start)
            return self._closed(number, self._clock.microseconds(end))

    def _closed(self, number: int, end: int) -> list[Happening]:
        if self._core.edges[number].end == end:
            return []
        self._core.edges.check_end(number, end)
        self._in_order(end, "an edge ends")
        return self._told(self._core.close(number, end))

    def read(
        self,
        edges: Any,
        *,
        source: str = "source",
        label: str = "label",
        target: str | Sequence[str] = "target",
        start: str = "start",
        end: str | None = None,
    ) -> list[Happening]:
        """Adds the edges of a table or file one by one, as `Graph.read` does; it must be in the order of starts."""
        told: list[Happening] = []

        def take(e: RawEdge) -> None:
            told.extend(self.add(e.source, e.label, e.target, e.start, e.end))

        take_edges(edges, edge_columns(source, label, target, start, end, None), self._clock.unit, take)
        return told

    def read_events(
        self, events: Any, *, time: str = "time", node: str | None = None, end: str | None = None
    ) -> list[Happening]:
        """Adds the rows of a log one by one, as `Graph.read_events` does; it must be in the order of time."""
        told: list[Happening] = []

        def take(e: RawEdge) -> None:
            told.extend(self.add(e.source, e.label, e.target, e.start, e.end))

        take_events(events, EventColumns(time, node, end), self._clock, take)
        return told

    def _in_order(self, time: int, what: str) -> None:
        if self._latest is not None and time < self._latest:
            raise InputMistake(
                f"{what} at {self._clock.time(time)}, but time has come to {self._clock.time(self._latest)}",
                code="out_of_order",
                hint="sort the edges by their start, or look for matches in the whole: Graph().read(edges).find(...)",
            )
        self._latest = time

    @contextmanager
    def _as_a_whole(self) -> Iterator[None]:
        """What fails changes nothing, here as in the core."""
        latest, numbers = self._latest, self._clock.numbers
        try:
            yield
        except BaseException:
            self._latest, self._clock.numbers = latest, numbers
            raise

    # Time.

    def advance(self, time: Any) -> list[Happening]:
        """Time has come so far without an edge: none that starts or ends before it will come.

        >>> sifter = Sifter('graph pattern p { stage a { .kind = "a" } stage b { .kind = "b" } within 5s }')
        >>> told = sifter.add("e1", "kind", "a", 1)
        >>> sifter.advance(6), sifter.advance(7)
        ([], [Expired(pattern='p', thread=1, binds={'a': 'e1'}, stage='a', elapsed=0)])
        """
        with self._as_a_whole():
            reached = self._clock.microseconds(time)
            self._in_order(reached, "it cannot be")
            return self._told(self._core.advance(reached))

    def finish(self) -> list[Happening]:
        """No more edges of this time will come."""
        return self._told(self._core.finish())

    def finish_all(self) -> list[Happening]:
        """No more edges will come at all: ends that are known before their time are reached."""
        return self._told(self._core.finish_all())

    def end_tick(self) -> tuple[TickDelta, list[Happening]]:
        """The tick is over: what it changed in short, and what happened with its end (threads that expired)."""
        delta, told = self._core.end_tick()
        return delta, self._told(told)

    @property
    def tick(self) -> int:
        """How many ticks are over."""
        return self._core.tick

    # What there is.

    @property
    def active(self) -> int:
        """How many threads may still become matches."""
        return self._core.active

    def drain_completed(self) -> Matches:
        """The matches since the last time; they are forgotten here."""
        return Matches(user_match(match, self._clock) for match in self._core.drain_completed())

    def threads(self, pattern: str | None = None) -> list[ThreadView]:
        """Those that may still become matches, oldest first."""
        if pattern is not None:
            self._number(pattern)
        return [self._view(live) for live in self._core.threads(pattern)]

    def _view(self, live: Live) -> ThreadView:
        ready, thread = self._core.patterns[live.pattern], live.thread
        return ThreadView(
            live.id,
            ready.name,
            dict(thread.binds),
            live.stage,
            tuple(ready.program.stages[s].name for s in ready.wanted(thread)),
            self._clock.time(thread.first),
            thread.created,
            self.tick - thread.created,
            live.ancestors[-1] if live.ancestors else None,
        )

    # From outside.

    def disable(self, pattern: str) -> list[Happening]:
        """The pattern sees no more edges, and its threads end."""
        number = self._number(pattern)
        return self._ended(disable(self._core, number))

    def enable(self, pattern: str) -> None:
        """It sees edges again, from the next one on."""
        enable(self._core, self._number(pattern))

    def enabled(self) -> dict[str, bool]:
        """The patterns by name: does it see edges?"""
        return {p.name: n not in self._core.disabled for n, p in enumerate(self._core.patterns)}

    def metadata(self, pattern: str) -> dict[str, Any]:
        """What is said of a pattern by `meta`."""
        return dict(self._core.patterns[self._number(pattern)].pattern.metadata)

    def add_patterns(self, patterns: Any, *, past: bool = False) -> list[Happening]:
        """More patterns. They see edges from the next one on; with `past` they are as if they had been there always,
        and what has happened to them is the answer. (Of windows that are over, `elapsed` may be a tick more: when the
        end of an edge was told is not kept.)"""
        new = ready_patterns(patterns)
        for ready in new:
            if any(ready.name == known.name for known in self._core.patterns):
                raise PatternMistake(
                    f"there is a graph pattern `{ready.name}` already",
                    code="duplicate_name",
                    place=ready.pattern.place,
                    hint=f'rename it, or take the other out: sifter.remove_pattern("{ready.name}")',
                )
        return self._told(take_in(self._core, new, past))

    def remove_pattern(self, pattern: str) -> list[Happening]:
        """A pattern less; its threads end. Its matches stay until they are drained."""
        number = self._number(pattern)
        names = [p.name for p in self._core.patterns]
        return [_ended(names[live.pattern], live) for live in take_out(self._core, number)]

    def kill(self, entity: Any) -> list[Happening]:
        """Ends the threads that have bound an entity. What is left open in this time is told first."""
        node = plain_value(entity, "node")
        told = self.finish()
        return [*told, *self._ended(self._core.kill(node))]

    def _number(self, pattern: str) -> int:
        names = [p.name for p in self._core.patterns]
        if pattern not in names:
            raise PatternMistake(
                f"there is no graph pattern `{pattern}`",
                code="unknown_pattern",
                hint=nearest(pattern, names) or f"there are {', '.join(names)}",
            )
        return names.index(pattern)

    def _ended(self, threads: Iterable[Live]) -> list[Happening]:
        return [_ended(self._core.patterns[live.pattern].name, live) for live in threads]

    def _told(self, happenings: Iterable[Happening]) -> list[Happening]:
        return [self._with_times(happening) for happening in happenings]

    def _with_times(self, happening: Happening) -> Happening:
        if isinstance(happening, Completed):
            completed: Completed[Match] = replace(happening, match=user_match(happening.match, self._clock))
            return completed
        if isinstance(happening, Excluded):
            excluded: Excluded[Match] = replace(happening, by=user_match(happening.by, self._clock))
            return excluded
        return happening

    # Copies.

    def clone(self) -> Self:
        """Another in the same state, to try something out: neither sees what is fed to the other."""
        return self._with(Clock(self._clock.unit, self._clock.numbers), copy_of(self._core), self._latest)

    def snapshot(self) -> bytes:
        """The whole state with its patterns, to go on from elsewhere."""
        whole = {
            "format": _FORMAT,
            "version": _VERSION,
            "patterns": [graph_text(ready.pattern) for ready in self._core.patterns],
            "unit": self._clock.unit,
            "numbers": self._clock.numbers,
            "latest": self._latest,
            "state": state_of(self._core),
        }
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def restore(cls, snapshot: bytes) -> Self:
        """A sifter that goes on exactly where the other stood when it wrote the snapshot."""
        whole = _read(snapshot)
        patterns = ready_patterns(whole["patterns"]) if whole["patterns"] else []
        clock = Clock(whole["unit"], whole["numbers"])
        return cls._with(clock, with_state(patterns, whole["state"]), whole["latest"])

    @classmethod
    def _with(cls, clock: Clock, inner: core.Sifter, latest: int | None) -> Self:
        other = cls.__new__(cls)
        other._clock, other._core, other._latest = clock, inner, latest
        return other


def _ended(pattern: str, live: Live) -> Ended:
    return Ended(pattern, live.id, dict(live.thread.binds), live.stage)


def _read(snapshot: bytes) -> dict[str, Any]:
    try:
        whole = json.loads(snapshot)
    except (ValueError, UnicodeDecodeError):
        raise SnapshotMistake("this is no snapshot of a sifter, or it was cut off") from None
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise SnapshotMistake("this is no snapshot of a sifter")
    if whole.get("version") != _VERSION:
        raise SnapshotMistake(
            f"the snapshot is of version {whole.get('version')}, and this is version {_VERSION}",
            hint="restore it with the version of Cepheid that wrote it",
        )
    return whole
