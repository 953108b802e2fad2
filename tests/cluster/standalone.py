"""A standalone cluster on loopback: a master and two workers of one core each."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass(frozen=True)
class Cluster:
    master: str
    work: Path  # a folder for each worker; executors run in folders below


@contextmanager
def running(spark: Path, folder: Path, environment: Mapping[str, str], workers: int = 2) -> Iterator[Cluster]:
    port, page = _free_port(), _free_port()
    master = f"spark://{HOST}:{port}"
    with ExitStack() as stack:
        place = ["--host", HOST, "--port", str(port), "--webui-port", str(page)]
        stack.enter_context(_java(spark, folder / "master.log", environment, _MASTER, *place))
        _wait_for_workers(page, 0)
        for number in range(workers):
            room = folder / f"worker-{number}"
            more = ["--host", HOST, "-c", "1", "-m", "1500m", "-d", str(room), "--webui-port", "0", master]
            log = folder / f"worker-{number}.log"
            stack.enter_context(_java(spark, log, environment, _WORKER, *more))
        _wait_for_workers(page, workers)
        yield Cluster(master, folder)


@contextmanager
def _java(spark: Path, log: Path, environment: Mapping[str, str], *command: str) -> Iterator[None]:
    """spark-class becomes Java itself, so ending the process ends it. A worker takes its executors with it."""
    with log.open("wb") as out:
        call = [str(spark / "bin" / "spark-class"), *command]
        process = subprocess.Popen(call, stdout=out, stderr=out, env=dict(environment), cwd=log.parent)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_for_workers(page: int, count: int) -> None:
    end = time.monotonic() + 60
    while (seen := _workers(page)) != count:
        assert time.monotonic() < end, f"the master has {seen} workers, not {count}"
        time.sleep(0.2)


def _workers(page: int) -> int | None:
    """How many the master knows of; None while there is no master."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except OSError:
        return None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])
