"""A stream that is killed again and again, at moments nobody chose, and loses nothing and writes nothing twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid

pytest.importorskip("pyspark", reason="needs the extra spark")

sys.path.insert(0, str(Path(__file__).parent))

from crash_main import END, QUERY, STREAMS
from streaming import write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.soak, pytest.mark.spark]

START = 1_700_000_000_000_000  # microseconds
STEP = 100_000  # between two events
DISORDER = 60_000_000  # as in crash_main
KEYS = 2000
SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("v", pa.int64()),
        ("n", pa.int64()),  # the event's number, by which dead letters are told apart
    ]
)
Row = dict[str, Any]


# --- events --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Events:
    """What the files hold, told apart by what must become of it."""

    files: list[list[Row]]
    on_time: list[Row]
    too_late: list[Row]

    @classmethod
    def made(cls, count: int, files: int, seed: int) -> Events:
        rows = sorted(_arrivals(count, random.Random(seed)), key=lambda r: r["arrives"])
        size = -(-count // files)
        cut = [rows[i : i + size] for i in range(0, count, size)]
        last = {"type": END, "time": START + (count + 10_000) * STEP, "key": None, "v": None, "n": -1}
        cut[-1].append(last)
        on_time, too_late = _judged(cut)
        return cls(cut, on_time, too_late)

    def write(self, folder: Path) -> None:
        write_batches(folder, [pa.Table.from_pylist(rows, SCHEMA) for rows in self.files])


def _arrivals(count: int, chance: random.Random) -> Iterator[Row]:
    """Each event waits less than the disorder before it arrives; one in 500 waits for many minutes."""
    for n in range(count):
        moment = START + n * STEP + chance.randrange(STEP)  # no two at one moment
        delay = chance.randrange(DISORDER)
        if chance.random() < 1 / 500:
            delay = chance.randrange(10, 40) * 60_000_000
        yield {
            "type": chance.choice("ABBCDDDD"),  # nobody wants a D
            "time": moment,
            "key": f"k{chance.randrange(KEYS)}",
            "v": chance.randrange(100),
            "n": n,
            "arrives": moment + delay,
        }


def _judged(files: Sequence[Sequence[Row]]) -> tuple[list[Row], list[Row]]:
    """By the rule of Spark's watermark: it stands still in a file, and then is the latest time in whole milliseconds,
    less the disorder."""
    on_time: list[Row] = []
    too_late: list[Row] = []
    latest: int | None = None
    for rows in files:
        watermark = None if latest is None else latest // 1000 * 1000 - DISORDER
        for row in rows:
            late = watermark is not None and row["time"] < watermark
            (too_late if late else on_time).append(row)
        latest = max([row["time"] for row in rows] + ([latest] if latest is not None else []))
    return on_time, too_late


# --- the job, and its deaths ---------------------------------------------------------------------------------


@dataclass
class Job:
    """The folders of the job, and what is known of its runs from outside."""

    root: Path
    how: str
    kills: list[Kill] = field(default_factory=list)

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        self.mark.unlink(missing_ok=True)
        command = [sys.executable, str(Path(__file__).parent / "crash_main.py"), str(self.root), self.how]
        with (self.root / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            try:
                yield process
            finally:
                if process.poll() is None:
                    _kill(process)

    @property
    def mark(self) -> Path:
        return self.root / "mark"

    @property
    def active(self) -> bool:
        return self.mark.exists() and self.mark.read_text() == "active"

    def batches(self, log: str) -> set[int]:
        """The numbers of batches in one of Spark's logs, `offsets` or `commits`."""
        folder = self.root / "checkpoint" / log
        return {int(name) for name in os.listdir(folder) if name.isdigit()} if folder.exists() else set()

    @property
    def open_batch(self) -> int | None:
        """The batch that was begun and is not yet noted as done."""
        begun = max(self.batches("offsets"), default=-1)
        return begun if begun > max(self.batches("commits"), default=-1) else None

    def any(self, pattern: str) -> bool:
        return any(True for _ in self.root.glob(pattern))

    def finish(self) -> None:
        with self.started() as process:
            assert process.wait(timeout=900) == 0, self.said()

    def forget(self) -> None:
        """As if it had never run."""
        for folder in ("checkpoint", "matches", "dead"):
            shutil.rmtree(self.root / folder, ignore_errors=True)

    def said(self) -> str:
        return (self.root / "log").read_text(errors="replace")[-6000:]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The driver, and Java with it. Spark's Python workers are a group of their own, and end with Java."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass(frozen=True)
