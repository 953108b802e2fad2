"""Exclusive choices: which alternatives have completed, and which threads lose to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cepheid.graph.batch import GraphMatch, shared_values
from cepheid.graph.journal import Journal
from cepheid.graph.pool import Live
from cepheid.graph.threads import ReadyPattern, Thread

Choice = tuple[int, Any]  # the pattern, the shared values


@dataclass
class Choices:
    """Matches by what they share, as long as a thread may lose to one of them."""

    made: dict[Choice, list[tuple[int, GraphMatch]]] = field(default_factory=dict)  # with alternatives
    new: list[tuple[int, int, GraphMatch]] = field(
        default_factory=list
    )  # in this time: patterns, alternatives
    count: int = 0
    most: int = 64  # before it is looked which of them still matter

    def lost(self, number: int, ready: ReadyPattern, thread: Thread, now: int) -> bool:
        """Has another alternative completed with the same shared values, since the thread began?"""
        shared = ready.program.shared
        if shared is None or not shared <= thread.binds.keys():
            return False
        choice = (number, shared_values(thread.binds, shared))
        alternative = ready.program.slots[thread.slot].alternative
        return self._ended(choice, alternative, thread.first, now)

    def taken(
        self, number: int, ready: ReadyPattern, alternative: int, match: GraphMatch, journal: Journal
    ) -> bool:
        """Whether a match counts: another one may have come before it. One that counts is remembered."""
        shared = ready.program.shared
        if shared is None:
            return True
        choice = (number, shared_values(match.binds, shared))
        if self._ended(choice, alternative, match.first, match.decided):
            return False
        made = self.made.setdefault(choice, [])
        made.append((alternative, match))
        self.new.append((number, alternative, match))
        self.count += 1
        journal.note(self._forgotten, choice)
        return True

    def _forgotten(self, choice: Choice) -> None:
        self.made[choice].pop()
        if not self.made[choice]:
            del self.made[choice]
        self.new.pop()
        self.count -= 1

    def _ended(self, choice: Choice, alternative: int, first: int, now: int) -> bool:
        """By a match of another alternative, certain before now, but after a thread has begun."""
        rivals = self.made.get(choice, ())
        return any(other != alternative and first < match.decided < now for other, match in rivals)

    def forget_old(self, threads: Iterable[Live], now: int, journal: Journal) -> None:
        """Those that were made before every thread began: none can lose to them any more."""
        if self.count < self.most:
            return
        oldest: dict[int, int] = {}
        for live in threads:
            oldest[live.pattern] = min(oldest.get(live.pattern, live.thread.first), live.thread.first)
        kept = {
            choice: [one for one in made if one[1].decided > oldest.get(choice[0], now)]
            for choice, made in self.made.items()
        }
        journal.put(self, "made", {choice: made for choice, made in kept.items() if made})
        journal.put(self, "count", sum(map(len, self.made.values())))
        journal.put(self, "most", max(64, 2 * self.count))

    # Patterns come and go.

    def renumbered(self, number: Callable[[int], int | None]) -> Choices:
        """With other numbers for the patterns; those that get none are left out."""
        made = {(n, values): m for (old, values), m in self.made.items() if (n := number(old)) is not None}
        new = [(n, *rest) for old, *rest in self.new if (n := number(old)) is not None]
        return Choices(made, new, sum(map(len, made.values())), self.most)  # type: ignore[arg-type]

    def with_those(self, other: Choices) -> Choices:
        """Of other patterns."""
        return Choices(
            {**self.made, **other.made}, [*self.new, *other.new], self.count + other.count, self.most
        )
