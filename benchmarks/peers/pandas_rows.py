"""SQL's MATCH_RECOGNIZE on pandas, by the package pandas-match-recognize, in a process of its own.

The package wants an older pandas than the project has, so it lives in a folder of its own. It works on a frame that is
there: reading the events and leaving out the types that a question does not name is not in its time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from peers.asking import Answer, Peer, Runs
from peers.data import Dataset
from peers.getting import pip_folder
from peers.process import asked, flat
from peers.queries import Query

_WORKER = Path(__file__).with_name("_pandas_rows_worker.py")
_GAPS = "the package finds few of the matches of a pattern with gaps (`X*`)"


def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
    folder = pip_folder("pandas-match-recognize", runs.build, ["pandas-match-recognize==0.2.5"])
    environment = {"PYTHONPATH": str(folder.resolve())}
    return asked([sys.executable, str(_WORKER)], query, data, runs, flat, environment)


PEER = Peer(
    "pandas-mr",
    "pandas-match-recognize, a frame that is there, one process",
    ask,
    at_most=200_000,
    cannot={
        "correlation": "MATCH_RECOGNIZE gives at most one match for each first row, not every combination",
    },
    differs={"sequence": _GAPS, "absence": _GAPS},
)
