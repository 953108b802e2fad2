"""Golden scenarios over Spark Connect, batch and streaming: some here, all of them in `make soak`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


def test_scenarios_over_connect() -> None:
    run_over_connect()


@pytest.mark.soak
def test_all_scenarios_over_connect() -> None:
    run_over_connect("--all")


def run_over_connect(*arguments: str) -> None:
    pytest.importorskip("grpc", reason="needs the extra connect")
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(here / "connect_main.py"), *arguments],
        capture_output=True,
        text=True,
        cwd=here,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "scenarios over Connect, 0 problems" in done.stdout
