"""State of many keys as a few segments, so that what is written is what changed, not what is there.

Each commit writes one segment with the keys that changed. The newest segments are merged with it while they are not
much bigger, so there are about log(n) of them and every key is written again about log(n) times in its life. A key
that is gone leaves a mark until no older segment holds it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheid.engines.network import Entry, Network
from cepheid.matching.snapshot import Kept, kept_table, pack_sections, read_kept, to_json, unpack_sections

_FORMAT = "cepheid segment 1"


@dataclass
class Writes:
    """What a commit changes in the store."""

    put: dict[int, bytes] = field(default_factory=dict)
    delete: list[int] = field(default_factory=list)


class Segments:
    """Where the latest state of each key of a network lies."""

    def __init__(self) -> None:
        self.home: dict[Entry, int] = {}  # the segment that holds a key's latest state
        self.members: dict[int, set[Entry]] = {}  # the keys whose latest state a segment holds
        self.stale: dict[int, set[Entry]] = {}  # the keys that a segment holds an earlier state of
        self.gone: dict[int, set[Entry]] = {}  # the marks a segment holds
        self.warm: dict[Entry, Kept] = {}  # what the last commit wrote

    def __len__(self) -> int:
        return len(self.members)

    def load(self, stored: Iterable[tuple[int, bytes]], network: Network) -> None:
        """Rebuild a network from its segments."""
        for number, body in sorted(stored):
            state, gone = _read(body)
            network.forget(gone)
            network.absorb(state)
            self._settle(number, set(state), gone)
        network.take_touched()

    def commit(self, network: Network, touched: Iterable[Entry]) -> Writes:
        """Write what changed, together with the segments that are not much bigger."""
        changed = set(touched)
        state = network.kept(changed)
        alive = set(state)
        gone = {e for e in changed - alive if e in self.home}
        if not alive and not gone:
            return Writes()
        self._leave_home(alive | gone)
        number = max(self.members, default=0) + 1
        merged = self._not_much_bigger(len(alive) + len(gone))
        for old in merged:
            gone |= self.gone.pop(old)
            alive |= self.members.pop(old)
            del self.stale[old]
        gone = {e for e in gone - alive if self._holds_earlier(e)}
        if not alive and not gone:
            return Writes(delete=merged)
        self._settle(number, alive, gone)
        body = _body({**network.kept(alive - state.keys()), **state}, gone)
        self._cool(network, changed, state)
        return Writes({number: body}, merged)

    def _cool(self, network: Network, changed: set[Entry], state: dict[Entry, Kept]) -> None:
        """Keys that changed last time and not now go back to text: open runs of idle keys take little room."""
        network.absorb({entry: kept for entry, kept in self.warm.items() if entry not in changed})
        self.warm = state

    def _not_much_bigger(self, size: int) -> list[int]:
        """The newest segments, as long as each is at most twice what is written anyway."""
        merged: list[int] = []
        for number in sorted(self.members, reverse=True):
            own = len(self.members[number]) + len(self.gone[number])
            if own > 2 * size:
                break
            merged.append(number)
            size += own
        return merged

    def _holds_earlier(self, entry: Entry) -> bool:
        return any(entry in stale for stale in self.stale.values())

    def _settle(self, number: int, alive: set[Entry], gone: set[Entry]) -> None:
        self._leave_home(alive | gone)
        self.members[number], self.stale[number], self.gone[number] = set(alive), set(), set(gone)
        self.home.update(dict.fromkeys(alive, number))

    def _leave_home(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            before = self.home.pop(entry, None)
            if before is not None and before in self.members:  # not one that is merged just now
                self.members[before].discard(entry)
                self.stale[before].add(entry)


def _body(state: dict[Entry, Kept], gone: set[Entry]) -> bytes:
    streams: dict[str, list[Kept]] = {}
    for (name, _), kept in sorted(state.items()):
        streams.setdefault(name, []).append(kept)
    sections = {f"state {name}": kept_table(rows) for name, rows in streams.items()}
    return pack_sections({**sections, "gone": to_json(sorted(gone)).encode()}, _FORMAT)


def _read(body: bytes) -> tuple[dict[Entry, Kept], set[Entry]]:
    sections = unpack_sections(body, _FORMAT)
    gone = {(name, key) for name, key in json.loads(sections.pop("gone"))}
    state = {
        (section.removeprefix("state "), kept.key): kept
        for section, rows in sections.items()
        for kept in read_kept(rows)
    }
    return state, gone
