"""The documentation site, without building it: every page has its place, and every picture is what is found today.

`make docs` builds it, and is strict about links and anchors.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.pictures import draw, house, semantics
from tools.site import nav, outside
from tools.site.notebook_page import notebook_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
OUTSIDE = outside.outside_pages()


def test_every_page_is_in_the_nav() -> None:
    assert nav.without_a_place(PAGES | set(OUTSIDE.values())) == set()


def test_a_page_that_no_line_takes_is_noticed(tmp_path: Path) -> None:
    order = tmp_path / "nav.yml"
    order.write_text("- One: [index.md, 'guides/*.md']\n- None: [more.md]\n", encoding="utf-8")
    pages = ["guides/b.md", "guides/a.md", "index.md", "lost.md", "guides/deep/c.md"]
    assert nav.sections(pages, order) == {"One": ["index.md", "guides/a.md", "guides/b.md"]}
    assert nav.without_a_place(pages, order) == {"lost.md", "guides/deep/c.md"}


def test_links_on_the_site() -> None:
    """From a page of docs/ to one outside, from there to docs/, and to a file that is no page."""

    def on_site(text: str, path: str, uri: str) -> str:
        return outside.with_links_of_the_site(text, path, uri, OUTSIDE)

    text = "See [how](../CONTRIBUTING.md#add-a-scenario), [here](#top) and ![this](images/demo.svg)."
    assert on_site(text, "docs/rules.md", "rules.md") == text.replace(
        "../CONTRIBUTING.md", "project/contributing.md"
    )
    assert on_site("[x](docs/spark.md)", "CONTRIBUTING.md", "project/contributing.md") == "[x](../spark.md)"
    assert (
        on_site("![p](docs/images/demo.svg)", "README.md", "project/readme.md") == "![p](../images/demo.svg)"
    )
    assert on_site("[code](../src/cepheid/errors.py)", "docs/a.md", "a.md") == "code"
    assert on_site("[gone](../lost.md)", "docs/a.md", "a.md") == "[gone](../lost.md)"
    assert on_site("```\n[x](../y)\n```", "docs/a.md", "a.md") == "```\n[x](../y)\n```"


def test_the_pages_from_outside_have_a_title() -> None:
    for path in OUTSIDE:
        assert outside.page_text(path).lstrip().startswith(("# ", "---\ntitle: ")), path


def test_a_notebook_as_a_page() -> None:
    def code(source: str, **output: object) -> dict[str, object]:
        return {"cell_type": "code", "source": [source], "outputs": [output] if output else []}

    cells = [
        {"cell_type": "markdown", "source": ["Add *up*:\n", "see [how](../docs/rules.md)."]},
        code("1 + 1", data={"text/plain": ["2"]}),
        code("show()", data={"text/plain": ["<table>"], "text/html": ["<b>\n", "  bold</b>\n"]}),
        code("print('red')", text=["\x1b[1;31mred\x1b[0m\n"]),
        code("x = 1"),
        code("plot()", data={"image/png": "aGk=\n"}),
    ]
    page = notebook_page(json.dumps({"cells": cells}), "sums")
    assert page.split("\n\n") == [
        "# sums",
        "Add *up*:\nsee [how](../docs/rules.md).",
        "```python\n1 + 1\n```",
        "```text\n2\n```",
        "```python\nshow()\n```",
        "<div>\n<b>\n  bold</b>\n</div>",
        "```python\nprint('red')\n```",
        "```text\nred\n```",
        "```python\nx = 1\n```",
        "```python\nplot()\n```",
        "![output](data:image/png;base64,aGk=)\n",
    ]


# Pictures.


def test_pictures_are_what_is_found() -> None:
    pictures = draw.drawn()
    differ = [
        name for name, svg in pictures.items() if (draw.IMAGES / name).read_text(encoding="utf-8") != svg
    ]
    assert not differ, "draw them again: python tools/pictures/draw.py"
    kept = {f"semantics/{path.name}" for path in (draw.IMAGES / "semantics").iterdir()}
    assert kept <= pictures.keys(), "these belong to no block any more"


def test_every_picture_is_shown_below_its_block() -> None:
    for path in semantics.BOOK.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^<!-- picture: ([\w-]+) -->$", text, re.MULTILINE):
            below = text.split(f"<!-- picture: {name} -->")[1].split("```")[2]
            assert below.lstrip().startswith("!["), f"{path.name}: {name}"
            assert f"](../images/semantics/{name}.svg)" in below.lstrip().splitlines()[0], (
                f"{path.name}: {name}"
            )


# The cookbook.

RECIPE = re.compile(
    r"(?P<name>.+)\n\n\*(?P<question>.+\?)\*\n\n"
    r"<!-- file: (?P<query>[\w-]+\.cep) -->\n```cep\n.+?^```\n\n"
    r"<!-- file: (?P<events>[\w-]+\.csv) -->\n```csv\n.+?^```\n\n"
    r"```console\n\$ cepheid run (?P=query) (?P=events).*?\n[^$]+?^```\n\n"
    r"(?P<remark>(?!```)[^#].+)",
    re.MULTILINE | re.DOTALL,
)
FIELDS = [path for path in sorted((DOCS / "cookbook").glob("*.md")) if path.name != "index.md"]


def _recipes(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n## ")[1:]


@pytest.mark.parametrize("path", FIELDS, ids=lambda p: p.stem)
def test_a_recipe_has_question_query_events_answer_and_remark(path: Path) -> None:
    for recipe in _recipes(path):
        assert RECIPE.fullmatch(recipe.rstrip("\n")), recipe.splitlines()[0]


def test_the_cookbook_lists_its_recipes() -> None:
    index = (DOCS / "cookbook" / "index.md").read_text(encoding="utf-8")
    found = [(path.name, recipe.splitlines()[0]) for path in FIELDS for recipe in _recipes(path)]
    assert index.split("\n\n")[1].startswith(f"{len(found)} questions")
    assert len(re.findall(r"^\| \[", index, re.MULTILINE)) == len(found) >= 25
    for file, name in found:
        assert f"| [{name}]({file}#" in index, name


# The map of the house.


def test_the_map_has_every_room() -> None:
    rooms = {path.name for path in (ROOT / "src" / "cepheid").iterdir() if (path / "__init__.py").exists()}
    on_the_map = {room for layer in house.layers() for room in layer}
    assert on_the_map == house.ROOMS.keys()
    assert rooms - {"demo"} == on_the_map - {"errors"}  # the demonstration is data and one query
    table = (DOCS / "architecture.md").read_text(encoding="utf-8").split("## The rooms")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)/?`", table, re.MULTILINE)) == on_the_map | {"demo"}
