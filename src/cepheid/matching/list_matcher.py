"""Lists of events through the kernel, single events through the reference matcher; a key's state goes between them.

From the kernel to the reference matcher it goes at any time; back when nothing of the key is open. What both find in
one call is put in the order in which the reference matcher alone would have found it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cepheid.errors import EvaluationError, InputMistake
from cepheid.matching.evaluate import compile_value
from cepheid.matching.found import Findings
from cepheid.matching.keys import lookup_key
from cepheid.matching.moment import Moment
from cepheid.matching.protocol import Key
from cepheid.matching.reference import ReferenceMatcher
from cepheid.matching.shelf import Shelf
from cepheid.matching.snapshot import Kept
from cepheid.matching.values import dump, load
from cepheid.pattern.event import Event
from cepheid.plan.plan import Plan

if TYPE_CHECKING:
    from cepheid.matching.compiled.kernel_keys import KernelKeys, Keyed
    from cepheid.matching.compiled.matcher import Waiting

ENOUGH = 256  # events: for fewer the reference matcher is done before the kernel has its columns


class ListMatcher:
    """One plan, all its keys. `must`: it is an error that the kernel cannot take the plan."""

    def __init__(self, plan: Plan, *, late_memory: int = 0, enough: int = ENOUGH, must: bool = False) -> None:
        self.plan, self.enough, self.must = plan, enough, must
        self.reference = ReferenceMatcher(plan, late_memory=late_memory)
        self.key_of = [compile_value(e) for e in plan.key]
        self.kernel: KernelKeys | None = None  # with the first list; no key is here and there
        self.in_lists = False  # was the last call with events one with many?
        self.touched: set[Key] = set()  # keys that the kernel had, or has

    @property
    def reason(self) -> str | None:
        """Why the kernel takes nothing of the plan, by what came so far."""
        return None if self.kernel is None else self.kernel.reason

    # The three things that happen.

    def on_batch(self, events: Sequence[Event]) -> Findings:
        if events:
            self.in_lists = len(events) >= self.enough and not any(e.late for e in events)
        if not events or not (self.in_lists or (self.kernel is not None and self.kernel.keys)):
            return self.reference.on_batch(events)
        time = max((e.time for e in events if not e.late), default=None)
        try:
            keyed: list[Keyed] = [(*self._key(event), event) for event in events]
        except EvaluationError:  # the reference matcher says it when it comes to that event
            self._leave(self._waiting())
            return self.reference.on_batch(events)
        if self.in_lists and time is not None and self._takes(events):
            found = self._by_both(keyed, time)
            if found is not None:
                return found
        self._leave([key for key, _, _ in keyed])
        self._leave_due(time)
        return self.reference.on_batch(events)

    def on_time(self, time: int) -> Findings:
        if self.kernel is not None and self.in_lists and self.kernel.is_due(time):
            found = self._by_both([], time)
            if found is not None:
                return found
        self._leave_due(time)
        return self.reference.on_time(time)

    def on_end(self, time: int) -> Findings:
        self._leave(self._waiting())
        return self.reference.on_end(time)

    # Both matchers.

    def _by_both(self, keyed: list[Keyed], time: int) -> Findings | None:
        """None: the kernel could not do it, and nothing has changed."""
        from cepheid.matching.compiled.placing import by_deadline, by_event, in_order

        assert self.kernel is not None
        mine, others = self._split(keyed)
        stepped = self.kernel.step(mine, time)
        if stepped is None:
            return None
        self.touched.update(key for key, _, _ in mine)
        for waiting in stepped.left:
            self._adopt(waiting)
        placed, inferred = stepped.placed, self.plan.inferred_key
        for event in sorted([*others, *stepped.events], key=Event.place_in_order):
            placed += by_deadline(self.reference.on_time(event.time), inferred)
            placed += by_event(self.reference.on_batch([event]), event)
        placed += by_deadline(self.reference.on_time(time), inferred)
        return in_order(placed)

    def _split(self, keyed: list[Keyed]) -> tuple[list[Keyed], list[Event]]:
        """Keys with anything open in the reference matcher stay there."""
        mine: list[Keyed] = []
        others: list[Event] = []
        for one in keyed:
            if self.reference.has(one[0]):
                others.append(one[2])
            else:
                mine.append(one)
        return mine, others

    def _takes(self, events: Sequence[Event]) -> bool:
        """Is there a kernel for what the fields hold? Another one for other kinds of values."""
        from cepheid.matching.compiled.kernel_keys import KernelKeys  # loads numba

        if self.kernel is None:
            self.kernel = KernelKeys(self.plan, self.reference.tests)
        if not self.kernel.made_for(events):
            self._leave(self._waiting())
            self.kernel.make()
        if self.must and self.reason is not None:
            message = f"the compiled matcher cannot take `{self.plan.name}`: {self.reason}"
            raise InputMistake(message, code="not_compiled")
        return self.reason is None

    def _key(self, event: Event) -> tuple[Key, tuple[Any, ...]]:
        moment = Moment(event, {})
        values = tuple(value(moment) for value in self.key_of)
        return lookup_key(values, self.plan.inferred_key), values

    # From the kernel to the reference matcher.

    def _waiting(self) -> list[Key]:
        return [] if self.kernel is None else list(self.kernel.keys)

    def _leave_due(self, time: int | None) -> None:
        if self.kernel is not None and time is not None:
            self._leave(self.kernel.take_due(time))

    def _leave(self, keys: Iterable[Key]) -> None:
        for key in keys:
            waiting = None if self.kernel is None else self.kernel.keys.pop(key, None)
            if waiting is not None:
                self.touched.add(key)
                self._adopt(waiting)

    def _adopt(self, waiting: Waiting) -> None:
        kernel = self.kernel
        assert kernel is not None
        self.reference.adopt(waiting.values, lambda partition: kernel.fill(partition, waiting))

    # State: as the reference matcher writes it, whoever has it.

    def next_look(self) -> int | None:
        own = None if self.kernel is None else self.kernel.next_moment()
        return min((m for m in (own, self.reference.next_look()) if m is not None), default=None)

    @property
    def shelf(self) -> Shelf:
        return self.reference.shelf

    @shelf.setter
    def shelf(self, shelf: Shelf) -> None:
        self.reference.shelf = shelf

    def snapshot(self) -> bytes:
        return self.reference.snapshot([self._kept(key) for key in self._waiting()])

    def restore(self, state: bytes) -> None:
        if self.kernel is not None:
            self.kernel.keys.clear()
        self.reference.restore(state)

    def take_touched(self) -> list[str]:
        mine, self.touched = {dump(key) for key in self.touched}, set()
        return list(mine | set(self.reference.take_touched()))

    def kept(self, key: str) -> Kept | None:
        own = load(key)
        mine = self.kernel is not None and own in self.kernel.keys
        return self._kept(own) if mine else self.reference.kept(key)

    def _kept(self, key: Key) -> Kept:
        kernel = self.kernel
        assert kernel is not None
        waiting = kernel.keys[key]
        return self.reference.text_of(key, waiting.values, lambda partition: kernel.fill(partition, waiting))

    def put_away(self, keys: Iterable[str]) -> None:
        names = list(keys)
        if self.kernel is not None:
            for key in names:
                self.kernel.keys.pop(load(key), None)
        self.reference.put_away(names)
