"""The command line as its users meet it: what is printed where, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from cepheid import __version__
from cepheid.cli import main, running, summary
from cepheid.engines.local.run import Job
from cepheid.engines.options import Options

QUERY = """\
stream Pair = A as a -> B[v > a.v] as b .within(10s) .partition_by(k) .emit(k: a.k, v: b.v)
stream Big = Pair[v > 6] as p .emit(k: p.k)
"""
EVENTS = [
    {"type": "A", "time": 1, "v": 1, "k": "x"},
    {"type": "B", "time": 2, "v": 5, "k": "x"},
    {"type": "A", "time": 3, "v": 2, "k": "y"},
    {"type": "B", "time": 4, "v": 7, "k": "y"},
]
PAIRS = [{"k": "x", "v": 5}, {"k": "y", "v": 7}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CEPHEID_DEBUG", raising=False)
    monkeypatch.setenv(
        "PYTHONPATH", str(Path(running.__file__).parents[2])
    )  # for processes started elsewhere
    (tmp_path / "q.cep").write_text(QUERY)
    write_events("events.jsonl", EVENTS)
    return tmp_path


def write_events(name: str, events: list[Any]) -> None:
    Path(name).write_text("".join((e if isinstance(e, str) else json.dumps(e)) + "\n" for e in events))


def cepheid(*args: str, input: str | None = None) -> Result:
    result = CliRunner().invoke(main, list(args), input=input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def process(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cepheid", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --- formats ------------------------------------------------------------------------------------------------


def test_tables_have_a_title_and_a_count_for_every_stream(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl")
    assert result.exit_code == 0
    assert "Pair  2 matches" in result.stdout
    assert "Big  1 match\n" in result.stdout
    assert [line.split() for line in result.stdout.splitlines()[1:5]][2:] == [["x", "5"], ["y", "7"]]


def test_summary_is_on_stderr(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl")
    assert "4 events in" in result.stderr
    assert "events/s" in result.stderr
    assert "matches: Pair 2, Big 1" in result.stderr
    assert cepheid("run", "q.cep", "events.jsonl", "--quiet").stderr == ""


def test_json_of_several_streams_names_the_stream(folder: Path) -> None:
    rows = objects(cepheid("run", "q.cep", "events.jsonl", "--format", "json").stdout)
    assert [r for r in rows if r["stream"] == "Pair"] == [{"stream": "Pair", **row} for row in PAIRS]
    assert [r for r in rows if r["stream"] == "Big"] == [{"stream": "Big", "k": "y"}]


def test_json_of_one_stream_is_its_rows(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--format", "json", "--stream", "Pair")
    assert objects(result.stdout) == PAIRS


def test_csv(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--format", "csv", "--stream", "Pair")
    assert result.stdout == "k,v\nx,5\ny,7\n"


def test_csv_of_several_streams_is_a_file_each(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--format", "csv", "--out", "found")
    assert result.exit_code == 0
    with Path("found/Pair.csv").open() as file:
        assert list(csv.DictReader(file)) == [{"k": "x", "v": "5"}, {"k": "y", "v": "7"}]
    assert Path("found/Big.csv").read_text() == "k\ny\n"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_several_streams_do_not_fit_into_one_file(folder: Path, format: str) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--format", format)
    assert result.exit_code == 2
    assert "--stream" in result.stderr
    assert "Pair, Big" in result.stderr


def test_parquet(folder: Path) -> None:
    args = ("run", "q.cep", "events.jsonl", "--format", "parquet", "--out")
    assert cepheid(*args, "pair.parquet", "--stream", "Pair").exit_code == 0
    assert pq.read_table("pair.parquet").to_pylist() == PAIRS
    assert cepheid(*args, "all").exit_code == 0
    assert pq.read_table("all/Big.parquet").to_pylist() == [{"k": "y"}]


def test_a_table_of_whole_events_shows_their_fields(folder: Path) -> None:
    result = cepheid("run", "-e", "A as a -> all B as b .longest()", "events.jsonl")
    assert "v=1 k=x" in result.stdout


def test_limit_shows_fewer_rows_and_says_so(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--limit", "1")
    assert "Pair  2 matches" in result.stdout
    assert "... 1 more" in result.stdout
    rows = cepheid("run", "q.cep", "events.jsonl", "--limit", "1", "--format", "json", "--stream", "Pair")
    assert objects(rows.stdout) == PAIRS[:1]
    assert "Pair 2" in rows.stderr


def test_out_writes_a_table_to_a_file(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--out", "found.txt")
    assert result.stdout == ""
    assert "Pair  2 matches" in Path("found.txt").read_text()


def test_report(folder: Path) -> None:
    assert cepheid("run", "q.cep", "events.jsonl", "--report", "sub/r.html").exit_code == 0
    page = Path("sub/r.html").read_text()
    assert "<h2>Pair</h2>" in page
    assert "stream Big = Pair[v &gt; 6]" in page


def test_report_as_a_command_of_its_own(folder: Path) -> None:
    """The page that `run --report` writes, but for how long it took."""
    assert cepheid("run", "q.cep", "events.jsonl", "--report", "r.html").exit_code == 0
    result = cepheid("report", "q.cep", "events.jsonl", "--out", "sub/own.html")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "wrote sub/own.html" in result.stderr
    pages = [re.sub(r"<b>[\d.,]+</b><span>(seconds|events a second)", "", Path(p).read_text()) for p in PAGES]
    assert pages[0] == pages[1]
    assert "How far runs came" in pages[0]
    titled = cepheid("report", "-e", "A as a -> B as b", "events.jsonl", "--title", "Mine", "--quiet")
    assert titled.stderr == ""
    assert "<h1>Mine</h1>" in Path("report.html").read_text()


PAGES = ("r.html", "sub/own.html")


# --- input --------------------------------------------------------------------------------------------------


def test_stdin(folder: Path) -> None:
    text = Path("events.jsonl").read_text()
    result = cepheid("run", "q.cep", "-", "--format", "json", "--stream", "Pair", input=text)
    assert objects(result.stdout) == PAIRS


def test_a_bare_pattern_instead_of_a_file(folder: Path) -> None:
    result = cepheid(
        "run", "-e", "A as a -> B as b .within(1s) .emit(v: b.v)", "events.jsonl", "--format", "json"
    )
    assert objects(result.stdout) == [{"v": 5}, {"v": 7}]


def test_a_pattern_of_files(folder: Path) -> None:
    write_events("events2.jsonl", [{"type": "B", "time": 5, "v": 9, "k": "x"}])
    result = cepheid("run", "q.cep", "events*.jsonl", "--format", "json", "--stream", "Pair")
    assert objects(result.stdout) == [*PAIRS, {"k": "x", "v": 9}]


def test_columns_have_other_names(folder: Path) -> None:
    Path("e.csv").write_text("what,ts,n\nA,1000,2\nB,1500,1\nB,1500,2\n")
    args = ("-e", "A as a -> next B as b .emit(n: b.n)", "e.csv", "--format", "json")
    result = cepheid("run", *args, "--time", "ts", "--type", "what", "--order", "n", "--time-unit", "ms")
    assert objects(result.stdout) == [{"n": 1}]


def test_partition_by_and_now(folder: Path) -> None:
    query = "A as a -> NOT B within 10s .emit(k: a.k)"
    args = ("run", "-e", query, "events.jsonl", "--format", "json", "--partition-by", "k")
    write_events("events.jsonl", [{"type": "A", "time": 1, "k": "x"}, {"type": "B", "time": 2, "k": "y"}])
    pending = cepheid(*args)
    assert pending.stdout == ""
    assert "pending (not certain when the input ended): matches 1" in pending.stderr
    assert objects(cepheid(*args, "--now", "12").stdout) == [{"k": "x"}]
    assert objects(cepheid(*args, "--now", "1970-01-01T00:00:12Z").stdout) == [{"k": "x"}]


def test_a_field_no_event_had_is_a_warning(folder: Path) -> None:
    result = cepheid("run", "-e", "A as a -> B[w > a.v] as b", "events.jsonl")
    assert result.exit_code == 0
    assert "warning: no event of type `B` had the field `w`" in result.stderr


# --- order of the input -------------------------------------------------------------------------------------

SHUFFLED = [EVENTS[0], EVENTS[2], EVENTS[1], EVENTS[3]]
ONE = ("q.cep", "events.jsonl", "--format", "json", "--stream", "Pair")


def test_a_small_file_is_sorted(folder: Path) -> None:
    write_events("events.jsonl", SHUFFLED)
    assert objects(cepheid("run", *ONE).stdout) == PAIRS


@pytest.mark.parametrize("how", [["--no-sort"], ["--disorder", "500ms"], ["--late", "fail"]])
def test_out_of_order_fails_and_names_the_ways_out(folder: Path, how: list[str]) -> None:
    write_events("events.jsonl", SHUFFLED)
    result = cepheid("run", *ONE, *how)
    assert result.exit_code == 1
    assert "an event came too late: B at 1970-01-01T00:00:02Z" in result.stderr
    assert "--disorder" in result.stderr
    assert "--sort" in result.stderr


def test_disorder_waits(folder: Path) -> None:
    write_events("events.jsonl", SHUFFLED)
    result = cepheid("run", *ONE, "--disorder", "1s")
    assert objects(result.stdout) == PAIRS
    assert "late" not in result.stderr


def test_lateness_still_matches(folder: Path) -> None:
    write_events("events.jsonl", SHUFFLED)
    result = cepheid("run", *ONE, "--lateness", "5s")
    assert objects(result.stdout) == PAIRS
    assert "late: 1 event, matched as they came" in result.stderr


def test_late_drop(folder: Path) -> None:
    write_events("events.jsonl", SHUFFLED)
    result = cepheid("run", *ONE, "--late", "drop")
    assert objects(result.stdout) == PAIRS[1:]
    assert "too late: 1 event, dropped" in result.stderr


def test_dead_letters(folder: Path) -> None:
    write_events("events.jsonl", SHUFFLED)
    result = cepheid("run", *ONE, "--dead-letters", "dead.jsonl")
    assert objects(result.stdout) == PAIRS[1:]
    (letter,) = objects(Path("dead.jsonl").read_text())
    assert (letter["type"], letter["v"]) == ("B", 5)
    assert "1s behind the watermark" in letter["reason"]
    on_screen = cepheid("run", *ONE, "--late", "dead-letter")
    assert 'dead letter: {"type": "B"' in on_screen.stderr


def test_a_big_file_is_streamed_and_that_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SORTED_UP_TO", 10)
    result = cepheid("run", *ONE)
    assert objects(result.stdout) == PAIRS
    assert "events are taken in the order of the file" in result.stderr
    write_events("events.jsonl", SHUFFLED)
    assert cepheid("run", *ONE).exit_code == 1
    assert objects(cepheid("run", *ONE, "--sort").stdout) == PAIRS


@pytest.mark.parametrize(
    "args",
    [
        ["--sort", "--disorder", "1s"],
        ["--late", "drop", "--dead-letters", "x"],
        ["--bad-rows", "skip", "--bad-rows-out", "x"],
        ["--late", "maybe"],
        ["--engine", "quantum"],
        ["--format", "xml"],
        ["--limit", "-1"],
    ],
)
def test_contradictions_are_usage_errors(folder: Path, args: list[str]) -> None:
    assert cepheid("run", "q.cep", "events.jsonl", *args).exit_code == 2


# --- bad rows -----------------------------------------------------------------------------------------------


@pytest.fixture
def broken(folder: Path) -> Path:
    write_events("events.jsonl", [*EVENTS[:2], "{oops", {"type": "A", "v": 1}, *EVENTS[2:]])
    return folder


def test_bad_rows_fail(broken: Path) -> None:
    result = cepheid("run", *ONE)
    assert result.exit_code == 1
    assert "events.jsonl, line 3: not JSON" in result.stderr
    assert "{oops" in result.stderr
    assert "--bad-rows" in result.stderr


def test_bad_rows_skip(broken: Path) -> None:
    result = cepheid("run", *ONE, "--bad-rows", "skip")
    assert objects(result.stdout) == PAIRS
    assert "bad rows: 2" in result.stderr
    assert "events.jsonl, line 3: not JSON" in result.stderr
    assert "events.jsonl, line 4: there is no time column" in result.stderr


def test_bad_rows_dead_letter(broken: Path) -> None:
    result = cepheid("run", *ONE, "--bad-rows", "dead-letter", "--bad-rows-out", "bad.jsonl")
    assert objects(result.stdout) == PAIRS
    rows = objects(Path("bad.jsonl").read_text())
    assert [(r["source"], r["line"]) for r in rows] == [("events.jsonl", 3), ("events.jsonl", 4)]
    assert rows[0]["text"] == "{oops"
    on_screen = cepheid("run", *ONE, "--bad-rows", "dead-letter")
    assert '"line": 3' in on_screen.stderr


# --- trace --------------------------------------------------------------------------------------------------


def test_trace_shows_every_turn_of_a_life(folder: Path) -> None:
    query = "A as a -> NOT X -> B as b .within(10s) .partition_by(k) .stnm()"
    write_events(
        "events.jsonl",
        [
            {"type": "A", "time": 1, "k": "x"},
            {"type": "B", "time": 2, "k": "x"},
            {"type": "A", "time": 3, "k": "y"},
            {"type": "X", "time": 4, "k": "y"},
            {"type": "A", "time": 5, "k": "z"},
            {"type": "B", "time": 50, "k": "z"},
        ],
    )
    lines = cepheid("run", "-e", query, "events.jsonl", "--trace", "--quiet").stderr.splitlines()
    told = [line.split("  ")[1:3] for line in lines]
    assert [t[1].split()[0] for t in told] == [
        "started",
        "advanced",
        "completed",
        "started",
        "negated",
        "started",
        "expired",
    ]
    assert told[0][0] == "matches k=x run 1"
    assert lines[4] == "1970-01-01 00:00:04  matches k=y run 1  negated   X(k=y) violates NOT X  [A@00:00:03]"


def test_trace_shows_forks_and_follows_time_through_all_streams(folder: Path) -> None:
    lines = cepheid("run", "q.cep", "events.jsonl", "--trace", "--quiet").stderr.splitlines()
    assert any("forked" in line and "a copy waits on" in line for line in lines)
    times = [line[:19] for line in lines if "Pair" in line or "Big" in line]
    first_big = next(i for i, line in enumerate(lines) if "  Big " in line)
    assert times[first_big] == "1970-01-01 00:00:04"


def test_trace_goes_to_stdout_when_matches_go_to_a_file(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--trace", "--out", "found.txt")
    assert "started" in result.stdout
    assert "started" not in result.stderr


def test_trace_of_one_stream(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--trace", "--stream", "Big", "--quiet")
    assert "Big run 1  started   Pair(k=y v=7)" in result.stderr
    assert "  Pair " not in result.stderr


# --- mistakes -----------------------------------------------------------------------------------------------


def test_a_broken_query_shows_its_place(folder: Path) -> None:
    Path("q.cep").write_text("stream S = A as a -> B[v > c.v] as b\n")
    result = cepheid("run", "q.cep", "events.jsonl")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: q.cep, line 1, column 28: ")
    assert "^^^" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_an_unknown_stream(folder: Path) -> None:
    result = cepheid("run", "q.cep", "events.jsonl", "--stream", "Pear")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: there is no stream `Pear`\n  hint: did you mean `Pair`?\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "nope.cep", "events.jsonl"], "there is no file nope.cep"),
        (["run", "q.cep", "nope.jsonl"], "there is no file nope.jsonl"),
        (["run", "q.cep", "events.jsonl", "--out", "no/such/dir.txt"], "cannot write no/such/dir.txt"),
        (["run", "q.cep", "events.jsonl", "--out", "events.jsonl"], "--out would overwrite the events"),
        (["run", "q.cep", "events.jsonl", "--disorder", "5 parsecs"], "`parsecs` is not a unit of time"),
        (["run", "q.cep", "events.jsonl", "--now", "noon"], "'noon' is not a time"),
        (["run", "q.cep", "events.jsonl", "--time", "ts"], "there is no time column `ts`"),
        (["check", "nope.cep"], "there is no file nope.cep"),
        (["explain", "q.cep", "--stream", "S"], "there is no stream `S`"),
    ],
)
def test_a_users_mistake_is_one_message(folder: Path, args: list[str], message: str) -> None:
    result = cepheid(*args)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("error") == 1


@pytest.mark.parametrize(
    "args", [["run"], ["run", "q.cep"], ["run", "-e", "A", "x", "y"], ["fly"], ["run", "--fly"]]
)
def test_usage_errors(folder: Path, args: list[str]) -> None:
    assert cepheid(*args).exit_code == 2


def test_a_surprise_asks_to_be_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(running, "_streamed", fail)
    result = cepheid("run", "q.cep", "events.jsonl")
    assert result.exit_code == 1
    assert "RuntimeError: boom" in result.stderr
    assert "report" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in cepheid("--debug", "run", "q.cep", "events.jsonl").stderr


# --- check, explain, the rest -------------------------------------------------------------------------------


def test_check(folder: Path) -> None:
    result = cepheid("check", "q.cep")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "ok: 2 streams",
        "  Pair: reads A, B; gives k, v",
        "  Big: reads Pair; gives k",
    ]


def test_check_against_events(folder: Path) -> None:
    assert cepheid("check", "q.cep", "--schema", "events.jsonl").exit_code == 0
    Path("q.cep").write_text("stream S = A as a -> B[amount > a.v] as b .within(1s)")
    assert cepheid("check", "q.cep").exit_code == 0
    result = cepheid("check", "q.cep", "--schema", "events.jsonl")
    assert result.exit_code == 1
    assert "`B` has no field `amount`" in result.stderr
    assert "^^^" in result.stderr


def test_check_warns(folder: Path) -> None:
    Path("q.cep").write_text("stream S = A as a -> C as c .partition_by(k)")
    result = cepheid("check", "q.cep", "--schema", "events.jsonl")
    assert result.exit_code == 0
    assert "warning: there is no event of type `C` in the events" in result.stderr
    assert "warning: S: no window" in result.stderr


def test_explain(folder: Path) -> None:
    result = cepheid("explain", "q.cep")
    assert result.exit_code == 0
    assert "stream Pair, feeds Big" in result.stdout
    assert "transitions" in result.stdout
    assert "stream" not in cepheid("explain", "q.cep", "--stream", "Pair").stdout
    assert cepheid("explain", "q.cep", "--mermaid").stdout.startswith("flowchart LR")


def test_explain_with_a_rate_and_with_events(folder: Path) -> None:
    """Ten events a second for ten seconds: a hundred starts, however many keys there are."""
    shown = cepheid("explain", "q.cep", "--stream", "Pair", "--rate", "10", "--keys", "50").stdout
    assert "at 10 events/s of 50 keys" in shown
    assert "up to 100\n" in shown
    sampled = cepheid("explain", "q.cep", "--stream", "Pair", "--events", "events.jsonl").stdout
    assert "in the sample" in sampled
    assert "the reference matcher: there are few events" in sampled
    assert "in the sample" not in cepheid("explain", "q.cep", "--schema", "events.jsonl").stdout
    wrong = cepheid("explain", "q.cep", "--keys", "50")
    assert wrong.exit_code == 2
    assert "--keys says over how many keys" in wrong.stderr


def test_version_and_help(folder: Path) -> None:
    assert __version__ in cepheid("--version").stdout
    for args in (["-h"], ["run", "-h"], ["check", "--help"]):
        assert "Usage: " in cepheid(*args).stdout


def test_a_progress_bar_where_stderr_is_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    job = Job(QUERY, "events.jsonl", Options())
    with summary.progress_bar(job, wanted=True):
        list(job.steps())
    assert "matching, 4 events" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_something_moves_while_spark_works(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with summary.waiting("starting Spark"):
        pass
    assert screen.getvalue() == ""
    monkeypatch.setattr(screen, "isatty", lambda: True)
    with summary.waiting("starting Spark", wanted=False):
        pass
    assert screen.getvalue() == ""
    with summary.waiting("starting Spark"):
        pass
    assert "starting Spark" in screen.getvalue()


# --- as a process -------------------------------------------------------------------------------------------


def test_a_process_ends_with_the_right_code(folder: Path) -> None:
    ran = process("run", *ONE)
    assert (ran.returncode, objects(ran.stdout)) == (0, PAIRS)
    mistake = process("run", "-e", "A -> ", "events.jsonl")
    assert mistake.returncode == 1
    assert "Traceback" not in mistake.stderr
    assert "^" in mistake.stderr
    assert process("run", "--nonsense").returncode == 2


def test_a_closed_pipe_is_quiet(folder: Path) -> None:
    write_events("many.jsonl", [{"type": "A", "time": i} for i in range(20_000)])
    command = f"{sys.executable} -m cepheid run -e 'A as a' many.jsonl --format json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_matches_come_while_standard_input_is_open(folder: Path) -> None:
    command = [sys.executable, "-m", "cepheid", "run", *ONE[:1], "-", *ONE[2:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as live:
        assert live.stdin is not None
        assert live.stdout is not None
        live.stdin.write("".join(json.dumps(e) + "\n" for e in EVENTS))
        live.stdin.flush()
        assert json.loads(live.stdout.readline()) == PAIRS[0]  # nothing has been closed yet
        live.stdin.close()
        assert objects(live.stdout.read()) == PAIRS[1:]
        assert live.wait(30) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c(folder: Path) -> None:
    command = [sys.executable, "-m", "cepheid", "run", "q.cep", "-", "--format", "json", "--stream", "Pair"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as live:  # type: ignore[call-overload]
        live.stdin.write("".join(json.dumps(e) + "\n" for e in EVENTS))
        live.stdin.flush()
        live.stdout.readline()
        time.sleep(0.1)
        live.send_signal(signal.SIGINT)
        assert live.wait(30) == 130
        assert live.stderr.read() == "stopped\n"


def test_the_query_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.cep").write_text("stream S = A -> B")
    Path("e.csv").write_text("type,time\nA,1\nA,2\n")
    result = CliRunner().invoke(main, ["run", "e.csv", "q.cep"])
    assert result.exit_code == 2
    assert "The query comes first: q.cep e.csv" in result.output


def test_a_run_without_a_match_points_to_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.cep").write_text("stream S = A -> B")
    Path("e.csv").write_text("type,time\nA,1\nA,2\n")
    assert "nothing matched: `cepheid why-not`" in CliRunner().invoke(main, ["run", "q.cep", "e.csv"]).output
    Path("e.csv").write_text("type,time\nA,1\nB,2\n")
    assert "why-not" not in CliRunner().invoke(main, ["run", "q.cep", "e.csv"]).output
