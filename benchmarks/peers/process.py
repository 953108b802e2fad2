"""Engines in a process of their own: they write their matches to a file and say what time they took."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from peers.asking import Answer, Failed, Runs
from peers.data import Dataset
from peers.queries import Query

PATIENCE = 3600  # seconds
_TIMES = re.compile(r"seconds (\S+) warm_up (\S+) start (\S+)")


def flat(data: Dataset) -> Path:
    return data.flat


def asked(
    program: Sequence[str],
    query: Query,
    data: Dataset,
    runs: Runs,
    file: Callable[[Dataset], Path],
    environment: Mapping[str, str] | None = None,
) -> Answer:
    """Programs take the query, a file to warm up with, the file, where the matches go, and how often."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "matches.bin"
        command = [*program, query.name, str(file(runs.warm)), str(file(data)), str(out), str(runs.repeat)]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **(environment or {})},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {PATIENCE} seconds") from None
        times = _TIMES.search(done.stdout)
        if done.returncode or times is None:
            raise Failed((done.stderr or done.stdout).strip()[-1500:])
        rows = np.fromfile(out, "<i8").reshape(-1, query.columns)
    return Answer(rows, float(times[1]), float(times[2]), float(times[3]))
