"""Every golden scenario over Spark Connect: batch, and streaming."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


def test_scenarios_over_connect() -> None:
    pytest.importorskip("grpc", reason="needs the extra connect")
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(here / "connect_main.py")], capture_output=True, text=True, cwd=here, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "scenarios over Connect, 0 problems" in done.stdout
