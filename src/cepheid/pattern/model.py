"""What a pattern is: steps, closures, groups, absences, guards, windows, and the streams that read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from cepheid.errors import Place
from cepheid.pattern.expr import Expr
from cepheid.pattern.types import Type


class Arrow(Enum):
    """How a run gets to a step: SPEC section 3, one arrow at a time."""

    ANY = "any"
    FIRST = "first"
    NEXT = "next"


class Loop(Enum):
    """How a closure goes on after its first event."""

    ALL = "all"
    NEXT = "next"
    ANY = "any"
    GREEDY = "greedy"


class Selection(Enum):
    STAM = "stam"
    STNM = "stnm"
    STRICT = "strict"


class Emission(Enum):
    EACH = "each"
    LONGEST = "longest"
    SUBSETS = "subsets"


class SkipTo(Enum):
    NONE = "none"
    TO_NEXT = "to_next"
    PAST_LAST = "past_last"
    TO_FIRST = "to_first"
    TO_LAST = "to_last"


class OnLimit(Enum):
    ERROR = "error"
    EVICT_OLDEST = "evict_oldest"


@dataclass(frozen=True)
class Node:
    """A part of a pattern that takes events."""

    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Step(Node):
    """One event of a type that satisfies a condition."""

    type: str
    where: Expr | None = None
    alias: str | None = None


@dataclass(frozen=True)
class Monotonic:
    """`.increasing(f)` / `.decreasing(f)` on a closure."""

    path: tuple[str, ...]
    rising: bool


@dataclass(frozen=True)
class Closure(Node):
    """Repetition. `max` None is no upper bound. `gap` bounds the time between neighbours."""

    body: Node
    min: int = 1
    max: int | None = None
    loop: Loop | None = None
    until: Expr | None = None
    gap: int | None = None
    monotonic: Monotonic | None = None

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    @property
    def single(self) -> bool:
        """`A?`: the alias stays one event, or null."""
        return (self.min, self.max) == (0, 1) and isinstance(self.body, Step)


@dataclass(frozen=True)
class Absence(Node):
    """`NOT X`: as a link of a sequence it takes no event."""

    step: Step
    within: int | None = None
    next: bool = False  # only the very next event of the partition is looked at

    def children(self) -> tuple[Node, ...]:
        return (self.step,)


@dataclass(frozen=True)
class Link:
    """A member of a sequence: how it is reached, and how long after the event before it at most."""

    node: Node
    arrow: Arrow | None = None
    within: int | None = None


@dataclass(frozen=True)
class Sequence(Node):
    """`x -> y -> z`. `span` bounds what a parenthesised group holds."""

    links: tuple[Link, ...]
    span: int | None = None

    def children(self) -> tuple[Node, ...]:
        return tuple(link.node for link in self.links)


@dataclass(frozen=True)
class And(Node):
    operands: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return self.operands


@dataclass(frozen=True)
class Or(Node):
    operands: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return self.operands


@dataclass(frozen=True)
class Guard:
    """`unless X between start and end` | `after start` | plain (both None)."""

    step: Step
    start: str | None = None
    end: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Skip:
    to: SkipTo = SkipTo.NONE
    alias: str | None = None


@dataclass(frozen=True)
class Limits:
    max_runs: int = 1_000_000
    max_matches: int = 10_000
    max_buffer: int = 1_000_000
    on_limit: OnLimit = OnLimit.ERROR


class TrendRows(Enum):
    """When a trend aggregate gives a row."""

    CHANGE = "change"  # the running aggregate, whenever trends are complete
    EACH = "each"  # the running aggregate, with every event the pattern reads
    MOMENT = "moment"  # of the trends complete at one moment alone
    FINAL = "final"  # one row a partition, at the end


@dataclass(frozen=True)
class TrendColumn:
    """`n: count_trends()`, `total: sum_trends(b.price)`."""

    name: str
    function: str
    alias: str | None = None
    path: tuple[str, ...] = ()
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Trends:
    """`.trend_aggregate(...)`: matches under `subsets` are aggregated, not listed."""

    columns: tuple[TrendColumn, ...]
    rows: TrendRows = TrendRows.CHANGE
    place: Place | None = field(default=None, compare=False, repr=False)


class Every(Enum):
    """Restart semantics: one run per partition."""

    LATEST = "every"
    FIRST = "every first"


@dataclass(frozen=True)
class Pattern:
    """A pattern with everything that belongs to its meaning.

    `event(...)` and the other words of the builder make one, and so does `cepheid.compile` of a text;
    `str(pattern)` gives text that reads back to it. Times are microseconds. It is immutable.
    """

    root: Node
    within: int | None = None
    partition_by: tuple[Expr, ...] = ()
    where: Expr | None = None
    guards: tuple[Guard, ...] = ()
    every: Every | None = None
    selection: Selection = Selection.STAM
    emission: Emission | None = None  # None: each, or longest where something implies it
    eager: bool = False
    skip: Skip = Skip()
    limits: Limits = Limits()
    timeouts: bool = False
    trends: Trends | None = None
    name: str | None = field(default=None, compare=False)
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        from cepheid.pattern.text import pattern_text

        return pattern_text(self)

    def _repr_html_(self) -> str:
        from cepheid.pattern.text import html_text

        return html_text(self)


@dataclass(frozen=True)
class Output:
    """One column of `.emit(name: expression)`."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Forecast:
    """`.forecast(...)`: which open runs are foretold, how far ahead, and what such a row looks like."""

    confidence: float = 0.5
    horizon: int | None = None  # microseconds
    events: int | None = None  # the horizon as a number of events; with both, whichever ends first
    warmup: int = 100  # events that are learned from before the first forecast
    max_depth: int = 5
    per_key: bool = False  # a model for each key, not one for all
    learn: bool = True  # goes on learning while it matches
    change: float = 0.05  # said again when the probability has changed by so much
    interval: float = 0.9  # how much of the chance lies between forecast_low and forecast_high
    where: Expr | None = None
    outputs: tuple[Output, ...] | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Stream:
    """A pattern that runs, and what its matches look like. `outputs` None: the default columns.

    Args:
        name: The name of the stream; its matches are events of that name for other streams.
        pattern: What is looked for.
        outputs: The columns of `.emit`; None for the default ones: `match_id`, `start`, `end`, the key and the
            events by name.
        forecast: What `.forecast` asks for.
        place: Where in the text it stands.
    """

    name: str
    pattern: Pattern
    outputs: tuple[Output, ...] | None = None
    forecast: Forecast | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        from cepheid.pattern.text import stream_text

        return stream_text(self)

    def _repr_html_(self) -> str:
        from cepheid.pattern.text import html_text

        return html_text(self)


