"""The explanation of a query: text for the terminal, a Mermaid diagram, HTML in notebooks, plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cepheid.errors import InputMistake, nearest
from cepheid.explain.advice import warnings
from cepheid.explain.mermaid import mermaid, program_mermaid
from cepheid.explain.plan_text import explain_text
from cepheid.explain.state_bounds import StateBound, state_bounds
from cepheid.explain.state_text import Load, Sample
from cepheid.explain.test_places import TestsPlaced
from cepheid.explain.words import Names
from cepheid.pattern.model import Pattern
from cepheid.plan.plan import Plan


@dataclass(frozen=True)
class ExplainedStream:
    """One stream: its plan, and what is known of where it runs and of how much it keeps."""

    name: str
    plan: Plan
    written: Pattern | None = None  # before the rewrites
    feeds_on: tuple[str, ...] = ()
    tests: TestsPlaced | None = None
    load: Load | None = None
    sample: Sample | None = None
    beside: tuple[Plan, ...] = ()  # of the same program: what it may share work with

    def __post_init__(self) -> None:
        if self.load is not None and not self.plan.key and self.load.keys > 1:
            object.__setattr__(self, "load", replace(self.load, keys=1))  # it has one partition

    @property
    def state(self) -> tuple[StateBound, ...]:
        return state_bounds(self.plan)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(warnings(self.plan, Names(self.plan)))

    def __str__(self) -> str:
        return explain_text(self.plan, self.written, self.load, self.sample, self.tests, self.beside)

    def mermaid(self) -> str:
        return mermaid(self.plan)


@dataclass(frozen=True)
class Explanation:
    """How each stream of a query is matched. `print` it, or let a notebook show it."""

    streams: tuple[ExplainedStream, ...]

    def __getitem__(self, name: str) -> ExplainedStream:
        for stream in self.streams:
            if stream.name == name:
                return stream
        names = [s.name for s in self.streams]
        raise InputMistake(
            f"there is no stream `{name}`",
            code="unknown_stream",
            hint=nearest(name, names) or "the streams are " + ", ".join(names),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to look out for, of all streams."""
        return tuple(f"{s.name}: {text}" for s in self.streams for text in s.warnings)

    def __str__(self) -> str:
        if len(self.streams) == 1:
            return str(self.streams[0])
        parts = []
        for stream in self.streams:
            head = self.head(stream)
            parts.append(f"{head}\n{'=' * len(head)}\n\n{stream}")
        return "\n\n".join(parts)

    def head(self, stream: ExplainedStream) -> str:
        """A stream by its name, and by those it stands between."""
        feeds = [other.name for other in self.streams if stream.name in other.feeds_on]
        text = f"stream {stream.name}"
        text += f", feeds on {', '.join(stream.feeds_on)}" if stream.feeds_on else ""
        return text + (f", feeds {', '.join(feeds)}" if feeds else "")

    def mermaid(self) -> str:
        """The automata, and the streams that feed each other."""
        if len(self.streams) == 1:
            return self.streams[0].mermaid()
        return program_mermaid([(s.name, s.plan, s.feeds_on) for s in self.streams])

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for programs. Times are in microseconds."""
        return {s.name: _as_dict(s) for s in self.streams}

    def _repr_html_(self) -> str:
        from cepheid.explain.explanation_html import explanation_html

        return explanation_html(self)


def explanation_of(streams: Iterable[tuple[str, Plan, Sequence[str]]]) -> Explanation:
    """Of plans alone: (name, plan, the streams it feeds on), upstream first."""
    return Explanation(tuple(ExplainedStream(n, plan, None, tuple(feeds)) for n, plan, feeds in streams))


def _as_dict(stream: ExplainedStream) -> dict[str, Any]:
    load, sample, tests = stream.load, stream.sample, stream.tests
    return {
        "feeds_on": list(stream.feeds_on),
        "state": [
            {
                "step": bound.step,
                "waits_for": list(bound.waits_for),
                "since": bound.since,
                "lasts": bound.lasts,
                "span": bound.span,
                "bounded": bound.bounded,
                "runs": str(bound.growth),
                "most": None if load is None else load.most(bound),
                "sampled": None if sample is None else sample.peaks.get(bound.step, 0),
            }
            for bound in stream.state
        ],
        "tests": []
        if tests is None
        else [{"step": t.step, "test": t.test, "where": t.where} for t in tests.tests],
        "matcher": None if tests is None else tests.matcher,
        "warnings": list(stream.warnings),
    }
