"""Cepheid beside other engines: the same questions, the same events, answers compared before a time is printed.

    python benchmarks/peers.py [--events 2000000] [--only sequence,absence] [--peers cepheid,flink] [--repeat 3]

Every engine first answers over 20,000 events, untimed: classes are loaded, kernels compiled, sessions there. Then the
best of `--repeat` runs counts. Slow engines are given fewer events (`--slice cepheid=200000`), with as many to a user
as before; rates are compared, and the events an engine had stand in its line. Engines written in Java read a flat file
that needs no parsing, are given only the types of events that a question names, and keep their matches in memory;
Cepheid, Spark, DuckDB and polars read Parquet; `cepheid-memory` has all events in a table. What an engine needs is
fetched by pip or mvn into build/peers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from peers import cepheid_peers, chart, duck, frames, jvm, pandas_rows, spark
from peers.queries import QUERIES
from peers.report import show, warn_if_busy, write_json
from peers.running import Bench, Result
from rich.console import Console

FOLDER = Path("build/bench")
PEERS = {
    p.name: p
    for p in (
        cepheid_peers.LOCAL,
        cepheid_peers.MEMORY,
        cepheid_peers.SPARK,
        jvm.FLINK,
        jvm.FLINK_PARQUET,
        jvm.FLINK_KEYED,
        jvm.ESPER,
        jvm.SIDDHI,
        spark.PEER,
        duck.PEER,
        frames.PEER,
        pandas_rows.PEER,
    )
}


def main() -> None:
    arguments = _arguments()
    slices = dict(part.split("=") for part in arguments.slice)
    bench = Bench(FOLDER, Path("build/peers"), arguments.repeat)
    console = Console(width=None if sys.stdout.isatty() else 150)
    warn_if_busy(console)
    results: list[Result] = []
    for query in (QUERIES[name] for name in arguments.only):
        lines = []
        for peer in (PEERS[name] for name in arguments.peers):
            if peer.only and query.name not in peer.only:
                continue
            if query.asked_of is not None and peer.name not in query.asked_of:
                continue
            wanted = arguments.events
            events = (
                min(int(slices[peer.name]), wanted) if peer.name in slices else peer.events(query, wanted)
            )
            with console.status(f"{query.name}: {peer.name}, {events:,} events"):
                lines.append(bench.measured(query, peer, events))
        show(query, lines, console)
        results += lines
        _keep(results, arguments)
    if any(r.wrong for r in results):
        sys.exit("An engine failed, or gave another answer than Cepheid.")


def _keep(results: list[Result], arguments: argparse.Namespace) -> None:
    """After every query, so that a run that is stopped leaves what it had."""
    write_json(FOLDER / "peers.json", results, vars(arguments))
    if any(r.rate for r in results):
        bars = [chart.Bar(r.query, r.peer, r.events, r.rate, r.why_not, r.wrong) for r in results]
        (FOLDER / "peers.svg").write_text(chart.svg(bars), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs")
    parser.add_argument("--only", type=_names(QUERIES), default=list(QUERIES), metavar="QUERY,...")
    parser.add_argument("--peers", type=_names(PEERS), default=list(PEERS), metavar="ENGINE,...")
    parser.add_argument(
        "--slice",
        action="append",
        default=[],
        metavar="ENGINE=EVENTS",
        help="at most so many events for an engine",
    )
    return parser.parse_args()


def _names(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Reads a list with commas; an unknown name is refused with the known ones."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        unknown = [n for n in names if n not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
        return names

    return read


if __name__ == "__main__":
    main()
