"""Engines in Java: our small programs under `java/`, compiled here, one process a question.

Each reads the flat file, keeps the matches in memory while the clock runs and writes them to a file afterwards.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from peers.asking import Answer, Ask, NotHere, Peer, Runs
from peers.data import Dataset
from peers.getting import compiled, flink_jars, maven_jars
from peers.queries import Query

Jars = Callable[[Path], list[Path]]
_OPENED = [
    f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.util", "java.time", "java.nio")
]
_TIMES = re.compile(r"seconds (\S+) startup (\S+)")


def asking(name: str, program: str, jars: Jars) -> Ask:
    """How a Java program is asked."""

    def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
        if shutil.which("java") is None:
            raise NotHere("there is no java on this machine")
        libraries = jars(runs.build)
        path = ":".join(map(str, [compiled(name, libraries, runs.build), *libraries]))
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "matches.bin"
            files = [str(runs.warm.flat), str(data.flat), str(out)]
            command = ["java", "-Xmx6g", *_OPENED, "-cp", path, program, query.name, *files, str(runs.repeat)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
            times = _TIMES.search(done.stdout)
            if done.returncode or times is None:
                raise NotHere(f"{program} failed: {(done.stderr or done.stdout).strip()[-1500:]}")
            rows = np.fromfile(out, "<i8").reshape(-1, query.columns)
        return Answer(rows, float(times[1]), float(times[2]))

    return ask


FLINK = Peer("flink", "Flink CEP, flat file, 2 tasks", asking("flink", "FlinkPeer", flink_jars))
ESPER = Peer(
    "esper",
    "Esper, flat file, one thread",
    asking("esper", "EsperPeer", lambda build: maven_jars("esper", build)),
)
SIDDHI = Peer(
    "siddhi",
    "Siddhi, flat file, one thread",
    asking("siddhi", "SiddhiPeer", lambda build: maven_jars("siddhi", build)),
    cannot={
        "brute_force": "an open sequence keeps newer starts out, so failures too old for the window hide the later ones",
        "correlation": "a run takes the first event that fits and does not fork",
    },
    fewer={"absence": 200_000},
)
