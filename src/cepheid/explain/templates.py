"""The pages of this folder."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment


@cache
def template(name: str) -> Any:
    text = resources.files("cepheid.explain").joinpath(name).read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
