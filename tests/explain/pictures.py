"""What a terminal shows, as a picture for the documents."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.text import Text


def terminal_picture(output: str, title: str, name: str) -> str:
    """An SVG of coloured output. It asks for no font from elsewhere; `name` keeps its styles apart from others'."""
    text = Text.from_ansi(output)
    width = max(line.cell_len for line in text.split("\n"))
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="standard"
    )
    console.print(text)
    svg = console.export_svg(title=title, unique_id=name)
    without_fonts = re.sub(r"\s*@font-face \{.*?\}\n", "\n", svg, flags=re.DOTALL)
    return without_fonts.replace("Fira Code", "Fira Code, Menlo, Consolas, DejaVu Sans Mono")
