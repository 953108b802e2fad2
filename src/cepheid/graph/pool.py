"""The threads of a sifter, found by what they wait for and by what may end them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from cepheid.graph.batch import shared_values
from cepheid.graph.clauses import Binds
from cepheid.graph.edges import key_of
from cepheid.graph.journal import Journal
from cepheid.graph.program import DONE
from cepheid.graph.threads import Thread
from cepheid.graph.watch_list import WatchList
from cepheid.graph.watching import NOTHING, Watching

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Live:
    """A thread in the pool."""

    id: int  # from 1; 0 is not in the pool
    pattern: int
    thread: Thread
    ancestors: tuple[int, ...] = ()  # the threads it came of, the first first
    watching: Watching = NOTHING
    met: bool = False  # a match came of it
    stage: str = ""  # that it found last
    alternative: int = 0  # of an exclusive choice


def key_for(names: Iterable[str], binds: Binds) -> Key:
    return tuple(key_of(binds[name]) for name in names)


class Pool:
    """Threads by number; `joins` and `needs` say by which variables of theirs they are looked up."""

    def __init__(self, watch: WatchList, journal: Journal) -> None:
        self.journal = journal
        self.live: dict[int, Live] = {}
        self.next_id = 1
        self._prints: set[Any] = set()
        self._waiting: defaultdict[tuple[int, int, int], dict[Key, dict[int, None]]] = defaultdict(dict)
        self._watching: defaultdict[tuple[int, int, int], dict[Key, dict[int, None]]] = defaultdict(dict)
        self._sharing: defaultdict[tuple[int, int, int], dict[Key, dict[int, None]]] = defaultdict(dict)
        self._owing: defaultdict[tuple[int, int, int], dict[Key, dict[int, None]]] = defaultdict(dict)
        self._broken: dict[int, None] = {}
        self._back: list[Live] = []  # were put back, and lie behind younger ones
        self.use(watch)

    def use(self, watch: WatchList) -> None:
        """Other patterns may come after those that are there."""
        self.patterns, self._joins = watch.patterns, watch.joins

    def __len__(self) -> int:
        return len(self.live)

    def known(self, pattern: int, thread: Thread) -> bool:
        return self._print(pattern, thread) in self._prints

    def born(
        self, parent: Live, thread: Thread, stage: str, watching: Watching, alternative: int | None = None
    ) -> Live:
        """A new thread; its alternative is that of its slot, unless it is at its end."""
        ancestors = (*parent.ancestors, parent.id) if parent.id else ()
        if alternative is None:
            alternative = self.patterns[parent.pattern].program.slots[thread.slot].alternative
        live = Live(self.next_id, parent.pattern, thread, ancestors, watching, False, stage, alternative)
        self.next_id += 1
        self.add(live)
        self.journal.note(self._unborn, live.id)
        return live

    def add(self, live: Live) -> None:
        if live.watching.broken:
            self._broken[live.id] = None
        self.live[live.id] = live
        self._prints.add(self._print(live.pattern, live.thread))
        for table, place, key in self._entries(live):
            table[place].setdefault(key, {})[live.id] = None

    def remove(self, number: int) -> Live:
        live = self._take_out(number)
        self.journal.note(self._put_back, live)
        return live

    def _take_out(self, number: int) -> Live:
        live = self.live.pop(number)
        self._broken.pop(number, None)
        self._prints.discard(self._print(live.pattern, live.thread))
        for table, place, key in self._entries(live):
            ids = table[place][key]
            del ids[number]
            if not ids:
                del table[place][key]
        return live

    def change(self, live: Live, **changes: Any) -> Live:
        """For what it is not looked up by."""
        changed = replace(live, **changes)
        self._set(changed)
        self.journal.note(self._set, live)
        return changed

    def _set(self, live: Live) -> None:
        self.live[live.id] = live
        if live.watching.broken:
            self._broken[live.id] = None
        else:
            self._broken.pop(live.id, None)

    # What a step that failed has done is taken back.

    def _unborn(self, number: int) -> None:
        self._take_out(number)
        self.next_id = number

    def _put_back(self, live: Live) -> None:
        self.add(live)
        self._back.append(live)

    def in_order(self) -> None:
        """The oldest first, as they came, when some were put back."""
        if not self._back:
            return
        self.live = dict(sorted(self.live.items()))
        for live in self._back:
            if live.id in self.live:
                for table, place, key in self._entries(live):
                    table[place][key] = dict(sorted(table[place][key].items()))
        self._back.clear()

    def waiting(self, pattern: int, slot: int, stage: int, binds: Binds) -> list[Live]:
        """Threads that wait for a stage in a slot, and whose variables agree with those that were found."""
        names = self._joins[pattern][slot, stage]
        ids = self._waiting[pattern, slot, stage].get(key_for(names, binds), ())
        return [self.live[i] for i in ids]

    def watching(self, pattern: int, piece: int, guard: int, binds: Binds) -> list[Live]:
        names = self.patterns[pattern].rules[piece].guards[guard].keys
        ids = self._watching[pattern, piece, guard].get(key_for(names, binds), ())
        return [self.live[i] for i in ids]

    def broken(self) -> list[Live]:
        return [self.live[number] for number in self._broken]

    def sharing(self, pattern: int, values: Key) -> list[Live]:
        """Threads of an exclusive choice with these shared values."""
        return [self.live[i] for i in self._sharing[pattern, 0, 0].get(values, ())]

    def owing_to(self, edge: int) -> list[int]:
        """Threads at their end whose relations look at an edge."""
        return list(self._owing[0, 0, 0].get((edge,), ()))

    def _print(self, pattern: int, thread: Thread) -> Any:
        return pattern, thread.fingerprint(self.patterns[pattern].ends_matter)

    def _entries(self, live: Live) -> Iterator[tuple[Any, tuple[int, int, int], Key]]:
        pattern, thread = self.patterns[live.pattern], live.thread
        for stage in pattern.wanted(thread):
            names = self._joins[live.pattern][thread.slot, stage]
            yield self._waiting, (live.pattern, thread.slot, stage), key_for(names, thread.binds)
        shared = pattern.program.shared
        if shared is not None and shared <= thread.binds.keys():
            yield self._sharing, (live.pattern, 0, 0), shared_values(thread.binds, shared)
        if thread.slot == DONE:
            for edge in {n for _, left, right in thread.owed for hold in (left, right) for n in hold.edges}:
                yield self._owing, (0, 0, 0), (edge,)
            return
        for guard in live.watching.watched:
            piece = pattern.program.slots[thread.slot].piece
            names = pattern.rules[piece].guards[guard].keys
            yield self._watching, (live.pattern, piece, guard), key_for(names, thread.binds)