class Kill:
    """What a kill has hit."""

    moment: str
    active: bool
    commits: int
    open_batch: int | None
    seconds: float


class Missed(Exception):
    """The moment was too short for a machine that has much else to do."""


Moment = Callable[[Job, random.Random], bool]  # has it come?


def when_marked(job: Job, chance: random.Random) -> Moment:
    """The very first start, while it notes what the checkpoint belongs to."""

    def come(job: Job, chance: random.Random) -> bool:
        if job.active:
            raise Missed
        return job.any("checkpoint/cepheid/_temporary")

    return come


def in_the_start(job: Job, chance: random.Random) -> Moment:
    """While Java and the session start, or a little later."""
    end = time.monotonic() + chance.uniform(1.0, 6.0)
    return lambda job, chance: time.monotonic() > end


def at_random(job: Job, chance: random.Random) -> Moment:
    """Some batches later, and then somewhere within a batch: so it does not depend on how fast the machine is."""
    wanted = max(job.batches("commits"), default=-1) + chance.choice([1, 2, 3])
    wait = chance.uniform(0.0, 1.5)
    since: list[float] = []

    def come(job: Job, chance: random.Random) -> bool:
        if not since and job.active and max(job.batches("commits"), default=-1) >= wanted:
            since.append(time.monotonic())
        return bool(since) and time.monotonic() > since[0] + wait

    return come


def when_begun(job: Job, chance: random.Random) -> Moment:
    """The offsets of a batch are noted, and nothing else."""
    first = max(job.batches("offsets"), default=-1) + 1
    return lambda job, chance: job.active and first in job.batches("offsets")


def when_state_is_kept(job: Job, chance: random.Random) -> Moment:
    """A part of the batch's state is in the checkpoint, and the batch is not done."""
    version = max(job.batches("offsets"), default=-1) + 2  # after a batch it is the batch's number and one
    return lambda job, chance: job.active and job.any(f"checkpoint/state/0/*/{version}[._]*")


def when_half_written(job: Job, chance: random.Random) -> Moment:
    """Two sinks have the batch, the third is being written, the fourth has nothing."""
    pattern = "matches/Many/batch=*/_temporary"
    old = set(job.root.glob(pattern))
    return lambda job, chance: job.active and bool(set(job.root.glob(pattern)) - old)


def when_all_sinks_are_written(job: Job, chance: random.Random) -> Moment:
    """The batch is written whole, and not yet noted as done."""
    old = set(job.root.glob("dead/batch=*/_SUCCESS"))
    return lambda job, chance: job.active and bool(set(job.root.glob("dead/batch=*/_SUCCESS")) - old)


def when_done(job: Job, chance: random.Random) -> Moment:
    """Right after the note, or in the middle of it."""
    first = max(job.batches("offsets"), default=-1) + 1
    return lambda job, chance: job.active and job.any(f"checkpoint/commits/*{first}*")


def kill_at(job: Job, choose: Callable[[Job, random.Random], Moment], chance: random.Random) -> None:
    """One run that ends with a kill."""
    come = choose(job, chance)
    begun = time.monotonic()
    with job.started() as process:
        while not come(job, chance):
            assert process.poll() is None, f"the job ended before its kill: {job.said()}"
            assert time.monotonic() < begun + 300, f"{choose.__name__} has not come: {job.said()}"
            time.sleep(0.005)  # often enough to meet a moment, and no load of its own
        _kill(process)
    active = job.active
    commits = len(job.batches("commits"))
    job.kills.append(Kill(choose.__name__, active, commits, job.open_batch, time.monotonic() - begun))


TRIES = 5  # a busy machine is told late of a moment, and may let it pass
WITHIN_A_BATCH = (when_begun, when_state_is_kept, when_half_written, when_all_sinks_are_written)


def kill_at_first_start(job: Job, chance: random.Random) -> None:
    for _ in range(TRIES):
        with suppress(Missed):
            kill_at(job, when_marked, chance)
            return
        job.forget()
    pytest.fail(f"{when_marked.__name__} was missed each time: {job.said()}")


