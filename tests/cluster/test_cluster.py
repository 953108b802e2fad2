"""A standalone cluster that knows nothing of this project: the packed environment is all its workers have."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="needs the extra spark")

from cluster_job import QUERY
from packed import PROJECT, Packed, other_python, packed
from standalone import Cluster, running

import cepheid

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

BASE = 1_700_000_000_000_000
SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("v", pa.int64()),
    ]
)


@pytest.fixture(scope="module")
def pack() -> Packed:
    return packed(PROJECT / "build" / "cluster", other_python())


@pytest.fixture
def cluster(pack: Packed, tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with running(pack.spark, folder, pack.environment()) as started:
        yield started


def events(count: int = 4000) -> list[dict[str, Any]]:
    chance = random.Random(3)
    rows = [
        {
            "type": chance.choice("ABC"),
            "time": BASE + n * 1_000_000,
            "key": f"k{chance.randrange(50)}",
            "v": chance.randrange(100),
        }
        for n in range(count)
    ]
    return [*rows, {"type": "End", "time": BASE + (count + 1000) * 1_000_000, "key": None, "v": None}]


def put(rows: list[dict[str, Any]], folder: Path, files: int = 4) -> None:
    folder.mkdir()
    size = -(-len(rows) // files)
    for n in range(files):
        file = folder / f"{n}.parquet"
        pq.write_table(pa.Table.from_pylist(rows[n * size : (n + 1) * size], SCHEMA), file)
        os.utime(file, (1_000_000 + n, 1_000_000 + n))  # Spark takes files by their age


def submit(pack: Packed, cluster: Cluster, root: Path) -> dict[str, Any]:
    """As in docs/cluster.md, from the folder in which the environment lies unpacked too."""
    settings = {
        "spark.executor.memory": "900m",
        "spark.executor.cores": "1",
        # Else the first tasks are given to the executor that came first.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }
    call = [str(pack.spark / "bin" / "spark-submit"), "--master", cluster.master]
    call += ["--archives", f"{pack.archive}#environment"]
    call += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    # A copy of the job: beside the test lies the way to the project.
    job = root / "cluster_job.py"
    job.write_text((Path(__file__).parent / "cluster_job.py").read_text())
    done = subprocess.run(
        [*call, str(job), str(root)],
        cwd=pack.home,
        env=pack.environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    told: dict[str, Any] = json.loads((root / "told.json").read_text())
    return told


def test_batch_and_stream_from_a_packed_environment(pack: Packed, cluster: Cluster, tmp_path: Path) -> None:
    rows = events()
    put(rows, tmp_path / "in")
    told = submit(pack, cluster, tmp_path)
    _only_from_the_archive(told, cluster)
    table = pa.Table.from_pylist(rows, SCHEMA)
    wanted = {
        name: Counter(r["id"] for r in _rows(cepheid.run(QUERY, table)[name])) for name in told["batch"]
    }
    assert all(len(ids) > 100 for ids in wanted.values())
    assert {name: Counter(ids) for name, ids in told["batch"].items()} == wanted
    streamed = {name: Counter(_ids(tmp_path / "matches" / name)) for name in wanted}
    assert streamed == wanted


def _only_from_the_archive(told: dict[str, Any], cluster: Cluster) -> None:
    assert told["master"] == cluster.master
    workers = told["workers"]
    assert len({w["folder"] for w in workers}) == 2, "both executors had work"
    for worker in workers:
        assert worker["folder"].startswith(str(cluster.work))
        assert worker["cepheid"].startswith(worker["folder"] + "/environment/lib/")
        for place in worker["path"].split(os.pathsep):
            assert not place.startswith((str(PROJECT / "src"), str(PROJECT / ".venv"))), worker["path"]
    assert {w["version"] for w in workers} == {told["driver"]["version"]}


def _rows(found: Any) -> list[dict[str, Any]]:
    return found.to_pylist() if isinstance(found, pa.Table) else list(found)


def _ids(folder: Path) -> list[str]:
    files = sorted(folder.glob("batch=*/*.parquet"))
    return [one for file in files for one in pq.ParquetFile(file).read(["id"])["id"].to_pylist()]
