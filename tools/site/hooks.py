"""What `mkdocs build` does beyond its settings: nav, pages from elsewhere, names of the API, colours."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.lexers import _mapping as lexers

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import cepheid
from tools.site import lexer, nav, outside

FILE = re.compile(r"^<!-- file: (?P<name>[\w.-]+) -->\n```(?P<language>\w*)$", re.MULTILINE)
PICTURE = re.compile(r"^<!-- picture: [\w-]+ -->\n", re.MULTILINE)
NAME = re.compile(r"^::: cepheid\.(\w+)$", re.MULTILINE)
ASSETS = ("assets/iframe-worker.js", "assets/wide.css")  # as mkdocs.yml has them
FETCHED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")


def on_startup(**_: Any) -> None:
    lexers.LEXERS["CepheidLexer"] = (lexer.__name__, "Cepheid", tuple(lexer.CepheidLexer.aliases), (), ())


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages from other folders join, and all of them get their places."""
    for uri in ASSETS:
        files.append(File.generated(config, uri, abs_src_path=str(Path(__file__).parent / Path(uri).name)))
    for path, uri in outside.outside_pages().items():
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, content=outside.page_text(path)))
    pages = [file.src_uri for file in files.documentation_pages()]
    config.nav = [{title: taken} for title, taken in nav.sections(pages).items()]
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    taken = outside.outside_pages()
    uri = page.file.src_uri
    homes = {address: path for path, address in taken.items()}
    markdown = outside.with_links_of_the_site(markdown, homes.get(uri, f"docs/{uri}"), uri, taken)
    markdown = FILE.sub(r'```\g<language> title="\g<name>"', markdown)
    return NAME.sub(_directive, PICTURE.sub("", markdown))


def _directive(found: re.Match[str]) -> str:
    """mkdocstrings reads the sources, so it is told where a name lives; readers see the name they import."""
    name = found[1]
    home = cepheid._HOMES[name]
    return f"::: {home}.{name}\n    options:\n      heading: cepheid.{name}\n      toc_label: {name}"


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Nothing is fetched at reading time."""
    fetched = FETCHED.search(output)
    if fetched:
        raise PluginError(f"{page.file.src_uri} is not readable offline: {fetched[0]}")
    return output
