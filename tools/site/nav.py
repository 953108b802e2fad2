"""Where each page stands on the site: docs/nav.yml, held against the pages there are."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

ORDER = Path(__file__).parents[2] / "docs" / "nav.yml"


def sections(pages: Iterable[str], order: Path = ORDER) -> dict[str, list[str]]:
    """The pages of each section, in order; sections without a page are left out."""
    left = sorted(pages)
    found: dict[str, list[str]] = {}
    for section in yaml.safe_load(order.read_text(encoding="utf-8")):
        for title, patterns in section.items():
            for pattern in patterns:
                taken = [page for page in left if _fits(page, pattern)]
                left = [page for page in left if page not in taken]
                found.setdefault(title, []).extend(taken)
    return {title: taken for title, taken in found.items() if taken}


def without_a_place(pages: Iterable[str], order: Path = ORDER) -> set[str]:
    """The pages that no line of nav.yml takes."""
    pages = set(pages)
    return pages.difference(*sections(pages, order).values())


def _fits(page: str, pattern: str) -> bool:
    """`*` stands for anything inside one folder."""
    return page.count("/") == pattern.count("/") and fnmatchcase(page, pattern)
