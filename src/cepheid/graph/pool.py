"""The threads of a sifter, found by what they wait for and by what may end them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from cepheid.graph.batch import shared_values
from cepheid.graph.clauses import Binds
from cepheid.graph.edges import key_of
from cepheid.graph.journal import Journal
from cepheid.graph.program import DONE
from cepheid.graph.threads import Thread
from cepheid.graph.watch_list import WatchList
from cepheid.graph.watching import NOTHING, Watching

Key = tuple[Any, ...]
# Where threads are looked up: under the number of a group of stages or guards, under a pattern whose alternatives
# exclude each other, under an edge; and what their variables are.
Address = tuple[Any, ...]
_SHARING, _OWING = "sharing", "owing"


class Live(NamedTuple):
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
    return tuple([key_of(binds[name]) for name in names])


class Pool:
    """Threads by number, and where each is looked up: with the number of the stage or guard that is meant there."""

    def __init__(self, watch: WatchList, journal: Journal) -> None:
        self.journal = journal
        self.next_id = 1
        self.touched = 0  # threads that were looked at
        self.use(watch, ())

    def use(self, watch: WatchList, threads: Iterable[Live]) -> None:
        """These threads of these patterns, and no others."""
        self.watch, self.patterns = watch, watch.patterns
        self.live: dict[int, Live] = {}
        self._prints: dict[Any, None] = {}
        self._print_of: dict[int, Any] = {}
        self._there: dict[Address, dict[int, int]] = {}
        self._addresses: dict[int, list[Address]] = {}
        self._broken: dict[int, None] = {}
        self._back: list[Live] = []  # were put back, and lie behind younger ones
        for live in threads:
            self.add(live)

    def __len__(self) -> int:
        return len(self.live)

    def fingerprint(self, pattern: int, thread: Thread) -> Any:
        return pattern, thread.fingerprint(self.patterns[pattern].ends_matter)

    def knows(self, fingerprint: Any) -> bool:
        return fingerprint in self._prints

    def born(
        self,
        parent: Live,
        thread: Thread,
        stage: str,
        watching: Watching,
        fingerprint: Any,
        alternative: int | None = None,
    ) -> Live:
        """A new thread; its alternative is that of its slot, unless it is at its end."""
        ancestors = (*parent.ancestors, parent.id) if parent.id else ()
        if alternative is None:
            alternative = self.patterns[parent.pattern].program.slots[thread.slot].alternative
        live = Live(self.next_id, parent.pattern, thread, ancestors, watching, False, stage, alternative)
        self.next_id += 1
        self.add(live, fingerprint)
        self.journal.note(self._unborn, live.id)
        return live

    def add(self, live: Live, fingerprint: Any = None) -> None:
        number = live.id
        if live.watching.broken:
            self._broken[number] = None
        self.live[number] = live
        own = self.fingerprint(live.pattern, live.thread) if fingerprint is None else fingerprint
        self._prints[own] = None
        self._print_of[number] = own
        addresses: list[Address] = []
        for address, what in self._entries(live):
            addresses.append(address)
            there = self._there.get(address)
            if there is None:
                self._there[address] = {number: what}
            else:
                there[number] = what
        self._addresses[number] = addresses

    def remove(self, number: int) -> Live:
        live = self._take_out(number)
        self.journal.note(self._put_back, live)
        return live

    def _take_out(self, number: int) -> Live:
        live = self.live.pop(number)
        self._broken.pop(number, None)
        self._prints.pop(self._print_of.pop(number), None)
        for address in self._addresses.pop(number):
            there = self._there[address]
            del there[number]
            if not there:
                del self._there[address]
        return live

    def change(self, live: Live, **changes: Any) -> Live:
        """For what it is not looked up by."""
        changed = live._replace(**changes)
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
            for address in self._addresses.get(live.id, ()):
                self._there[address] = dict(sorted(self._there[address].items()))
        self._back.clear()

    # Who is meant.

    def at(self, group: int, names: Iterable[str], binds: Binds) -> list[tuple[Live, int]]:
        """Threads that a stage or a guard of a group is looked for by, and whose variables agree with those that were
        found; and the number of the stage or guard."""
        there = self._there.get((group, *key_for(names, binds)))
        if there is None:
            return []
        self.touched += len(there)
        return [(self.live[number], what) for number, what in there.items()]

    def broken(self) -> Collection[int]:
        return self._broken

    def sharing(self, pattern: int, values: Key) -> list[Live]:
        """Threads of an exclusive choice with these shared values."""
        there = self._there.get((_SHARING, pattern, values), ())
        self.touched += len(there)
        return [self.live[number] for number in there]

    def owing_to(self, edge: int) -> list[int]:
        """Threads at their end whose relations look at an edge."""
        return list(self._there.get((_OWING, edge), ()))

    def _entries(self, live: Live) -> Iterator[tuple[Address, int]]:
        pattern, thread = self.patterns[live.pattern], live.thread
        binds = thread.binds
        shared = pattern.program.shared
        if shared is not None and shared <= binds.keys():
            yield (_SHARING, live.pattern, shared_values(binds, shared)), 0
        if thread.slot == DONE:
            for edge in {n for _, left, right in thread.owed for hold in (left, right) for n in hold.edges}:
                yield (_OWING, edge), 0
            return
        for stage in pattern.wanted(thread):
            group, names = self.watch.stage_groups[live.pattern][stage]
            yield (group, *key_for(names, binds)), stage
        if live.watching.watched:
            groups = self.watch.guard_groups[live.pattern][pattern.program.slots[thread.slot].piece]
            for guard in live.watching.watched:
                group, names = groups[guard]
                yield (group, *key_for(names, binds)), guard
