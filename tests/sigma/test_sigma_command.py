"""`cepheid sigma` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sigma_cases import program_text

import cepheid
from cepheid.cli import main

pytest.importorskip("sigma.collection", reason="needs the extra sigma")

RULES = {"fail": {"s": {"outcome": "failure"}, "condition": "s"}}
MANY = {
    "type": "event_count",
    "rules": ["fail"],
    "group-by": ["User"],
    "timespan": "5m",
    "condition": {"lt": 3},
}
EVENTS = [
    {"time": 0, "type": "ssh", "outcome": "Failure", "user": {"name": "ann"}},
    {"time": 1, "type": "web", "outcome": "failure", "user": {"name": "ann"}},
    {"time": 2, "type": "ssh", "outcome": "success", "user": {"name": "ann"}},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rule.yml").write_text(program_text(RULES, MANY))
    Path("events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in EVENTS))
    return tmp_path


def sigma(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sigma", *arguments])


@pytest.mark.usefixtures("folder")
def test_patterns_are_printed_and_read_back() -> None:
    done = sigma("rule.yml", "--field", "User=user.name")
    assert done.exit_code == 0, done.output
    program = cepheid.sigma_patterns(Path("rule.yml").read_text(), fields={"User": "user.name"})
    assert cepheid.compile(done.stdout).declarations == program.declarations
    assert "\n    .within(5m)\n" in done.stdout


@pytest.mark.usefixtures("folder")
def test_only_the_wanted_rules_are_shown() -> None:
    """Neither the helping streams nor the rule that the correlation counts; a column `type` does not matter."""
    done = sigma("rule.yml", "events.jsonl", "--field", "User=user.name", "--format", "json")
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    assert [json.loads(line)[name] for name in ("User", "count")] == ["ann", 2]
    assert "correlation 1" in done.stderr


@pytest.mark.usefixtures("folder")
def test_printed_patterns_run_like_any_query() -> None:
    Path("rule.cep").write_text(sigma("rule.yml", "--field", "User=user.name").stdout)
    arguments = [
        "run",
        "rule.cep",
        "events.jsonl",
        "--type",
        "",
        "--stream",
        "correlation",
        "--format",
        "json",
    ]
    done = CliRunner().invoke(main, arguments)
    assert json.loads(done.stdout)["count"] == 2, done.output


@pytest.mark.usefixtures("folder")
def test_mistakes() -> None:
    Path("rule.yml").write_text(program_text(RULES, {**MANY, "timespan": "soon"}))
    done = sigma("rule.yml")
    assert done.exit_code == 1
    assert "rule.yml, line " in done.stderr
    assert "hint: write a whole number and a unit" in done.stderr
    done = sigma("rule.yml", "--field", "User")
    assert (done.exit_code, "write it as NAME=FIELD" in done.stderr) == (2, True)
    done = sigma("nowhere.yml")
    assert (done.exit_code, "there is no file nowhere.yml" in done.stderr) == (1, True)


def test_without_pysigma_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.engines.sigma.find_spec", lambda name: None)
    with pytest.raises(cepheid.CepheidError, match="not installed") as caught:
        cepheid.sigma_patterns("title: a")
    assert "cepheid[sigma]" in (caught.value.hint or "")
