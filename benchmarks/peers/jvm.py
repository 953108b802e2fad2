"""Engines in Java: our small programs under `java/`, compiled here, one process a question.

Each reads the flat file (Flink the Parquet file as well), keeps the matches in memory while the clock runs and writes
them to a file afterwards.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from peers.asking import Answer, Ask, NotHere, Peer, Runs
from peers.data import Dataset
from peers.getting import compiled, flink_jars, maven_jars
from peers.process import asked, flat
from peers.queries import CORRELATION, Query

Jars = Callable[[Path], list[Path]]
_OPENED = [
    f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.util", "java.time", "java.nio")
]


def asking(
    folders: Sequence[str], program: str, jars: Jars, *settings: str, file: Callable[[Dataset], Path] = flat
) -> Ask:
    """How a Java program is asked. `file`: which of the files it reads."""

    def ask(query: Query, data: Dataset, runs: Runs) -> Answer:
        if shutil.which("java") is None:
            raise NotHere("there is no java on this machine")
        libraries = jars(runs.build)
        path = ":".join(map(str, [compiled(folders, libraries, runs.build), *libraries]))
        return asked(["java", "-Xmx6g", *_OPENED, *settings, "-cp", path, program], query, data, runs, file)

    return ask


FLINK = Peer(
    "flink",
    "Flink CEP, flat file, 2 tasks",
    asking(("flink",), "FlinkPeer", flink_jars),
    # Without a key there is one task, and each event is shown to every run: more events a day are more runs too.
    fewer={CORRELATION.name: 1_000_000},
)
FLINK_PARQUET = Peer(
    "flink-parquet",
    "Flink CEP, from the Parquet file, 2 tasks",
    asking(
        ("flink", "flink-parquet"),
        "FlinkParquetPeer",
        lambda build: [*flink_jars(build), *maven_jars("flink-parquet", build)],
        file=lambda data: data.parquet,
    ),
    fewer={CORRELATION.name: 1_000_000},
)
FLINK_KEYED = Peer(
    "flink-keyed",
    "Flink CEP, with the key that the question does not name found by hand",
    asking(("flink",), "FlinkPeer", flink_jars, "-Dkeyed=true"),
    only=frozenset({CORRELATION.name}),
)
ESPER = Peer(
    "esper",
    "Esper, flat file, one thread",
    asking(("esper",), "EsperPeer", lambda build: maven_jars("esper", build)),
)
SIDDHI = Peer(
    "siddhi",
    "Siddhi, flat file, one thread",
    asking(("siddhi",), "SiddhiPeer", lambda build: maven_jars("siddhi", build)),
    at_most=1_000_000,
    cannot={"correlation": "a run takes the first event that fits and does not fork"},
    differs={
        "brute_force": "while a run is open none begins: failures too old for the window hide the later ones"
    },
    fewer={"absence": 200_000},
)
