"""A real Kafka broker of one node, started from its Maven jars in KRaft mode, on loopback only."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
JARS = HERE.parents[1] / "build" / "kafka"


@dataclass(frozen=True)
class Kafka:
    """Where the broker listens, and the jars Spark needs to talk to it."""

    servers: str
    jars: str


def jars(profile: str) -> list[Path]:
    """The jars of a profile of pom.xml, fetched once."""
    folder = JARS / profile
    if not folder.is_dir():
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(HERE / "pom.xml"),
            f"-P{profile}",
            "dependency:copy-dependencies",
        ]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"mvn could not fetch the jars of {profile}: {done.stdout[-2000:]}")
    return sorted(folder.glob("*.jar"))


@contextmanager
def running(folder: Path) -> Iterator[Kafka]:
    for tool in ("mvn", "java"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}, which fetches or runs the broker")
    connector = ",".join(map(str, jars("connector")))
    path = ":".join(map(str, jars("broker")))
    port = free_port()
    settings = folder / "server.properties"
    settings.write_text(properties(port, free_port(), folder / "log"))
    identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    java = ["java", "-Xmx512m", "-cp", path]
    made = [*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)]
    subprocess.run(made, check=True, capture_output=True, timeout=120)
    with (folder / "broker.txt").open("w") as log:
        broker = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        wait_for(port, broker)
        yield Kafka(f"127.0.0.1:{port}", connector)
    finally:
        broker.terminate()
        broker.wait(60)


def properties(port: int, controller: int, log: Path) -> str:
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={log}
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, broker: subprocess.Popen[bytes], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert broker.poll() is None, "the broker ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"the broker does not listen after {seconds} s")
