"""State in segments: what a fresh network reads is what the live one has, in few segments, little written."""

from __future__ import annotations

from math import log2

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.engines.network import Entry, Network
from cepheid.engines.program import compile
from cepheid.engines.spark.segment import DIGEST, Index, digests, key_digest, of_stream
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.matching import snapshot
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
        self.indexes: dict[int, bytes] = {}
        self.blocks: dict[tuple[int, int], bytes] = {}
        self.network, self.segments = self.read()
        self.time = 0
        self.written = 0
        self.blocks_read = 0

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
        for number in writes.delete_indexes:
            del self.indexes[number]
        for place in writes.delete_blocks:
            del self.blocks[place]
        self.indexes.update(writes.indexes)
        self.blocks.update(writes.blocks)
        self.written += len(writes)
        return writes

    def read_block(self, segment: int, block: int) -> bytes:
        self.blocks_read += 1
        return self.blocks[segment, block]

    def read(self) -> tuple[Network, Segments]:
        """As a worker does that has nothing of it in memory."""
        network = Network(self.program)
        segments = Segments(s.name for s in self.program)
        segments.read = self.read_block
        segments.load(self.indexes.items())
        network.use_shelves(segments.shelf)
        network.derived_seq = self.network.derived_seq if self.indexes else 0
        return network, segments

    def marks(self) -> int:
        return sum(int(Index.unpacked(body).gone.sum()) for body in self.indexes.values())

    def state(self) -> dict[Entry, snapshot.Kept]:
        """All that was kept, as a fresh reader finds it."""
        _, segments = self.read()
        return {(s.name, kept.key): kept for s in self.program for kept in segments.take_all(s.name)}

    def live(self) -> dict[Entry, snapshot.Kept]:
        """All the live network has: in memory, or read again from where it lies."""
        in_memory = self.network.kept(self.segments.warm)
        return {**{e: k for e, k in self.state().items() if e not in in_memory}, **in_memory}


def same(kept: Kept) -> None:
    assert kept.state() == kept.live()
    assert len(kept.segments) == len(kept.state()) == len(kept.read()[1])
    assert kept.network.next_look() == kept.read()[0].next_look()


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
    keys = len(kept.segments) + kept.marks()
    assert len(kept.segments.segments) == len(kept.indexes)
    assert len(kept.indexes) <= 2 * log2(keys + 1) + 2


# Keys that get an A are open, those that get a B and a C go away.
steps = st.lists(
    st.tuples(st.sampled_from("AAABC"), st.sets(st.integers(0, 19), min_size=1, max_size=8).map(sorted)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(steps, st.integers(0, 24))
def test_a_fresh_network_is_the_live_one(given_steps: list[tuple[str, list[int]]], restart: int) -> None:
    kept = Kept()
    for at, (kind, keys) in enumerate(given_steps):
        kept.feed(kind, keys)
        same(kept)
        bounded(kept)
        if at == restart:  # go on with what was read, as after a failure
            kept.network, kept.segments = kept.read()
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
    assert kept.written < 2 * whole  # all 300 together
    assert sorted(sizes)[150] < whole / 200
    same(kept)


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
    assert {key for _, key in kept.live()} == {key for _, key in kept.state()} == {dump((2,))}


def test_nothing_is_kept_when_all_keys_are_gone() -> None:
    kept = Kept()
    kept.feed("A", list(range(50)))
    for key in range(50):
        kept.feed("B", [key])
    kept.feed("C", list(range(50)))
    kept.feed("Z", [])
    assert not kept.live()
    assert not kept.indexes
    assert not kept.blocks
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
    assert kept.marks() == 1
    kept.feed("A", list(range(100, 180)))  # big enough for the old segment to be written again
    assert not kept.marks()
    assert len(kept.indexes) == 1


def test_a_key_that_comes_back_is_what_it_is_now() -> None:
    kept = Kept()
    kept.feed("A", list(range(40)))
    kept.feed("B", [3])
    kept.feed("C", [3])
    kept.feed("Z", [])
    assert kept.marks() == 1
    kept.feed("A", [3])
    same(kept)
    kept.feed("B", [3])
    kept.feed("C", [3])
    kept.feed("Z", [])
    same(kept)
    assert ("Pairs", dump((3,))) not in kept.state()


def test_a_fresh_reader_reads_the_blocks_of_what_changes_and_no_others() -> None:
    """20,000 idle keys in 5 blocks; two keys that were busy lately, or one of the idle ones, or one that is due."""
    query = "A as a -> NOT B within 10h .partition_by(k) .emit(k: a.k)"
    kept = Kept(query)
    kept.feed("A", list(range(20_000)))
    kept.feed("A", [3, 4])
    assert len(kept.blocks) > 5

    def blocks_read(kind: str, keys: list[int], time: int) -> int:
        kept.network, kept.segments = kept.read()
        kept.blocks_read = 0
        events = [Event(kind, time, {"k": key, "time": None}, seq=at) for at, key in enumerate(keys)]
        found = kept.network.on_events(events, time + 1)
        kept.commit()
        assert not found["matches"].matches
        return kept.blocks_read

    assert blocks_read("A", [3, 4], kept.time + SECOND) == 1
    assert blocks_read("B", [777], kept.time + 2 * SECOND) == 2  # with the small segment, for it is merged
    assert blocks_read("A", [-5], kept.time + 3 * SECOND) <= 1  # a new key
    kept.network, kept.segments = kept.read()
    late = kept.network.on_events([], 11 * 3600 * SECOND)
    assert len(late["matches"].matches) == 20_000 - 1 + 5


def test_a_digest_that_ends_in_zeros_is_found() -> None:
    """Fixed-width bytes of numpy have no zeros at their end when they are read one by one."""
    key = next(str(n) for n in range(100_000) if key_digest(str(n)).endswith(b"\0\0\0"))
    index, _ = _index([*(str(n) for n in range(50)), key]).ordered()
    again = Index.unpacked(index.packed())
    (wanted,) = digests([key], [0])
    assert again.at(wanted) is not None
    assert again.found(digests([key], [0]))[0].all()
    assert again.at(digests(["not there"], [0])[0]) is None


def test_keys_of_streams_are_told_apart_and_stay_in_order() -> None:
    keys = np.sort(np.array([key_digest(str(n)) for n in range(100)], DIGEST))
    one, other = of_stream(keys, 1), of_stream(keys, 700)
    assert (np.sort(one) == one).all()
    assert not set(one.tolist()) & set(other.tolist())


def _index(keys: list[str]) -> Index:
    size = len(keys)
    return Index(
        digests(keys, [0] * size),
        np.zeros(size, np.int64),
        np.zeros(size, np.int32),
        np.zeros(size, np.bool_),
    )
