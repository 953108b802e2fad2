"""The progress file of a stream, without Spark: what is written, what `cepheid watch` makes of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cepheid.cli import main
from cepheid.cli.stream_report import stream_report
from cepheid.engines.spark import progress as progress_module
from cepheid.engines.spark.progress import FILE, ProgressFile, old_file, progress_path, read_lines
from cepheid.engines.spark.stream_view import rates_of, view_of
from cepheid.errors import CepheidWarning

STEPS = {"Trip": ("START", "l", "d"), "Lost": ("START", "l")}


def bucket(number: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "bucket": number,
        "events": 0,
        "late": 0,
        "too_late": 0,
        "waiting": 0,
        "keys": 0,
        "watermark": None,
        "open": "{}",
        **changes,
    }


def opened(**streams: dict[int, int] | None) -> str:
    return json.dumps(streams)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a checkpoint; notes of queries go to a place of the test's own."""
    monkeypatch.setattr(progress_module, "notes_folder", lambda: tmp_path / "notes")
    (tmp_path / "checkpoint").mkdir()
    return tmp_path / "checkpoint"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on by itself: 10 seconds from look to look."""
    now = [1000.0]

    def time() -> float:
        now[0] += 10
        return now[0]

    monkeypatch.setattr(progress_module.time, "time", time)
    return now


def started(folder: Path, query: str | None = None) -> ProgressFile:
    return ProgressFile(str(folder / FILE), query, STEPS)


def test_sums_totals_and_what_is_held(folder: Path) -> None:
    """Bucket 0 has no work in the second micro-batch, and still holds what it held."""
    file = started(folder)
    first = [bucket(0, events=10, keys=3, waiting=2, open=opened(Trip={1: 3}, Lost={}))]
    first.append(bucket(1, events=5, keys=1, open=opened(Trip={1: 1, 2: 1}, Lost={1: 4})))
    file.write(0, 1.0, {("match", "Trip"): 2, ("metrics", ""): 2}, first)
    second = [bucket(1, events=7, too_late=1, keys=2, open=opened(Trip={1: 2}, Lost={1: 1}))]
    file.write(1, 2.0, {("match", "Lost"): 1, ("dead_letter", ""): 1, ("timeout", "Trip"): 1}, second)
    one, two = read_lines(folder / FILE)
    assert (one["events"], two["events"], two["totals"]["events"]) == (15, 7, 22)
    assert (two["too_late"], two["dead_letters"], two["totals"]["dead_letters"]) == (1, 1, 1)
    assert two["matches"] == {"Lost": 1}
    assert two["totals"]["matches"] == {"Trip": 2, "Lost": 1}
    assert two["totals"]["timeouts"] == {"Trip": 1}
    assert one["open"] == {"Trip": {"l": 4, "d": 1}, "Lost": {"l": 4}}
    assert two["open"] == {"Trip": {"l": 5}, "Lost": {"l": 1}}
    assert (one["keys"], two["keys"], two["waiting"]) == (4, 5, 2)


def test_units_of_a_program_have_buckets_of_the_same_numbers(folder: Path) -> None:
    file = started(folder)
    trip, lost = opened(Trip={1: 3}), opened(Lost={1: 4})
    file.write(0, 1.0, {}, [bucket(0, keys=3, open=trip), bucket(0, keys=4, open=lost)])
    file.write(1, 1.0, {}, [bucket(0, keys=1, open=opened(Trip={1: 1}))])
    (_, two) = read_lines(folder / FILE)
    assert two["keys"] == 5
    assert two["open"] == {"Trip": {"l": 1}, "Lost": {"l": 4}}


def test_a_batch_that_comes_again_counts_once(folder: Path) -> None:
    """The process died after it wrote batch 1; the next start is given batch 1 again, then batch 2."""
    file = started(folder)
    for number in (0, 1):
        file.write(number, 1.0, {("match", "Trip"): 2}, [bucket(events=10)])
    again = started(folder)
    for number in (1, 2):
        again.write(number, 1.0, {("match", "Trip"): 3}, [bucket(events=11)])
    lines = read_lines(folder / FILE)
    assert [line["batch"] for line in lines] == [0, 1, 2]
    assert lines[-1]["totals"]["events"] == 10 + 11 + 11
    assert lines[-1]["totals"]["matches"] == {"Trip": 2 + 3 + 3}


def test_open_runs_that_nobody_counted(folder: Path) -> None:
    file = started(folder)
    file.write(0, 1.0, {}, [bucket(0, open=opened(Trip=None)), bucket(1, open=opened(Trip={1: 2}))])
    assert read_lines(folder / FILE)[0]["open"] == {"Trip": None, "Lost": {}}
    assert "not known" in watch(str(folder), "--once").stdout


def test_the_file_does_not_grow_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "_MOST_BYTES", 2000)
    file = started(folder)
    for number in range(50):
        file.write(number, 1.0, {}, [bucket(events=1)])
    assert (folder / FILE).stat().st_size + old_file(folder / FILE).stat().st_size < 6000
    lines = read_lines(folder / FILE)
    numbers = [line["batch"] for line in lines]
    assert numbers == list(range(numbers[0], 50))
    assert lines[-1]["totals"]["events"] == 50  # although the first lines are gone
    assert "Micro-batches before the first" in " ".join(stream_report(lines, folder / FILE).unknown)


def test_a_line_that_is_being_written_is_left_out(folder: Path) -> None:
    started(folder).write(0, 1.0, {}, [bucket(events=1)])
    with (folder / FILE).open("a") as file:
        file.write('{"at": 12, "bat')
    assert len(read_lines(folder / FILE)) == 1


def test_trouble_with_the_file_is_none_of_the_query(folder: Path, tmp_path: Path) -> None:
    """A folder on another file system is left alone; a place that cannot be written is told of once."""
    elsewhere = ProgressFile(str(tmp_path / "nowhere" / FILE), None, STEPS)
    elsewhere.write(0, 1.0, {}, [])
    assert not (tmp_path / "nowhere").exists()
    (folder / FILE).mkdir()
    file = started(folder)
    with pytest.warns(CepheidWarning, match="cannot be written"):
        file.write(0, 1.0, {}, [])
    file.write(1, 1.0, {}, [])


@pytest.mark.parametrize(
    ("checkpoint", "path"),
    [
        ("/data/c", f"/data/c/{FILE}"),
        ("file:///data/my%20c", f"/data/my c/{FILE}"),
        ("file:/data/c", f"/data/c/{FILE}"),
        ("hdfs://host/c", None),
        ("s3a://bucket/c", None),
    ],
)
def test_where_it_lies(checkpoint: str, path: str | None) -> None:
    assert progress_path(checkpoint) == path


# --- watching ------------------------------------------------------------------------------------------------


def watch(*args: str) -> Result:
    return CliRunner().invoke(main, ["watch", *args], env={"COLUMNS": "120"})


def test_rates_lag_and_age(folder: Path, clock: list[float]) -> None:
    """The clock is at 1010 when it starts. Lines at 1020 and 1030, then somebody looks at 1045."""
    file = started(folder, "parcels")
    file.write(0, 2.0, {}, [bucket(events=10)])
    file.write(1, 2.0, {}, [bucket(events=40, watermark="1970-01-01T00:16:40.000Z")])
    lines = read_lines(folder / FILE)
    assert [line["at"] for line in lines] == [1020, 1030]
    assert rates_of(lines) == [5.0, 4.0]  # 10 in the 2 seconds it took, 40 in the 10 since then
    view = view_of(lines, 1045.0)
    assert (view.age, view.watermark, view.lag) == (15.0, 1000.0, 45.0)
    assert view.rate == 50 / 12  # from the beginning of the first
    assert (view.events, view.batch, view.running) == (50, 1, True)


def test_a_pause_between_two_starts_is_no_work(folder: Path, clock: list[float]) -> None:
    started(folder).write(0, 2.0, {}, [bucket(events=10)])
    clock[0] += 100_000
    started(folder).write(1, 4.0, {}, [bucket(events=10)])
    lines = read_lines(folder / FILE)
    assert rates_of(lines) == [5.0, 2.5]
    assert view_of(lines, clock[0]).rate == 2.5


def test_once(folder: Path) -> None:
    file = started(folder, "parcels")
    held = [bucket(events=12, keys=3, waiting=2, too_late=1, open=opened(Trip={1: 3, 2: 1}, Lost={}))]
    file.write(0, 0.5, {("match", "Trip"): 2, ("dead_letter", ""): 1}, held)
    for place in (str(folder), str(folder / FILE), "parcels"):
        shown = watch(place, "--once")
        assert shown.exit_code == 0, shown.output
        lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
        assert lines[0].startswith("parcels running")
        assert "Trip 2 +2 0 l 3 d 1" in lines
        assert "Lost 0 +0 0 none" in lines
        assert "dead letters 1" in lines
        assert "late 0 matched late, 1 too late" in lines
        assert "state 3 keys with open runs, 2 events wait for the watermark" in lines
        assert any(line.startswith("events 12, 24.0 a second") for line in lines)


def test_json(folder: Path) -> None:
    started(folder).write(0, 0.5, {("match", "Trip"): 2}, [bucket(events=12, open=opened(Trip={1: 3}))])
    view = json.loads(watch(str(folder), "--format", "json").stdout)
    assert view["events"] == 12
    assert view["streams"][0] == {
        "name": "Trip",
        "matches": 2,
        "last_matches": 2,
        "timeouts": 0,
        "open": {"l": 3},
    }
    assert view["pid"] == os.getpid()


def test_a_query_whose_process_is_gone(folder: Path) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    started(folder).write(0, 0.5, {}, [])
    (line,) = read_lines(folder / FILE)
    (folder / FILE).write_text(json.dumps({**line, "pid": done.pid}) + "\n")
    assert "ended: its process is gone" in watch(str(folder), "--once").stdout
    (folder / FILE).write_text(json.dumps({**line, "host": f"not-{socket.gethostname()}"}) + "\n")
    assert f"on not-{socket.gethostname()}" in watch(str(folder), "--once").stdout


def test_live_until_ctrl_c(folder: Path) -> None:
    """On a terminal: what is written while it is drawn is seen, and Ctrl-C ends it without a word."""
    file = started(folder, "parcels")
    file.write(0, 0.5, {}, [bucket(events=11)])
    screen, terminal = os.openpty()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-m", "cepheid", "watch", str(folder), "--every", "0.1"]
    live = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=env)
    os.close(terminal)
    try:
        read_until(screen, "11, ")
        file.write(1, 0.5, {}, [bucket(events=22)])
        read_until(screen, "33, ")
    finally:
        live.send_signal(signal.SIGINT)
        code = live.wait(60)
        os.close(screen)
    assert code == 0


def read_until(screen: int, wanted: str) -> None:
    shown, end = "", time.monotonic() + 60
    while wanted not in shown:
        assert time.monotonic() < end, shown
        shown += os.read(screen, 65536).decode(errors="replace")


def test_nothing_to_watch(folder: Path) -> None:
    empty = watch(str(folder))
    assert empty.exit_code == 1
    assert f"has no {FILE}" in empty.stderr
    other = folder / "events.jsonl"
    other.write_text('{"type": "A", "time": 1}\n')
    assert "is not what a stream writes" in watch(str(other)).stderr
    forgotten = CliRunner().invoke(main, ["report", "fraud.cep"])
    assert "Two arguments are needed: FILE.cep and EVENTS" in forgotten.stderr
    started(folder, "parcels").write(0, 0.5, {}, [])
    wrong = watch("parcel")
    assert wrong.exit_code == 1
    assert "did you mean `parcels`?" in wrong.stderr
