"""Golden scenarios over Spark Connect, in a process of its own: Connect and a classic session do not share one."""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

from bundle import Bundle
from golden import by_reference, by_spark, compared, golden_bundles
from test_scenarios_stream import by_stream, cut_and_shuffled

from cepheid.engines.spark.setup import start_session


def main() -> int:
    warnings.simplefilter("ignore")
    spark = start_session(
        "cepheid over Connect", remote="local[2]", config={"spark.sql.shuffle.partitions": "2"}
    )
    assert "connect" in type(spark).__module__
    problems: list[str] = []
    everything = "--all" in sys.argv
    bundles = golden_bundles() if everything else some()
    for i, bundle in enumerate(bundles):
        expected = by_reference(bundle)
        problems += [f"batch: {p}" for p in compared(bundle, by_spark(spark, bundle), expected)]
        if i == 0 or everything:
            rows = by_stream(spark, bundle, cut_and_shuffled, "5s", Path(tempfile.mkdtemp()))
            problems += [f"stream: {p}" for p in compared(bundle, rows, expected)]
    for problem in problems:
        print(problem)  # noqa: T201
    print(f"{sum(len(b.placed) for b in bundles)} scenarios over Connect, {len(problems)} problems")  # noqa: T201
    return 1 if problems else 0


def some() -> list[Bundle]:
    """Few, but of both kinds: those where neighbours count, and others."""
    return [replace(b, placed=b.placed[::16]) for b in golden_bundles() if len(b.placed) > 50][:2]


if __name__ == "__main__":
    sys.exit(main())