@dataclass(frozen=True)
class EventType:
    """`event Login { user: string, amount: float }`."""

    name: str
    fields: tuple[tuple[str, Type], ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Declarations:
    """A parsed program: declared events, named patterns, streams, in the order of the text."""

    events: tuple[EventType, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    streams: tuple[Stream, ...] = ()
    # Every event is of the one type that the streams read; a column of types, if there is one, says nothing.
    untyped: bool = field(default=False, compare=False)


def walk_nodes(node: Node) -> Iterator[Node]:
    """A node and everything below it, from left to right."""
    yield node
    for child in node.children():
        yield from walk_nodes(child)


def steps_of(node: Node) -> Iterator[Step]:
    """The steps that take events (not those under a NOT)."""
    if isinstance(node, Step):
        yield node
    elif not isinstance(node, Absence):
        for child in node.children():
            yield from steps_of(child)


def list_aliases(node: Node, repeated: bool = False) -> dict[str, bool]:
    """Every alias a match binds, in order, and whether it is a list of events."""
    found: dict[str, bool] = {}
    if isinstance(node, Step):
        if node.alias is not None:
            found[node.alias] = repeated
    elif isinstance(node, Closure):
        found.update(list_aliases(node.body, repeated or not node.single))
    elif not isinstance(node, Absence):
        for child in node.children():
            for alias, is_list in list_aliases(child, repeated).items():
                found[alias] = found.get(alias, False) or is_list
    return found
