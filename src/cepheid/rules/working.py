"""The working memory of one session: what its nodes keep, what waits for which date, what the input at hand has done.

Sessions of the same rules share a network, which says what is to be done and does not change. What belongs to one
session is here, under the numbers that nodes have in the network, and made when it is first needed: so it is cheap to
begin one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from cepheid.rules.closures import INF
from cepheid.rules.discriminations import FactMemory, FactNode
from cepheid.rules.journal import Journal, take_back
from cepheid.rules.memory import Cell, Holders, Memory, Timers, Waiting
from cepheid.rules.objects import Event, Fact

if TYPE_CHECKING:
    from cepheid.rules.network import Network
    from cepheid.rules.productions import Firing

FORGET_AFTER = 1_000  # ended states of facts, before it is asked which of them are of use
SUM_AFTER = 100  # notes in the journal, before it is closed between events; notes that die young are cheap


class Working:
    def __init__(self, net: Network, released: Callable[[Event], None] | None = None) -> None:
        self.net = net
        self.clock: float = -INF
        self.made: list[Firing] = []  # by the operation at hand
        self.passed: list[Any] = []  # discriminations of the event at hand
        self.as_one = False  # are the inputs that come one?
        self.journal: Journal = []  # what the input at hand has done, and maybe some before it
        self.memories: list[Memory | None] = [None] * len(net.memories)
        self.facts: list[FactMemory | None] = [None] * len(net.discriminations)
        self.timers = Timers()
        self.dates: list[int] = []  # at which something that waits is judged,
        self.due: dict[int, list[Waiting]] = {}  # and what
        self.fired: dict[int, set[Any]] = {}
        self.counts = [0] * net.counters  # but for what is in the journal
        self.holders = None if released is None else Holders(released)  # only if it is to be told
        self.past: dict[str, list[tuple[Fact, int]]] = defaultdict(list)  # earlier states by type
        self.past_cells: list[Cell] = []
        self.past_limit = FORGET_AFTER

    # What nodes keep.

    def memory(self, number: int) -> Memory:
        found = self.memories[number]
        if found is None:
            found = Memory(self.net.memories[number], self.timers, self.holders, self.journal)
            self.memories[number] = found
        return found

    def facts_of(self, node: FactNode) -> FactMemory:
        found = self.facts[node.number]
        if found is None:
            found = self.facts[node.number] = FactMemory(node)
        return found

    def there(self) -> Iterable[Memory]:
        return (memory for memory in self.memories if memory is not None)

    def waiting(self) -> list[Waiting]:
        """Tuples that are complete, but for an absence still to be judged."""
        found = (self.memories[number] for number in self.net.waits)
        return [e for m in found if m is not None for e in m.in_order() if isinstance(e, Waiting)]

    def waiting_count(self) -> int:
        found = (self.memories[number] for number in self.net.waits)
        return sum(m.count for m in found if m is not None)

    # An input as a whole.

    def begin(self) -> int:
        """Another input comes; to where it is taken back. Those before it are done, unless all of them are one."""
        if self.as_one:
            return len(self.journal)
        counts = self.counts
        for note in self.journal:
            if note.__class__ is int:
                counts[note] += 1
        self.journal.clear()
        return 0

    def take_back(self, mark: int) -> None:
        """The input at hand has failed: all is as it was when the journal was so long."""
        take_back(self.journal, mark)
        self.made.clear()
        self.dates, self.due = [], {}
        for element in self.waiting():
            self.wait(element, element.absences[0][0])

    def count_of(self, counter: int) -> int:
        return self.counts[counter] + self.journal.count(counter)

    # Time.

    def wait(self, element: Waiting, date: int) -> None:
        if date not in self.due:
            self.due[date] = []
            heappush(self.dates, date)
        self.due[date].append(element)

    def next_date(self) -> float:
        """At which something that waits is to be judged."""
        while self.dates and not any(e.alive for e in self.due[self.dates[0]]):
            del self.due[heappop(self.dates)]
        return self.dates[0] if self.dates else INF

    def judge(self, date: int) -> None:
        """Time has passed this date; all operations of that time are done."""
        heappop(self.dates)
        for element in self.due.pop(date):
            if element.alive:
                element.production.judge(self, element, date)

    def move_to(self, time: float) -> None:
        heap = self.timers.heap
        if heap and heap[0][0] < time:
            self.timers.pass_to(time)
        self.clock = time

    # Earlier states of facts.

    def end_state(self, cell: Cell, number: int) -> None:
        held = [(fired, numbers) for fired, numbers in cell.fired if numbers in fired]
        for fired, numbers in held:
            fired.discard(numbers)
        cell.fired = []
        self.journal.append((_remember, cell, held))
        if self.net.history:
            ended = (cell.now, number)
            for states in (cell.past, self.past[cell.type]):
                states.append(ended)
                self.journal.append((states.pop,))
            self.past_cells.append(cell)
            self.journal.append((self.past_cells.pop,))

    def tidy(self) -> None:
        """An input has succeeded."""
        if not self.as_one and len(self.past_cells) > self.past_limit:
            self._forget()

    def _forget(self) -> None:
        """States that ended before the first event of every stored tuple are of no use."""
        firsts = [e.objects[0].number for m in self.there() if m.node is not None for e in m.elements()]
        least = min(firsts, default=INF)
        self.past_cells = [c for c in self.past_cells if c.past and c.past[-1][1] >= least]
        for cell in self.past_cells:
            cell.past = [(state, end) for state, end in cell.past if end >= least]
        for states in self.past.values():
            states[:] = [(state, end) for state, end in states if end >= least]
        self.past_limit = max(FORGET_AFTER, 2 * len(self.past_cells))


def _remember(cell: Cell, held: list[tuple[set[Any], Any]]) -> None:
    for fired, numbers in held:
        fired.add(numbers)
    cell.fired = held
