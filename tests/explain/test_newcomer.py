"""A newcomer's hour, as docs/newcomer.md tells it: commands, mistakes mended from their messages alone, pages.

With CEPHEID_SCREENSHOTS=docs/images the pictures of the documents are made anew (`make screenshots`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import doc_examples
import pytest
from click.testing import CliRunner
from in_browser import WIDE
from pictures import terminal_picture
from sybil.example import SybilFailure

from cepheid.cli import main

ROOT = Path(__file__).parents[2]
HOUR = ROOT / "docs" / "newcomer.md"
COLUMNS = ["--time", "when", "--type", "kind"]

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the hour was spent, with all it has left there."""
    folder = tmp_path_factory.mktemp("hour")
    spend_the_hour(folder)
    return folder


def spend_the_hour(folder: Path) -> None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        for example in doc_examples.examples(HOUR):
            try:
                example.evaluate()
            except SybilFailure as failure:
                pytest.fail(f"{HOUR.name}:{example.line}\n{failure.result}")
    finally:
        os.chdir(before)


def test_the_hour_is_as_it_is_told(folder: Path) -> None:
    pages = ["out/cepheid-demo.html", "report.html", "steps.html"]
    assert all((folder / page).stat().st_size > 5_000 for page in pages)


@pytest.mark.soak
def test_the_hour_with_a_package_that_was_just_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a new environment, with nothing of this one: what `pip install .` brings must be enough."""
    venv.create(tmp_path / "fresh", with_pip=True)
    tools = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([tools / "python", "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    monkeypatch.setattr(doc_examples, "TOOLS", tools)
    monkeypatch.setattr(doc_examples, "PACKAGE", None)
    (tmp_path / "hour").mkdir()
    spend_the_hour(tmp_path / "hour")


# From the message alone.


def said(*arguments: str) -> str:
    return CliRunner().invoke(main, list(arguments)).output


def mended(text: str, message: str) -> str:
    """What somebody does who knows only what the message says: at its place, the name it suggests."""
    line, column = map(int, re.search(r"line (\d+), column (\d+)", message).groups())  # type: ignore[union-attr]
    marked = len(re.search(r"(\^+)", message)[1])  # type: ignore[index]
    wrong, right = re.search(r"`(\w+)`\n.*\n.*\n  hint: did you mean `(\w+)`\?", message).groups()  # type: ignore[union-attr]
    lines = text.split("\n")
    start, end = column - 1, column - 1 + marked
    there = lines[line - 1][start:end]
    assert wrong in there
    lines[line - 1] = lines[line - 1][:start] + there.replace(wrong, right) + lines[line - 1][end:]
    return "\n".join(lines)


def test_the_mistakes_are_mended_from_the_messages_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    given = {m["name"]: m["text"] for m in doc_examples.FILE.finditer(HOUR.read_text(encoding="utf-8"))}
    for name, text in given.items():
        Path(name).write_text(text, encoding="utf-8")
    query = Path("suspects.cep")
    for _ in range(2):
        message = said("check", "suspects.cep", "--schema", "badges.csv", *COLUMNS)
        query.write_text(mended(query.read_text(encoding="utf-8"), message), encoding="utf-8")
    assert "ok: 1 stream" in said("check", "suspects.cep", "--schema", "badges.csv", *COLUMNS)
    assert "Suspect  0 matches" in said("run", "suspects.cep", "badges.csv", *COLUMNS)
    why = said("why-not", "suspects.cep", "badges.csv", *COLUMNS, "--key", "room=lab")
    window = re.search(r"would match with `(within \w+)`", why)
    assert window is not None
    query.write_text(query.read_text(encoding="utf-8").replace("within 10m", window[1]), encoding="utf-8")
    found = said("run", "suspects.cep", "badges.csv", *COLUMNS, "--format", "json", "--quiet")
    assert re.findall(r'"person": "(\w+)"', found) == ["cat", "dan", "bob"]


# The pages, in a browser.


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that must neither complain nor ask for anything from elsewhere."""
    context = browser.new_context(viewport=WIDE, color_scheme="light", device_scale_factor=1)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda e: problems.append(str(e)))
    opened.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else problems.append(r.url))
    yield opened
    context.close()
    assert problems == []


def pictures_folder(folder: Path) -> Path:
    """Where pictures go: into the documents if that is asked for."""
    asked = os.environ.get("CEPHEID_SCREENSHOTS")
    return ROOT / asked if asked else folder


@pytest.mark.browser
def test_the_report_of_the_demonstration(page: Any, folder: Path) -> None:
    page.goto((folder / "out" / "cepheid-demo.html").as_uri())
    assert "A day of card payments" in page.locator("h1").inner_text()
    assert page.locator("section").count() >= 5
    page.screenshot(path=pictures_folder(folder) / "report.png", clip=top_of(page, 900))


@pytest.mark.browser
def test_the_report_of_the_run(page: Any, folder: Path) -> None:
    page.goto((folder / "report.html").as_uri())
    text = page.locator("body").inner_text()
    assert all(room in text for room in ("lab", "archive", "store"))
    page.screenshot(path=pictures_folder(folder) / "newcomer-report.png", clip=top_of(page, 900))


@pytest.mark.browser
def test_the_page_of_the_debugger(page: Any, folder: Path) -> None:
    """To the moment at which the alarm of the lab makes a match."""
    page.goto((folder / "steps.html").as_uri())
    happened = page.locator("#happened")
    for _ in range(20):
        if "matched" in happened.inner_text():
            break
        page.click("#jump")
    assert "matched: e = Enter #7, a = Alarm #8" in happened.inner_text()
    page.screenshot(path=pictures_folder(folder) / "debugger.png", clip=top_of(page, 900))


def top_of(page: Any, height: int) -> dict[str, int]:
    """The first screen, or less if the page is shorter."""
    tall = page.evaluate("document.documentElement.scrollHeight")
    return {"x": 0, "y": 0, "width": WIDE["width"], "height": min(height, tall)}


# The terminal, as a picture.


def test_the_terminal(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (folder / "suspects.cep").read_text(encoding="utf-8")
    Path("suspects.cep").write_text(text.replace("12m", "10m"), encoding="utf-8")
    Path("badges.csv").write_bytes((folder / "badges.csv").read_bytes())
    shown = {"why-not": ["why-not", "suspects.cep", "badges.csv", *COLUMNS, "--key", "room=lab"]}
    if "CEPHEID_SCREENSHOTS" in os.environ:  # it takes a while, and the hour has begun with it
        shown["demo"] = ["demo", "--engine", "local"]
    for name, arguments in shown.items():
        picture = terminal_picture(output_in_colour(arguments), " ".join(["cepheid", *arguments]), name)
        assert picture.count("<text") > 10
        assert "http" not in picture.replace("http://www.w3.org/2000/svg", "").replace(
            "https://www.textualize.io", ""
        )
        (pictures_folder(folder) / f"{name}.svg").write_text(picture, encoding="utf-8")


def output_in_colour(arguments: list[str]) -> str:
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "100", "PYTHONUTF8": "1", "TERM": "xterm"}
    env |= {"PYTHONPATH": str(Path(sys.modules["cepheid"].__file__ or "").parents[1])}
    env.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "cepheid", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=True)
    return done.stdout.replace(f"{ROOT}{os.sep}", "")  # as if it were called in the clone
