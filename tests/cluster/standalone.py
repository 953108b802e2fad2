"""A standalone cluster on loopback: a master and two workers of one core each."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
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
        _wait_for(page, "Alive Workers", 0)
        for number in range(workers):
            room = folder / f"worker-{number}"
            more = ["--host", HOST, "-c", "1", "-m", "1500m", "-d", str(room), "--webui-port", "0", master]
            log = folder / f"worker-{number}.log"
            stack.enter_context(_java(spark, log, environment, _WORKER, *more))
        _wait_for(page, "Alive Workers", workers)
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


def _wait_for(page: int, words: str, count: int) -> None:
    """The master's page says how many workers it has."""
    end = time.monotonic() + 60
    while True:
        text = _page(page)
        if f"{words}:</strong> {count}" in " ".join(text.split()):
            return
        assert time.monotonic() < end, f"no {count} workers: {text[:2000]}"
        time.sleep(0.2)


def _page(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/", timeout=5) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, OSError):
        return ""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])
