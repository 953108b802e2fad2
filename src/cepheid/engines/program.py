"""A compiled program: its streams in the order in which they feed each other, each with its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cepheid.engines.local.events import Columns
from cepheid.errors import PatternMistake, nearest
from cepheid.lang.parser import parse_expression, parse_query
from cepheid.pattern.builder import as_stream
from cepheid.pattern.expr import Expr
from cepheid.pattern.model import Declarations, Step, Stream, walk_nodes
from cepheid.pattern.text import program_text
from cepheid.pattern.types import NO_SCHEMA, STRING, TIMESTAMP, Schema, Type, struct_of
from cepheid.plan.plan import Plan
from cepheid.plan.planner import plan_pattern
from cepheid.plan.trend_plan import with_key_columns
from cepheid.plan.validate import output_types
from cepheid.sql_lang.from_pattern import is_from_pattern, parse_from_pattern

if TYPE_CHECKING:
    from cepheid.explain.explanation import Explanation


@dataclass(frozen=True)
class PlannedStream:
    """A stream that can be run: its plan and the columns of its answer."""

    stream: Stream
    plan: Plan
    columns: tuple[tuple[str, Type], ...]
    feeds_on: tuple[str, ...]  # other streams it reads
    trained: dict[str, Any] | None = None  # what its forecasts learned before

    @property
    def name(self) -> str:
        return self.stream.name


@dataclass(frozen=True)
class Program:
    """What `cepheid.compile` gives: streams, upstream first.

    `program["Alert"]` is a stream by its name, `for stream in program` gives all of them, and `str(program)` is text
    that reads back to the same program. A program may be given wherever a query is taken.

    >>> program = compile("stream Alert = A as a -> B as b")
    >>> [stream.name for stream in program], program.event_types
    (['Alert'], ('A', 'B'))
    """

    declarations: Declarations
    streams: tuple[PlannedStream, ...]
    schema: Schema

    def __str__(self) -> str:
        return program_text(self.declarations)

    def __iter__(self) -> Iterator[PlannedStream]:
        return iter(self.streams)

    def __getitem__(self, name: str) -> PlannedStream:
        for planned in self.streams:
            if planned.name == name:
                return planned
        names = [s.name for s in self.streams]
        raise PatternMistake(
            f"there is no stream `{name}`",
            code="unknown_stream",
            hint=nearest(name, names) or "the streams are " + ", ".join(names),
        )

    def explain(
        self,
        events: Any = None,
        *,
        stream: str | None = None,
        rate: float | None = None,
        keys: int | None = None,
        **options: Any,
    ) -> Explanation:
        """How its streams are matched: plan, automaton, windows, what is kept and for how long, warnings.

        `events` (anything `cepheid.match` takes) say where tests run and how much is open; `rate`, in events a second
        over so many `keys`, how much can be.

        >>> found = compile("A as a -> B as b within 1h partition by u").explain(rate=10, keys=100)
        >>> [(bound.step, str(bound.growth), found["matches"].load.most(bound)) for bound in found["matches"].state]
        [('a', 'n', 36000.0)]
        """
        from cepheid.engines.explaining import explain
        from cepheid.engines.options import make_options

        return explain(self, events, make_options(**options), stream=stream, rate=rate, keys=keys)

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    @property
    def last(self) -> PlannedStream:
        """The stream one looks at when none is named: the last one of the text."""
        return self[self.declarations.streams[-1].name]

    @property
    def event_types(self) -> tuple[str, ...]:
        """The types of events the program reads from outside."""
        own = {s.name for s in self.streams}
        return tuple(dict.fromkeys(t for s in self.streams for t in s.plan.event_types if t not in own))


# Every event has these, whatever its declaration says.
IMPLICIT = {"time": TIMESTAMP, "type": STRING}


def compile(
    query: object,
    schema: Schema | None = None,
    source: str = "query",
    implicit: Mapping[str, Type] = IMPLICIT,
) -> Program:
    """Read, check and plan a query: a text, a pattern or stream built in Python, or a program (planned anew).

    Args:
        query: A text, a pattern or stream built in Python, or a program.
        schema: The fields of each type of event, where they are known: mistakes in names and types are found then.
        source: What the text is called in messages, as the name of its file.
        implicit: Fields that every event has, whatever its declaration says.

    >>> program = compile("A as a -> B as b .within(10s)")
    >>> program.last.plan.automaton.states
    3
    """
    declarations = declarations_of(query, source)
    if not declarations.streams:
        raise PatternMistake(
            "there is no stream to run",
            code="nothing_to_run",
            hint=_what_to_run(declarations),
        )
    known = _with_declared(declarations, schema or NO_SCHEMA, implicit)
    planned: list[PlannedStream] = []
    for stream in _upstream_first(declarations.streams):
        stream = with_key_columns(stream)
        plan = plan_pattern(stream.pattern, known, stream.name, stream.outputs, stream.forecast)
        columns = output_types(stream, plan, known)
        own = {s.name for s in declarations.streams}
        feeds_on = tuple(t for t in dict.fromkeys(plan.event_types) if t in own)
        planned.append(PlannedStream(stream, plan, columns, feeds_on))
        known = _with_stream(known, stream.name, columns)
    return Program(declarations, tuple(planned), known)


def _what_to_run(declarations: Declarations) -> str:
    if not declarations.patterns:
        return "add one, for example `stream Pairs = A as a -> B as b`"
    pattern = declarations.patterns[-1].name
    return f"a pattern alone does not run: add `stream {pattern} = {pattern}`"


def declarations_of(query: object, source: str = "query") -> Declarations:
    """The program behind whatever a query was given as."""
    if isinstance(query, Program):
        return query.declarations
    if isinstance(query, Declarations):
        return query
    if isinstance(query, str):
        return _read_text(query, source)
    return Declarations(streams=(as_stream(query),))


def _read_text(text: str, source: str) -> Declarations:
    """A text says by its first words which front end reads it."""
    if is_from_pattern(text):
        return parse_from_pattern(text, source)
    return parse_query(text, source)


def _with_declared(declarations: Declarations, schema: Schema, implicit: Mapping[str, Type]) -> Schema:
    """Declared events win over what the data seem to be."""
    declared = {e.name: struct_of({**implicit, **dict(e.fields)}) for e in declarations.events}
    merged = {**dict(schema.types), **declared}
    return Schema(tuple(merged.items()), closed=schema.closed, common_fields=schema.common_fields)


def _with_stream(schema: Schema, name: str, columns: tuple[tuple[str, Type], ...]) -> Schema:
    fields = struct_of({**IMPLICIT, **dict(columns)})  # an event of a stream has a time and a type too
    return Schema((*schema.types, (name, fields)), schema.closed, schema.common_fields)


def _upstream_first(streams: tuple[Stream, ...]) -> list[Stream]:
    by_name = {s.name: s for s in streams}
    done: list[Stream] = []
    path: list[str] = []

    def visit(stream: Stream) -> None:
        if stream in done:
            return
        if stream.name in path:
            chain = " -> ".join([*path[path.index(stream.name) :], stream.name])
            raise PatternMistake(
                f"streams feed each other in a circle ({chain})",
                code="stream_cycle",
                place=stream.place,
                hint="a stream reads the events of its pattern's types: rename the stream or the type",
            )
        path.append(stream.name)
        for name in types_read(stream):
            if name in by_name:
                visit(by_name[name])
        path.pop()
        done.append(stream)

    for stream in streams:
        visit(stream)
    return done


def types_read(stream: Stream) -> list[str]:
    """The types of events a stream reads, other streams' names among them."""
    inside = [n.type for n in walk_nodes(stream.pattern.root) if isinstance(n, Step)]
    return inside + [g.step.type for g in stream.pattern.guards]


def partitioned(declarations: Declarations, names: tuple[str, ...]) -> Declarations:
    """`partition_by=` counts for streams that do not say it themselves."""
    if not names:
        return declarations
    keys: tuple[Expr, ...] = tuple(parse_expression(n, "partition_by") for n in names)
    return replace(
        declarations,
        streams=tuple(
            s if s.pattern.partition_by else replace(s, pattern=replace(s.pattern, partition_by=keys))
            for s in declarations.streams
        ),
    )


def event_columns(columns: Columns, declarations: Declarations) -> Columns:
    """Which columns of the events mean what to these streams."""
    named = replace(columns, plain_type=plain_type(declarations))
    return replace(named, type="") if declarations.untyped else named


def plain_type(declarations: Declarations) -> str | None:
    """The one type name of a query over a table without a type column; None if it uses several."""
    own = {s.name for s in declarations.streams}
    names = {t for s in declarations.streams for t in types_read(s)} - own
    return names.pop() if len(names) == 1 else None
