"""`cepheid.write_stream`: one query, a sink for each kind, every row once, a restart that is checked."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import cepheid
from cepheid.cli import main
from cepheid.engines.spark.progress import FILE, read_lines
from cepheid.engines.spark.prometheus import Endpoint
from cepheid.errors import CepheidWarning, InputMistake, SnapshotMistake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pyspark = pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = pytest.mark.spark

SCHEMA = "type string, time timestamp, card string, amount double"
NOW = {"availableNow": True}

QUERY = """
stream Fraud = Small[amount < 5] as s -> Large[amount > 100] as l within 10m partition by card
    .timeouts() .emit(id: match_id(), card, amount: l.amount)
stream Quiet = Small as s -> NOT Large within 5m partition by card .emit(id: match_id(), card)
"""


def at(minute: float, kind: str, card: str, amount: float) -> dict[str, Any]:
    seconds = 1_700_000_000 + round(minute * 60)
    return {
        "type": kind,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
        "card": card,
        "amount": amount,
    }


# A file is a micro-batch. Card 1 is a fraud, card 2 pays nothing large in time, card 3 does so too late.
FIRST = [at(0, "Small", "c1", 1.0), at(1, "Small", "c2", 2.0), at(2, "Large", "c1", 500.0)]
SECOND = [at(20, "Small", "c3", 3.0), at(21, "Other", "c9", 0.0)]
THIRD = [at(1, "Large", "c2", 900.0), at(22, "Large", "c3", 300.0), at(50, "Other", "c9", 0.0)]
LAST = [at(51, "Small", "c4", 1.0), at(52, "Large", "c4", 700.0), at(90, "Other", "c9", 0.0)]


@dataclass
class Place:
    """The folders of one test."""

    spark: SparkSession
    root: Path

    def put(self, *files: list[dict[str, Any]]) -> None:
        source = self.root / "in"
        source.mkdir(exist_ok=True)
        for rows in files:
            number = len(list(source.iterdir()))
            file = source / f"{number:03}.json"
            file.write_text("".join(json.dumps(r) + "\n" for r in rows))
            # Spark takes files by their age, and these are all of one moment.
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))

    def stream(self) -> DataFrame:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.root / "in"))

    def start(self, query: str = QUERY, **more: Any) -> Any:
        settings: dict[str, Any] = {
            "matches": self.root / "matches",
            "trigger": NOW,
            "disorder": "10s",
            "buckets": 4,
            **more,
        }
        return cepheid.write_stream(query, self.stream(), checkpoint=self.root / "checkpoint", **settings)

    def finish(self, query: str = QUERY, **more: Any) -> Any:
        started = self.start(query, **more)
        assert started.awaitTermination(60)
        return started

    def rows(self, *folder: str) -> list[dict[str, Any]]:
        table = self.spark.read.parquet(str(self.root.joinpath(*folder)))
        return sorted((row.asDict(True) for row in table.collect()), key=str)


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


def test_each_kind_goes_to_its_own_sink_and_a_restart_goes_on(place: Place) -> None:
    sinks: dict[str, Any] = {
        "timeouts": place.root / "timeouts",
        "dead_letters": cepheid.ParquetSink(place.root / "dead"),
        "metrics": place.root / "metrics",
        "name": "cards",
    }
    place.put(FIRST, SECOND, THIRD)
    place.finish(**sinks)
    place.put(LAST)
    place.finish(**sinks)

    assert sorted(r["card"] for r in place.rows("matches", "Fraud")) == ["c1", "c3", "c4"]
    assert {r["card"] for r in place.rows("matches", "Quiet")} == {"c2"}
    assert [(r["card"], r["reached"]) for r in place.rows("timeouts")] == [("c2", "s")]
    (dead,) = place.rows("dead")
    assert (dead["type"], dead["card"], dead["amount"]) == ("Large", "c2", 900.0)
    assert "behind the watermark" in dead["reason"]

    metrics = place.rows("metrics")
    assert sum(r["too_late"] for r in metrics) == 1
    assert sum(r["matches"] for r in metrics) == 4
    assert sum(r["events"] for r in metrics) == 8  # those of type Other reach no matcher
    _as_the_batch_does(place)
    _written_beside_the_checkpoint(place)
    _replayed(place, sinks)
    assert progress(place)[-1]["totals"] == TOTALS  # a batch that comes again counts once
    _refused(place, sinks)


TOTALS = {
    "events": 8,
    "late": 0,
    "too_late": 1,
    "dead_letters": 1,
    "matches": {"Fraud": 3, "Quiet": 1},
    "timeouts": {"Fraud": 1},
}


def progress(place: Place) -> list[dict[str, Any]]:
    return read_lines(place.root / "checkpoint" / FILE)


def _written_beside_the_checkpoint(place: Place) -> None:
    """In batch 1 the watermark is at 1:50: cards 1 and 2 have begun. In batch 2 it is at 20:50: card 1 is a fraud and
    its copies are over, card 2 is quiet and timed out, card 3 has begun."""
    lines = {line["batch"]: line for line in progress(place)}
    assert lines[0]["open"] == {"Fraud": {}, "Quiet": {}}
    assert (lines[0]["waiting"], lines[0]["watermark"]) == (3, None)
    assert lines[1]["open"] == {"Fraud": {"s": 2}, "Quiet": {"s": 2}}
    assert lines[1]["watermark"] == 1_700_000_000 + 110
    assert lines[2]["open"] == {"Fraud": {"s": 1}, "Quiet": {"s": 1}}
    assert (lines[2]["matches"], lines[2]["timeouts"]) == ({"Fraud": 1, "Quiet": 1}, {"Fraud": 1})
    assert (lines[2]["too_late"], lines[2]["dead_letters"]) == (1, 1)
    last = progress(place)[-1]
    assert last["totals"] == TOTALS
    assert last["open"] == {"Fraud": {}, "Quiet": {}}
    assert last["query"] == "cards"
    shown = CliRunner().invoke(main, ["watch", str(place.root / "checkpoint"), "--once"])
    assert "cards  running" in shown.stdout
    out = place.root / "stream.html"
    written = CliRunner().invoke(main, ["report", "cards", "--out", str(out)])
    assert written.exit_code == 0, written.output
    assert "Small[amount &lt; 5] as s" in out.read_text()  # the pattern, from the checkpoint


def _as_the_batch_does(place: Place) -> None:
    """The same ids as over the events that were not too late, as one bounded table."""
    events = [e for part in (FIRST, SECOND, THIRD[1:], LAST) for e in part]
    wanted = cepheid.run(QUERY, events)
    for stream in ("Fraud", "Quiet"):
        assert {r["id"] for r in place.rows("matches", stream)} == {r["id"] for r in wanted[stream]}


def _replayed(place: Place, sinks: dict[str, Any]) -> None:
    """A batch whose end was never noted comes again, and is written over itself."""
    folders = ("matches/Fraud", "matches/Quiet", "timeouts", "dead")
    before = {folder: place.rows(folder) for folder in folders}
    commits = place.root / "checkpoint" / "commits"
    last = max(int(p.name) for p in commits.iterdir() if p.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
    # What a crash in the middle leaves behind, in a folder that had no rows too.
    for folder in folders:
        half = place.root / folder / f"batch={last}" / "_temporary" / "0"
        half.mkdir(parents=True, exist_ok=True)
    # The state depends neither on the sinks nor on the disorder of today, nor on how many tasks the session has now.
    tasks = place.spark.conf.get("spark.sql.shuffle.partitions")
    place.spark.conf.set("spark.sql.shuffle.partitions", 5)
    try:
        again = place.finish(**{**sinks, "metrics": None, "disorder": "20s"})
    finally:
        place.spark.conf.set("spark.sql.shuffle.partitions", tasks)
    assert [p.batchId for p in again.recentProgress][:1] == [last]
    assert {folder: place.rows(folder) for folder in folders} == before
    assert not list(place.root.rglob("_temporary"))


def _refused(place: Place, sinks: dict[str, Any]) -> None:
    """Before anything runs, in words of ours."""
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("buckets_changed", QUERY, {**sinks, "buckets": 8}),
        ("other_program", QUERY.replace("> 100", "> 200"), sinks),
        ("dead_letters_changed", QUERY, {**sinks, "dead_letters": None}),
        ("idle_after_changed", QUERY, {**sinks, "idle_after": "1h", "trigger": None}),
    ]
    for code, query, more in changes:
        with pytest.raises(SnapshotMistake) as refused:
            place.start(query, **more)
        assert refused.value.code == code


# --- sinks ---------------------------------------------------------------------------------------------------


def test_a_function_as_sink_and_an_endpoint_that_shows_the_query(place: Place) -> None:
    listener = cepheid.PrometheusListener(port=0)
    place.spark.streams.addListener(listener)
    taken: list[tuple[int, list[Any]]] = []
    try:
        place.put(FIRST, SECOND)
        one = "stream Fraud = Small as s -> Large as l partition by card"
        place.finish(one, matches=lambda rows, batch: taken.append((batch, rows.collect())), name="shown")
        text = eventually(lambda: page(listener.port), lambda text: 'running{query="shown"} 0.0' in text)
    finally:
        place.spark.streams.removeListener(listener)
        listener.close()
    assert [row.card for _, rows in taken for row in rows] == ["c1"]
    assert len(taken) == len({batch for batch, _ in taken})
    shown = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    assert shown['cepheid_events_total{query="shown"}'] == "4.0"
    assert shown['cepheid_matches_total{query="shown",stream="Fraud"}'] == "1.0"
    assert shown['cepheid_open_keys{query="shown"}'] == "3.0"
    assert shown['cepheid_waiting_events{query="shown"}'] == "0.0"
    assert float(shown['cepheid_watermark_lag_seconds{query="shown"}']) > 1e6
    assert float(shown['cepheid_state_rows{query="shown"}']) > 0
    assert float(shown['cepheid_batch_duration_seconds{query="shown"}']) > 0


def page(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return str(answer.read().decode())


def eventually(look: Callable[[], Any], done: Callable[[Any], bool], seconds: float = 20) -> Any:
    """Listeners hear of a query a moment after it."""
    end = time.monotonic() + seconds
    while not done(seen := look()) and time.monotonic() < end:
        time.sleep(0.1)
    assert done(seen), seen
    return seen


def test_a_bucket_without_work_still_holds_its_keys() -> None:
    endpoint = Endpoint(0, "127.0.0.1")
    try:
        for buckets in ("0:5:1 1:7:0", "1:6:2", ""):
            endpoint._hold("q", {"buckets": buckets})
            text = page(endpoint.port)
        assert 'cepheid_open_keys{query="q"} 11.0' in text
        assert 'cepheid_waiting_events{query="q"} 3.0' in text
    finally:
        endpoint.close()


def test_an_empty_batch_writes_nothing_and_removes_what_a_half_attempt_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = cepheid.ParquetSink(tmp_path / "out")
    rows = spark.createDataFrame([(1, "a")], "n int, s string")
    sink.write_nothing(rows.limit(0), 0, again=True)
    assert not (tmp_path / "out").exists()
    sink.write(rows, 1)
    sink.write(rows, 2)
    sink.write(rows, 2)
    sink.write_nothing(rows.limit(0), 1, again=True)
    sink.write_nothing(rows.limit(0), 3, again=False)
    assert [tuple(r) for r in spark.read.parquet(str(tmp_path / "out")).collect()] == [(1, "a", 2)]


ONE = "stream S = Small as s -> Large as l within 10m partition by card .emit(batch: s.card)"


@pytest.mark.parametrize(
    ("query", "more", "code"),
    [
        (ONE, {}, "batch_column"),
        (ONE, {"matches": None}, "no_sink"),
        (ONE, {"matches": 5}, "bad_sink"),
        (ONE, {"matches": {"R": "x"}}, "unknown_stream"),
        (ONE, {"matches": cepheid.KafkaSink("host:1", "topic")}, "no_kafka_key"),
        (ONE, {"timeouts": "x"}, "no_timeouts"),
        (ONE, {"dead_letters": "x", "too_late": "drop"}, "bad_option"),
        (ONE, {"too_late": "dead_letter"}, "bad_option"),
        (ONE, {"idle_after": "5s"}, "bad_option"),
        (ONE, {"disorder": None}, "no_watermark"),
        (QUERY, {"matches": lambda rows, batch: None}, "one_sink"),
    ],
)
def test_mistakes_are_found_before_the_start(
    place: Place, query: str, more: dict[str, Any], code: str
) -> None:
    place.put(FIRST)
    with pytest.raises(InputMistake) as refused:
        place.start(query, **more)
    assert refused.value.code == code
    assert not (place.root / "checkpoint").exists()


def test_a_bounded_table_is_no_stream(spark: SparkSession) -> None:
    with pytest.raises(InputMistake) as refused:
        cepheid.write_stream(ONE, spark.createDataFrame([], SCHEMA), checkpoint="x", matches="y")
    assert refused.value.code == "not_streaming"


# --- an idle stream ------------------------------------------------------------------------------------------


@pytest.fixture
def stopping() -> Iterator[list[Any]]:
    queries: list[Any] = []
    yield queries
    for query in queries:
        query.stop()


def test_time_goes_on_when_no_events_come(place: Place, stopping: list[Any]) -> None:
    """One event, then silence: the absence is certain some seconds later. No beat breaks the strict order."""
    quiet = """
    stream Quiet = Small as s -> NOT Large within 1s partition by card .emit(card)
    stream Pair = Small as s -> next Small as t .emit(cards: concat(s.card, t.card))
    """
    moment = time.time() / 60 - 1_700_000_000 / 60
    place.put([at(moment, "Small", "c1", 1.0)])
    taken: list[Any] = []
    sinks = {
        "Quiet": lambda rows, batch: taken.extend(r.card for r in rows.collect()),
        "Pair": lambda rows, batch: taken.extend(r.cards for r in rows.collect()),
    }
    live = {"processingTime": "1 second"}
    with pytest.warns(CepheidWarning, match="`Pair`: no key"):
        started = place.start(
            quiet, matches=sinks, disorder="1s", idle_after="2s", buckets=2, too_late="drop", trigger=live
        )
    stopping.append(started)
    eventually(lambda: list(taken), lambda found: "c1" in found, seconds=40)
    place.put([at(time.time() / 60 - 1_700_000_000 / 60, "Small", "c2", 1.0)])
    eventually(lambda: list(taken), lambda found: "c1c2" in found and "c2" in found, seconds=40)
    assert sorted(taken) == ["c1", "c1c2", "c2"]
