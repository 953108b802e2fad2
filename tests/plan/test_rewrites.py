"""Every rewrite against its fixture of the same name: cases worked out by hand from `docs/semantics.md`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from engines import ENGINES

from cepheid.lang import parse_query
from cepheid.pattern.builder import as_pattern, event
from cepheid.pattern.expr import Expr, Opaque
from cepheid.pattern.model import Closure, Node, Pattern, Step
from cepheid.pattern.text import expr_text, pattern_text
from cepheid.pattern.types import NO_SCHEMA
from cepheid.plan import planner
from cepheid.plan.desugar_monotonic import desugar_monotonic
from cepheid.plan.infer_key import infer_key
from cepheid.plan.planner import REWRITES, plan_pattern
from cepheid.plan.push_where import push_where
from cepheid.plan.split_tests import split_tests
from cepheid.plan.validate import validate
from cepheid.testing.scenarios import load_scenarios, problems

FIXTURES = Path(__file__).parent / "fixtures"


def _pattern(text: str) -> Pattern:
    (stream,) = parse_query(text).streams
    validate(stream.pattern, NO_SCHEMA)
    return stream.pattern


def _rewritten(rewrite: Callable[[Pattern], Pattern]) -> Callable[[str], str]:
    return lambda text: pattern_text(rewrite(_pattern(text)))


def _key(text: str) -> str:
    pattern = _pattern(text)
    for rewrite in REWRITES:
        pattern = rewrite(pattern)
    return ", ".join(expr_text(e) for e in infer_key(pattern)) or "none"


def _split(text: str) -> str:
    step, repeated = _last_step(_pattern(text).root, False)
    return " | ".join(_tests(part) for part in split_tests(step, repeated))


def _last_step(node: Node, repeated: bool) -> tuple[Step, bool]:
    if isinstance(node, Step):
        return node, repeated
    return _last_step(node.children()[-1], repeated or (isinstance(node, Closure) and not node.single))


def _tests(parts: tuple[Expr, ...]) -> str:
    return " and ".join(expr_text(p, 2 if len(parts) > 1 else 0) for p in parts) or "-"


RUN: dict[str, Callable[[str], str]] = {
    **{rewrite.__name__: _rewritten(rewrite) for rewrite in REWRITES},
    "infer_key": _key,
    "split_tests": _split,
}


def _cases(name: str) -> list[tuple[str, str]]:
    """(before, after) pairs; a line that begins with `#` is a comment."""
    path = FIXTURES / f"{name}.txt"
    if not path.exists():
        return []
    lines = [x for x in path.read_text(encoding="utf-8").splitlines() if x and not x.startswith("#")]
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert all(after.startswith("=> ") and not before.startswith("=> ") for before, after in pairs)
    return [(before, after.removeprefix("=> ")) for before, after in pairs]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [pytest.param(name, *case, id=f"{name}: {case[0]}") for name in RUN for case in _cases(name)],
)
def test_rewrite(name: str, before: str, after: str) -> None:
    assert RUN[name](before) == after


@pytest.mark.parametrize("name", RUN)
def test_every_rewrite_has_a_fixture(name: str) -> None:
    assert len(_cases(name)) >= 8, f"write {FIXTURES / name}.txt"


def test_every_fixture_has_a_rewrite() -> None:
    assert {path.stem for path in FIXTURES.glob("*.txt")} == set(RUN)


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda r: r.__name__)
def test_a_second_time_changes_nothing(rewrite: Callable[[Pattern], Pattern]) -> None:
    for before, _ in _cases(rewrite.__name__):
        once = rewrite(_pattern(before))
        assert rewrite(once) == once


@pytest.mark.parametrize("name", ["push_where", "infer_key"])
def test_scenarios_mean_the_same_without_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """These two only make a pattern cheaper."""
    if name == "push_where":
        monkeypatch.setattr(planner, "REWRITES", (desugar_monotonic,))
    else:
        monkeypatch.setattr(planner, "infer_key", lambda pattern: ())
    for scenario in load_scenarios(Path(__file__).parent.parent / "scenarios"):
        if "error" not in scenario.options:
            assert problems(scenario, ENGINES["reference"](scenario)) == [], scenario.name


# Python functions cannot be written in a fixture.


def test_a_python_function_of_a_step_is_no_test_of_the_event_alone() -> None:
    step = Step("A", Opaque(lambda e: e.v > 1, (), "dear"), "a")
    assert split_tests(step, False) == ((), (step.where,))


def test_a_python_function_of_the_whole_stays_with_the_whole() -> None:
    a, b = event("A").as_("a"), event("B").as_("b")
    pattern = as_pattern((a >> b).where(lambda a, b: b.v > a.v))
    assert push_where(pattern) == pattern
    assert [len(e.tests) for e in plan_pattern(pattern).automaton.edges] == [0, 1]
