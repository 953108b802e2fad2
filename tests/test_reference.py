"""The public names: each has a docstring that tells its arguments, and a place in the API reference."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cepheid
from cepheid.pattern.builder import Part

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
NAMES = [name for name in cepheid.__all__ if name != "__version__"]


def _named(name: str) -> Any:
    return getattr(cepheid, name)


def _arguments(thing: Any) -> list[str]:
    return list(inspect.signature(thing).parameters)


# Made by the package, not by its users: their fields are told where they are used.
GIVEN = {
    "Program",
    "Results",
    "WhyNot",
    "Pattern",
    "ForecastModels",
    "Explanation",
    "value",
    "CepheidWarning",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is_and_takes(name: str) -> None:
    text = inspect.getdoc(_named(name))
    assert text, "it has no docstring"
    assert re.match(r"[^\n]+[.:`]$", text.split("\n")[0]), "its first line is no sentence"
    if name not in GIVEN:
        told = re.findall(r"^    (\w+): \S", text.partition("Args:")[2], re.MULTILINE)
        assert told == _arguments(_named(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_public_name(name: str) -> None:
    """What a docstring shows is what happens; in the namespace of the module the name lives in."""
    thing = _named(name)
    if name.startswith("sigma"):
        pytest.importorskip("sigma.collection", reason="needs the extra sigma")
    if inspect.isclass(thing) or inspect.isfunction(thing):
        globs = dict(vars(sys.modules[thing.__module__]))
        runner = doctest.DocTestRunner()
        for example in doctest.DocTestFinder().find(thing, name, globs=globs):
            runner.run(example)
        assert runner.summarize(verbose=False).failed == 0


def _methods() -> Iterator[tuple[str, Any]]:
    shown = {name: _named(name) for name in NAMES} | {"Part": Part}  # what the words of the builder give
    for name, thing in shown.items():
        if inspect.isclass(thing):
            for method, value in vars(thing).items():
                if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    yield f"{name}.{method}", value


def test_methods_of_public_classes_say_what_they_do() -> None:
    assert [name for name, method in _methods() if not method.__doc__] == []


def test_every_public_name_is_in_the_reference_once() -> None:
    shown = [
        name
        for path in REFERENCE.glob("*.md")
        for name in re.findall(r"^::: cepheid\.(\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(shown) == sorted(NAMES), "write `::: cepheid.NAME` on a page of docs/reference"
