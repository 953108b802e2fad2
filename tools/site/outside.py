"""Pages of the site that do not lie in docs/, and links between all of them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from tools.site.notebook_page import notebook_page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def outside_pages() -> dict[str, str]:
    """What the site takes from other folders: the file's path in the repository, and its address on the site."""
    pages = {name: f"project/{name.lower()}" for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")}
    for path in sorted(ROOT.glob("examples/*/README.md")):
        pages[path.relative_to(ROOT).as_posix()] = f"examples/{path.parent.name}.md"
    if (ROOT / "notebooks" / "README.md").exists():
        pages["notebooks/README.md"] = "notebooks/index.md"
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        pages[path.relative_to(ROOT).as_posix()] = f"notebooks/{path.stem}.md"
    return pages


def page_text(path: str) -> str:
    """A page from elsewhere, as Markdown."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path == "README.md":  # its heading is the project's name, as that of the front page
        return f"---\ntitle: README\n---\n{text}"
    return notebook_page(text, Path(path).stem) if path.endswith(".ipynb") else text


def with_links_of_the_site(text: str, path: str, uri: str, outside: dict[str, str]) -> str:
    """Links of the file `path`, made for the page `uri`. One to a file that is not on the site becomes plain text.

    One that leads nowhere stays, and the build complains about it.
    """

    def relinked(found: re.Match[str]) -> str:
        target = found[3]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        name, mark, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if not (ROOT / file).exists():
            return found[0]
        address = _address(file, outside)
        if address is None:
            return found[2]
        return f"{found[1]}[{found[2]}]({posixpath.relpath(address, posixpath.dirname(uri) or '.')}{mark}{anchor})"

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(relinked, part) for part in parts)


def _address(path: str, outside: dict[str, str]) -> str | None:
    if path in outside:
        return outside[path]
    inside = path.removeprefix("docs/")
    return inside if inside != path else None
