"""Draws the pictures of the documentation that are made of what the project does: `python tools/pictures/draw.py`.

The tests look whether the files are still what this draws.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
IMAGES = ROOT / "docs" / "images"

from tools.pictures.allen import allen
from tools.pictures.house import house, ways
from tools.pictures.semantics import pictures


def drawn() -> dict[str, str]:
    """Every picture by its path under docs/images."""
    found = {"house.svg": house(), "ways.svg": ways(), "semantics/allen.svg": allen()}
    for name, svg in pictures():
        assert f"semantics/{name}.svg" not in found, f"two pictures are called {name}"
        found[f"semantics/{name}.svg"] = svg
    return found


def main() -> None:
    pictures = drawn()
    for path in (IMAGES / "semantics").glob("*.svg"):
        if f"semantics/{path.name}" not in pictures:
            path.unlink()
    for name, svg in pictures.items():
        (IMAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (IMAGES / name).write_text(svg, encoding="utf-8")
    sys.stdout.write(f"{len(pictures)} pictures in docs/images\n")


if __name__ == "__main__":
    main()