def hit(job: Job, choose: Callable[[Job, random.Random], Moment], chance: random.Random) -> None:
    """A kill at a moment that is to be within a batch finds it so."""
    for _ in range(TRIES):
        kill_at(job, choose, chance)
        if choose not in WITHIN_A_BATCH or job.kills[-1].open_batch is not None:
            return
    pytest.fail(f"{choose.__name__} was missed each time: {job.kills}")


# --- what is compared ----------------------------------------------------------------------------------------


def read(spark: SparkSession, folder: Path) -> list[Row]:
    return [row.asDict() for row in spark.read.parquet(str(folder)).collect()]


def once(found: Sequence[Any]) -> set[Any]:
    twice = {one: times for one, times in Counter(found).items() if times > 1}
    assert not twice, f"{len(twice)} of {len(found)} are there more than once: {sorted(twice)[:5]}"
    return set(found)


def wanted_ids(events: Events) -> dict[str, set[str]]:
    """What the batch finds over the events that were not too late, and the end marker: time goes on to it."""
    table = pa.Table.from_pylist(sorted(events.on_time, key=lambda r: r["time"]), SCHEMA)
    found = cepheid.run(QUERY, table)
    return {stream: {row["id"] for row in _rows(found[stream])} for stream in STREAMS}


def _rows(found: Any) -> list[Row]:
    return found.to_pylist() if isinstance(found, pa.Table) else list(found)


def the_same(found: set[Any], wanted: set[Any]) -> None:
    assert found == wanted, f"{len(wanted - found)} are missing and {len(found - wanted)} too many"


def check_kills(job: Job, least_active: int) -> None:
    """The kills have hit a running stream, and it went on between them."""
    commits = [kill.commits for kill in job.kills]
    assert sum(kill.active for kill in job.kills) >= least_active, job.kills
    assert commits == sorted(commits)
    assert commits[-1] > commits[0], job.kills
    assert len(job.batches("commits")) > commits[-1], job.kills


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """What a run measured, for those who look (pytest -s)."""

    def tell(*lines: object) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))

    return tell


# --- tests ---------------------------------------------------------------------------------------------------

NINE = (
    in_the_start,
    when_state_is_kept,
    when_half_written,
    when_all_sinks_are_written,
    when_done,
    *[at_random] * 4,
)


def test_ten_kills_lose_nothing_and_write_nothing_twice(
    spark: SparkSession, tmp_path: Path, told: Callable[..., None]
) -> None:
    events = Events.made(200_000, files=48, seed=1)  # more batches than ten kills let pass
    events.write(tmp_path / "in")
    job = Job(tmp_path, "sinks")
    seed = random.randrange(1_000_000)
    chance = random.Random(seed)
    kill_at_first_start(job, chance)
    for choose in chance.sample(NINE, len(NINE)):
        hit(job, choose, chance)
    before = time.monotonic()
    job.finish()
    told(f"seed {seed}", *job.kills, f"last run: {time.monotonic() - before:.0f} s")

    check_kills(job, least_active=8)
    before = time.monotonic()
    wanted = wanted_ids(events)
    for stream in STREAMS:
        the_same(once([row["id"] for row in read(spark, tmp_path / "matches" / stream)]), wanted[stream])
    dead = once([row["n"] for row in read(spark, tmp_path / "dead")])
    late = {row["n"] for row in events.too_late if row["type"] in "ABC"}
    the_same(dead, late)
    told({stream: len(ids) for stream, ids in wanted.items()}, f"{len(dead)} dead letters")
    told(f"the batch and the comparison: {time.monotonic() - before:.0f} s")
    assert min(len(ids) for ids in wanted.values()) > 1000
    assert len(dead) > 100


def test_three_kills_with_the_file_sink_of_spark(
    spark: SparkSession, tmp_path: Path, told: Callable[..., None]
) -> None:
    events = Events.made(40_000, files=24, seed=2)  # more batches than three kills let pass
    events.write(tmp_path / "in")
    job = Job(tmp_path, "plain")
    chance = random.Random()
    for choose in (at_random, when_begun, at_random):
        hit(job, choose, chance)
    job.finish()
    told(*job.kills)

    check_kills(job, least_active=3)
    found = once([row["id"] for row in read(spark, tmp_path / "matches")])
    the_same(found, wanted_ids(events)["Many"])
    told(f"{len(found)} matches")
    assert len(found) > 200
