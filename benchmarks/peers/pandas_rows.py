"""SQL's MATCH_RECOGNIZE on pandas, by the package pandas-match-recognize, in a process of its own.

The package wants an older pandas than the project has, so it lives in a folder of its own. It works on a frame that is
there: reading the events and leaving out the types that a question does not name is not in its time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from peers.asking import Answer, NotHere, Peer, Runs
from peers.data import Dataset
from peers.getting import pip_folder
from peers.queries import Query

_WORKER = Path(__file__).with_name("_pandas_rows_worker.py")
_TIMES = re.compile(r"seconds (\S+) startup (\S+)")
_GAPS = "another answer where DEFINE compares with an earlier variable across `X*`: at 20,000 events {} of {} matches"


def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
    folder = pip_folder("pandas-match-recognize", runs.build, ["pandas-match-recognize==0.2.5"])
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "matches.bin"
        arguments = [query.name, str(runs.warm.flat), str(data.flat), str(out), str(runs.repeat)]
        environment = {**os.environ, "PYTHONPATH": str(folder.resolve())}
        command = [sys.executable, str(_WORKER), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        times = _TIMES.search(done.stdout)
        if done.returncode or times is None:
            raise NotHere(f"pandas-match-recognize failed: {done.stderr.strip()[-1500:]}")
        rows = np.fromfile(out, "<i8").reshape(-1, query.columns)
    return Answer(rows, float(times[1]), float(times[2]))


PEER = Peer(
    "pandas-mr",
    "pandas-match-recognize, a frame that is there, one process",
    ask,
    at_most=200_000,
    cannot={
        "sequence": _GAPS.format(4, 27),
        "absence": _GAPS.format(86, 351),
        "correlation": "MATCH_RECOGNIZE gives at most one match for each first row, not every combination",
    },
)
