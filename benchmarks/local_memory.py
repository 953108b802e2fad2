"""`cepheid run` over JSONL files of growing size: memory stays, time grows with the events.

    make bench        (or: .venv/bin/python benchmarks/local_memory.py)

Checks the answers first: the generator plants a known number of matches. Beside each run stands the floor measured in
the same run: one pass of `json.loads` over the same file.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (250_000, 500_000, 1_000_000)
PLANTED_EVERY = 1_000
QUERY = """
stream Takeover =
    all LoginFailed as fails -> LoginSuccess as ok -> Transfer[amount > 9000] as t
    .within(5m) .partition_by(user) .longest()
    .emit(user: ok.user, failures: count(fails), amount: t.amount)
"""


def write_events(path: Path, size: int) -> int:
    """Background noise that cannot match, and planted attacks; the number of attacks."""
    rng = random.Random(7)
    planted = 0
    with path.open("w", encoding="utf-8") as file:
        for i in range(size):
            row = {
                "type": "View",
                "time": i / 10,
                "user": f"u{rng.randrange(20_000)}",
                "page": rng.randrange(900),
            }
            attack = i % PLANTED_EVERY
            if attack in (0, 1, 2, 3):
                kind = ("LoginFailed", "LoginFailed", "LoginSuccess", "Transfer")[attack]
                row = {"type": kind, "time": i / 10, "user": f"victim{i // PLANTED_EVERY}", "amount": 9_500}
                planted += attack == 3
            elif rng.random() < 0.3:
                row["type"] = rng.choice(("LoginFailed", "LoginSuccess"))
            file.write(json.dumps(row) + "\n")
    return planted


def floor_seconds(path: Path) -> float:
    began = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.perf_counter() - began


def cepheid_run(query: Path, events: Path, out: Path) -> tuple[float, int]:
    """Seconds and the peak resident memory in MiB of one `cepheid run`."""
    command = [sys.executable, "-m", "cepheid", "run", str(query), str(events)]
    command += ["--no-sort", "--format", "json", "--out", str(out), "--quiet"]
    began = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, usage.ru_maxrss // 1024


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        query, events, out = (Path(folder) / n for n in ("query.cep", "events.jsonl", "matches.jsonl"))
        query.write_text(QUERY, encoding="utf-8")
        for size in SIZES:
            planted = write_events(events, size)
            floor = floor_seconds(events)
            seconds, peak = cepheid_run(query, events, out)
            found = sum(1 for _ in out.open(encoding="utf-8"))
            if found != planted:
                raise SystemExit(f"{size} events: {planted} attacks planted, {found} found")
            rows.append((size, planted, peak, seconds, size / seconds, seconds / floor))
    print(
        f"{'events':>10} {'matches':>8} {'peak MiB':>9} {'seconds':>8} {'events/s':>9} {'x json.loads':>13}"
    )
    for size, planted, peak, seconds, rate, ratio in rows:
        print(f"{size:>10,} {planted:>8,} {peak:>9,} {seconds:>8.1f} {rate:>9,.0f} {ratio:>13.1f}")


if __name__ == "__main__":
    main()
