"""Which part of the findings goes to which sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepheid.engines.spark.output import Answer
from cepheid.engines.spark.sinks import Given, ParquetSink, Sink, as_sink
from cepheid.errors import InputMistake, nearest


@dataclass(frozen=True)
class Outlet:
    """One kind of finding of one stream, and its sink."""

    kind: str
    stream: str
    sink: Sink


def outlets_of(
    kind: str, name: str, given: Given | Mapping[str, Given] | None, streams: Sequence[str]
) -> list[Outlet]:
    """`given` by stream. One path for several streams is a folder for each."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        _refuse_unknown(name, given, streams)
        return [Outlet(kind, stream, as_sink(each, name)) for stream, each in given.items()]
    sink = as_sink(given, name)
    if len(streams) == 1:
        return [Outlet(kind, streams[0], sink)]
    if isinstance(sink, ParquetSink):
        return [Outlet(kind, stream, sink.of(stream)) for stream in streams]
    raise InputMistake(
        f"`{name}` has one sink for the streams {', '.join(streams)}, whose columns differ",
        code="one_sink",
        hint=f"give a sink for each stream: {name}={{{streams[0]!r}: ..., {streams[1]!r}: ...}}",
    )


def check_outlets(outlets: Iterable[Outlet], answer: Answer) -> None:
    """Every sink can write the columns it will get."""
    columns = {(p.kind, p.stream): [name for name, _ in p.columns] for p in answer.payloads}
    for outlet in outlets:
        outlet.sink.check(columns[outlet.kind, outlet.stream])


def _refuse_unknown(name: str, given: Mapping[str, Given], streams: Sequence[str]) -> None:
    for stream in given:
        if stream not in streams:
            raise InputMistake(
                f"`{name}` names a stream `{stream}` that has none",
                code="unknown_stream",
                hint=nearest(stream, list(streams)) or "the streams are " + ", ".join(streams),
            )
