"""State in segments: what a fresh network reads is what the live one has, in few segments, little written."""

from __future__ import annotations

import json
from math import log2

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.engines.network import Entry, Network
from cepheid.engines.program import compile
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.matching.snapshot import unpack_sections
from cepheid.matching.values import dump
from cepheid.pattern.event import Event

SECOND = 1_000_000
PROGRAM = compile("stream Pairs = A as a -> B as b .partition_by(k) .emit(k: a.k, a: a.n, b: b.n)")
# The second stream has state of its own: a key may be gone in one stream and there in the other.
FED = compile(
    """
    stream Pairs = A as a -> B as b .stnm() .partition_by(k) .emit(k: a.k, n: a.n)
    stream Later = Pairs as p -> C as c .stnm() .partition_by(k) .emit(k: p.k, n: p.n)
    """
)


class Kept:
    """A live network, its segments, and a store that holds what they wrote."""

    def __init__(self, program: object = FED) -> None:
        self.program = compile(program)
        self.network, self.segments = Network(self.program), Segments()
        self.store: dict[int, bytes] = {}
        self.time = 0
        self.written = 0

    def feed(self, kind: str, keys: list[int]) -> None:
        """One event for each key at one new time, then time goes on; what changed is committed."""
        self.network.on_events(self.events(kind, keys), self.time + 1)
        self.commit()

    def events(self, kind: str, keys: list[int]) -> list[Event]:
        self.time += SECOND
        return [
            Event(kind, self.time, {"k": key, "n": self.time, "time": None}, seq=at)
            for at, key in enumerate(keys)
        ]

    def commit(self) -> Writes:
        writes = self.segments.commit(self.network, self.network.take_touched())
        for number in writes.delete:
            del self.store[number]
        self.store.update(writes.put)
        self.written += sum(map(len, writes.put.values()))
        return writes

    def read(self) -> tuple[Network, Segments]:
        network, segments = Network(self.program), Segments()
        segments.load(self.store.items(), network)
        network.derived_seq = self.network.derived_seq
        return network, segments

    def marks(self) -> set[Entry]:
        bodies = [unpack_sections(body, "cepheid segment 1") for body in self.store.values()]
        return {(name, key) for b in bodies for name, key in json.loads(b["gone"])}


def same(one: Network, other: Network) -> None:
    entries = sorted(one.entries())
    assert entries == sorted(other.entries())
    assert one.kept(entries) == other.kept(entries)


def same_future(kept: Kept, other: Network) -> None:
    """The same events to both. The live network is used up by it."""
    everyone = list(range(20))
    for kind in ("B", "C", "A", "B", "C"):
        events = kept.events(kind, everyone)
        one = kept.network.on_events(events, kept.time + 1)
        two = other.on_events(events, kept.time + 1)
        for name in one:
            assert [m.id for m in one[name].matches] == [m.id for m in two[name].matches]


def bounded(kept: Kept) -> None:
    keys = len(kept.network.entries()) + sum(map(len, kept.segments.gone.values()))
    assert len(kept.segments) == len(kept.store)
    assert len(kept.store) <= 2 * log2(keys + 1) + 2


# Keys that get an A are open, those that get a B and a C go away.
steps = st.lists(
    st.tuples(st.sampled_from("AAABC"), st.sets(st.integers(0, 19), min_size=1, max_size=8).map(sorted)),
    min_size=1,
    max_size=25,
)


@settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(steps, st.integers(0, 24))
def test_a_fresh_network_is_the_live_one(given_steps: list[tuple[str, list[int]]], restart: int) -> None:
    kept = Kept()
    for at, (kind, keys) in enumerate(given_steps):
        kept.feed(kind, keys)
        network, segments = kept.read()
        same(kept.network, network)
        assert segments.home == kept.segments.home
        bounded(kept)
        if at == restart:  # go on with what was read, as after a failure
            kept.network, kept.segments = network, segments
    network, _ = kept.read()
    same_future(kept, network)


def test_one_key_of_many_is_little_to_write() -> None:
    """10,000 idle keys, then 300 commits that touch one of them each."""
    kept = Kept(PROGRAM)
    kept.feed("A", list(range(10_000)))
    whole, kept.written = kept.written, 0
    sizes = []
    for i in range(300):
        before = kept.written
        kept.feed("A", [i * 37 % 10_000])
        sizes.append(kept.written - before)
        bounded(kept)
    assert kept.written < whole  # all 300 together
    assert sorted(sizes)[150] < whole / 200
    network, _ = kept.read()
    same(kept.network, network)


def test_what_is_written_grows_with_the_changes_not_with_their_square() -> None:
    """Every commit brings a new key: each is written again about log(n) times."""

    def written(commits: int) -> int:
        kept = Kept(PROGRAM)
        for i in range(commits):
            kept.feed("A", [i])
        return kept.written

    few, many = written(64), written(512)
    assert many < few * 8 * 2.5


def test_a_key_without_an_open_run_is_removed() -> None:
    kept = Kept()
    kept.feed("A", [1, 2])
    kept.feed("B", [1])
    kept.feed("C", [1])
    kept.feed("Z", [])
    assert {key for _, key in kept.network.entries()} == {dump((2,))}
    network, _ = kept.read()
    assert {key for _, key in network.entries()} == {dump((2,))}


def test_nothing_is_kept_when_all_keys_are_gone() -> None:
    kept = Kept()
    kept.feed("A", list(range(50)))
    for key in range(50):
        kept.feed("B", [key])
    kept.feed("C", list(range(50)))
    kept.feed("Z", [])
    assert not kept.network.entries()
    assert not kept.store
    assert not len(kept.segments)


def test_a_mark_stays_only_while_an_older_segment_holds_the_key() -> None:
    kept = Kept()
    kept.feed("A", list(range(100)))
    for i in range(30):  # these come and go above the old segment, which never had them
        kept.feed("A", [1000 + i])
        kept.feed("B", [1000 + i])
        kept.feed("C", [1000 + i])
        kept.feed("Z", [])
        assert not kept.marks()
    kept.feed("B", [7])
    kept.feed("C", [7])
    kept.feed("Z", [])
    assert ("Pairs", dump((7,))) in kept.marks()
    kept.feed("A", list(range(100, 180)))  # big enough for the old segment to be written again
    assert not kept.marks()
    assert len(kept.store) == 1


def test_a_key_that_comes_back_is_what_it_is_now() -> None:
    kept = Kept()
    kept.feed("A", list(range(40)))
    kept.feed("B", [3])
    kept.feed("C", [3])
    kept.feed("Z", [])
    assert ("Pairs", dump((3,))) in kept.marks()
    kept.feed("A", [3])
    network, _ = kept.read()
    same(kept.network, network)
    kept.feed("B", [3])
    kept.feed("C", [3])
    kept.feed("Z", [])
    network, _ = kept.read()
    same(kept.network, network)
    assert ("Pairs", dump((3,))) not in network.entries()
