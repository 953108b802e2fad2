"""Tests here import each other's helpers by plain name, and share a browser."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Playwright's own Chromium, or one that the machine has (CEPHEID_CHROMIUM, chromium, google-chrome)."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright (pip install playwright)"
    )
    found = os.environ.get("CEPHEID_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    with playwright.sync_playwright() as started:
        try:
            opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except playwright.Error as failure:
            pytest.skip(f"no Chromium to be started here: {str(failure).splitlines()[0]}")
        yield opened
        opened.close()
