"""The notebooks run from top to bottom, and show what is committed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="needs the extra notebooks (pip install 'cepheid[notebooks]')")
pytest.importorskip("ipykernel", reason="needs the extra notebooks (pip install 'cepheid[notebooks]')")

import nbformat
from notebook_files import NOTEBOOKS, ROOT, executed, shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_shows_what_is_committed(path: Path) -> None:
    assert shown(executed(path)) == shown(nbformat.read(path, as_version=4)), "if it should: make notebooks"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_value_is_there(path: Path) -> None:
    """Committed as it was run, from top to bottom, and small."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    counts = [cell.execution_count for cell in book.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert path.stat().st_size < 50_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_links_lead_somewhere(path: Path) -> None:
    text = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert (path.parent / target).exists(), target


def test_all_are_listed() -> None:
    listed = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    assert all(f"]({path.name})" in listed for path in NOTEBOOKS)
