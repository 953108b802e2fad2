"""The bounds of a plan's state in words, with numbers where a rate or a sample of events is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.explain.state_bounds import LAST, NEXT, StateBound, state_bounds
from cepheid.explain.tables import Line, Row, aligned
from cepheid.explain.words import Names
from cepheid.pattern.duration import duration, duration_text
from cepheid.pattern.model import OnLimit
from cepheid.plan.plan import Plan

_SECOND = duration("1s")


@dataclass(frozen=True)
class Load:
    """Events a second that the plan reads, of all keys together, and over how many keys they are spread."""

    rate: float
    keys: int = 1

    def most(self, bound: StateBound) -> float | None:
        """How many runs there can be, all in all. None: there is no end to it."""
        if not bound.growth.grows:
            return bound.growth.most(0, self.keys)
        if bound.span is None:
            return None
        return bound.growth.most(self.rate * bound.span / _SECOND, self.keys)

    def __str__(self) -> str:
        keys = f" of {self.keys:,} keys" if self.keys > 1 else ""
        return f"{self.rate:,g} events/s{keys}"


@dataclass(frozen=True)
class Sample:
    """What was seen when the plan ran over some events."""

    events: int  # that it reads
    keys: int
    seconds: float  # from the first to the last
    peaks: Mapping[str, int]  # the most open runs after each step
    peak: int
    largest: int  # in one partition
    whole: bool = True  # False: there are more events than were looked at

    @property
    def rate(self) -> float | None:
        return self.events / self.seconds if self.seconds > 0 else None


def state_lines(
    plan: Plan, names: Names, load: Load | None = None, sample: Sample | None = None
) -> list[Line]:
    """The section about state. Nothing is kept of a pattern that one event completes."""
    bounds = state_bounds(plan, names)
    if plan.trends is not None:
        return ["totals and no runs: see trends"]
    before = list(_kept_for_absences(plan))
    if not bounds:
        return before or ["nothing: one event is a match"]
    lines = aligned(state_table(bounds, load, sample))
    if any(bound.growth.degree for bound in bounds):
        lines.append("n: the events of a partition from a run's first event to the end of its wait")
    if any(bound.growth.exponential for bound in bounds):
        lines.append("2ⁿ: every combination of the events is a run")
    lines += before
    lines.append(f"of each event of a run: {_fields(plan)}")
    lines.append(_limit(plan))
    return lines + (list(_measured(sample)) if sample is not None else [])


def kept_text(bound: StateBound) -> str:
    """How long a run waits."""
    if bound.since == NEXT:
        return "until the next event"
    if bound.lasts is None:
        return "until it completes or is stopped"
    since = "last" if bound.since == LAST else "first"
    return f"for {duration_text(bound.lasts)} after its {since} event"


def number_text(value: float) -> str:
    """
    >>> number_text(1234.4), number_text(3.2e12)
    ('1,234', '3.2e+12')
    """
    return f"{value:,.0f}" if value < 1e9 else f"{value:.2g}"


def state_table(bounds: tuple[StateBound, ...], load: Load | None, sample: Sample | None) -> list[Row]:
    """A row for each step after which runs wait, below the names of the columns."""
    head = ["after", "waits for", "kept", "runs of a partition"]
    head += [f"at {load}"] if load is not None else []
    head += ["in the sample"] if sample is not None else []
    rows: list[Row] = [tuple(head)]
    for bound in bounds:
        row = [bound.step, " or ".join(bound.waits_for), kept_text(bound), _runs(bound)]
        if load is not None:
            most = load.most(bound)
            row.append("no end" if most is None else f"up to {number_text(most)}")
        if sample is not None:
            row.append(f"{sample.peaks.get(bound.step, 0):,}")
        rows.append(tuple(row))
    return rows


def _runs(bound: StateBound) -> str:
    return f"up to {bound.growth}" if bound.bounded else f"{bound.growth}: no end"


def _kept_for_absences(plan: Plan) -> list[Line]:
    """What an absence before the first step looks back at."""
    edges = plan.automaton.out[0]
    found = dict.fromkeys(a for e in edges for a in e.absences)
    specs = [plan.automaton.absences[a].node for a in found]
    return [
        f"events of type {spec.step.type} for {duration_text(spec.within)}: a start must not follow them"
        for spec in specs
        if spec.within is not None
    ]


def _fields(plan: Plan) -> str:
    if plan.needed is None:
        return "all its fields"
    return f"its time, type and {', '.join(sorted(plan.needed))}" if plan.needed else "its time and type"


def _limit(plan: Plan) -> str:
    limits = plan.pattern.limits
    per = "a partition" if plan.key else "all in all"
    then = "an error" if limits.on_limit is OnLimit.ERROR else "the oldest runs go"
    return f"limit: {limits.max_runs:,} open runs {per}, then {then}"


def _measured(sample: Sample) -> list[Line]:
    some = "" if sample.whole else "the first "
    keys = f"{sample.keys:,} key{'s' if sample.keys != 1 else ''}"
    rate = f", {sample.rate:,.3g} a second" if sample.rate is not None else ""
    return [
        f"sample: {some}{sample.events:,} events of {keys}{rate}; at most {sample.peak:,} open runs, "
        f"{sample.largest:,} in one partition"
    ]
