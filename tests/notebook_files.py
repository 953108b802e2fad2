"""The notebooks of `notebooks/`, executed as a reader would: each in a kernel and a folder of its own.

python tests/notebook_files.py        writes their outputs anew (make notebooks)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

import cepheid

ROOT = Path(__file__).parent.parent
# The package that runs here, and as wide a terminal everywhere.
_ENVIRONMENT = {"PYTHONPATH": str(Path(cepheid.__file__).parents[1]), "COLUMNS": "100", "PYTHONUTF8": "1"}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook with the outputs it has today. A cell that fails raises, with its traceback."""
    book = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            book,
            timeout=120,
            startup_timeout=120,  # seconds, on a machine that has other things to do
            kernel_name="python3",  # this Python
            coalesce_streams=True,  # else how a kernel cuts what is printed would be seen
            resources={"metadata": {"path": folder}},
        )
        mine = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        client.execute(env={**mine, **_ENVIRONMENT})
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # when it ran
    return book


def shown(book: Any) -> list[list[dict[str, Any]]]:
    """What each code cell shows: what it writes, and every textual form of a value."""
    return [[_shown(output) for output in cell.outputs] for cell in book.cells if cell.cell_type == "code"]


def _shown(output: Any) -> dict[str, Any]:
    if output.output_type == "stream":
        return {output.name: output.text}
    return {kind: value for kind, value in output.data.items() if kind.startswith("text/")}


def write_anew() -> None:
    for path in NOTEBOOKS:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    write_anew()
