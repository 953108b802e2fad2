"""Graph patterns over a Spark DataFrame of edges, beside the joins that one would write by hand in Spark SQL.

Each event is a node with three edges: its kind, who did it, to whom; people have a role. Both run in turns, and of
three such pairs the one with the middle ratio is told. Their matches are compared before, all of them.

    python benchmarks/graphs_spark.py [--edges 1000000] [--only hospitality] [--plans]
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _beside_floor import Figure, Pair, keep, typical

import cepheid
from cepheid.engines.spark.setup import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path("build/bench")
_REPEAT = 3
_EDGES_A_PERSON = 60
_KINDS = ["come", "leave", "welcome", "harm", *(f"k{i}" for i in range(16))]

PATTERNS = {
    "hospitality": """graph pattern hospitality {
        stage enter { .kind = "come", .who -> ?guest }
        stage welcome { .kind = "welcome", .who -> ?host, .whom -> ?guest }
        stage harm { .kind = "harm", .whom -> ?guest }
        unless between enter and harm { .kind = "leave", .who -> ?guest }
    }""",
    "by_another": """graph pattern by_another {
        stage first { .kind = "k1", .who -> ?a, .whom -> ?b, ?a.role = "clerk" }
        stage second { .kind in ("k2", "k3"), .who -> ?b, .whom != ?a -> ?c, not ?c.role = "guard" }
        within 1d
    }""",
}
# What each gives, as rows: the bindings in the order of their names, and the times of the stages.
BY_HAND = {
    "hospitality": """
        WITH enter AS (
            SELECT k.source AS enter, w.target AS guest, greatest(k.start, w.start) AS t1
            FROM edges k JOIN edges w ON w.source = k.source AND w.label = 'who'
            WHERE k.label = 'kind' AND k.target = 'come'
        ), welcome AS (
            SELECT k.source AS welcome, w.target AS host, m.target AS guest,
                   greatest(k.start, w.start, m.start) AS t2
            FROM edges k JOIN edges w ON w.source = k.source AND w.label = 'who'
                JOIN edges m ON m.source = k.source AND m.label = 'whom'
            WHERE k.label = 'kind' AND k.target = 'welcome'
        ), harm AS (
            SELECT k.source AS harm, m.target AS guest, greatest(k.start, m.start) AS t3
            FROM edges k JOIN edges m ON m.source = k.source AND m.label = 'whom'
            WHERE k.label = 'kind' AND k.target = 'harm'
        ), leave AS (
            SELECT w.target AS guest, greatest(k.start, w.start) AS t
            FROM edges k JOIN edges w ON w.source = k.source AND w.label = 'who'
            WHERE k.label = 'kind' AND k.target = 'leave'
        ), met AS (
            SELECT e.enter, e.guest, h.harm, w.host, w.welcome, e.t1, w.t2, h.t3
            FROM enter e JOIN welcome w ON w.guest = e.guest AND w.t2 > e.t1
                JOIN harm h ON h.guest = e.guest AND h.t3 > w.t2
        )
        SELECT DISTINCT enter, guest, harm, host, welcome, t1, t2, t3
        FROM met LEFT ANTI JOIN leave l ON l.guest = met.guest AND l.t > met.t1 AND l.t < met.t3""",
    "by_another": """
        WITH first AS (
            SELECT k.source AS first, w.target AS a, m.target AS b, greatest(k.start, w.start, m.start) AS t1
            FROM edges k JOIN edges w ON w.source = k.source AND w.label = 'who'
                JOIN edges m ON m.source = k.source AND m.label = 'whom'
                JOIN edges r ON r.source = w.target AND r.label = 'role' AND r.target = 'clerk'
                    AND r.start <= greatest(k.start, w.start, m.start)
            WHERE k.label = 'kind' AND k.target = 'k1'
        ), second AS (
            SELECT k.source AS second, w.target AS b, m.target AS c, greatest(k.start, w.start, m.start) AS t2
            FROM edges k JOIN edges w ON w.source = k.source AND w.label = 'who'
                JOIN edges m ON m.source = k.source AND m.label = 'whom'
            WHERE k.label = 'kind' AND k.target IN ('k2', 'k3')
        )
        SELECT DISTINCT a, f.b, c, first, second, t1, t2
        FROM first f JOIN second s ON s.b = f.b AND t2 > t1 AND t2 - t1 <= 86400 AND c != a
            LEFT ANTI JOIN (SELECT source, start FROM edges WHERE label = 'role' AND target = 'guard') g
                ON g.source = c AND g.start <= t2""",
}


def main() -> None:
    arguments = _arguments()
    spark = start_session("cepheid graph benchmark", cores=2, config={"spark.sql.shuffle.partitions": "8"})
    edges = _edges(spark, arguments.edges)
    edges.createOrReplaceTempView("edges")
    count = edges.count()
    print(f"{'query':14} {'edges':>12} {'matches':>9} {'by hand s':>10} {'ours s':>10} {'ours/hand':>10}")
    names = arguments.only or list(PATTERNS)
    keep("graphs_spark", [_row(spark, name, edges, count, arguments.plans) for name in names])


def _row(spark: SparkSession, name: str, edges: DataFrame, count: int, plans: bool) -> Figure:
    hand, ours = spark.sql(BY_HAND[name]), cepheid.Graph().read(edges).find(PATTERNS[name])
    if plans:
        hand.explain()
        ours.explain()
    matches = _same_rows(name, hand, ours)
    pairs: list[Pair] = []
    for _ in range(_REPEAT):
        first = _seconds(spark.sql(BY_HAND[name]))
        pairs.append((first, _seconds(cepheid.Graph().read(edges).find(PATTERNS[name]))))
    floor, seconds = typical(pairs)
    print(
        f"{name:14} {count:>12,} {matches:>9,} {floor:>10.2f} {seconds:>10.2f} {seconds / floor:>9.2f}x",
        flush=True,
    )
    return Figure(name, count, matches, floor, seconds)


def _same_rows(name: str, hand: DataFrame, ours: DataFrame) -> int:
    """All matches of both, or there is no figure."""
    from pyspark.sql import functions as F

    times = [F.col("intervals")[i]["start"] for i in range(sum(c.startswith("t") for c in hand.columns))]
    rows = sorted(map(tuple, ours.select("bindings.*", *times).toArrow().to_pandas().itertuples(index=False)))
    expected = sorted(map(tuple, hand.toArrow().to_pandas().itertuples(index=False)))
    assert rows == expected, f"{name}: {len(rows)} matches instead of {len(expected)}"
    assert expected, f"{name}: no match to compare"
    return len(rows)


def _seconds(df: DataFrame) -> float:
    """All rows with all columns, to nowhere."""
    began = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def _edges(spark: SparkSession, count: int) -> DataFrame:
    """Made by Spark out of hashes, the same every time, and kept as Parquet."""
    path = FOLDER / f"edges_{count}"
    if not (path / "_SUCCESS").exists():
        shutil.rmtree(path, ignore_errors=True)
        _made(spark, count).write.parquet(str(path))
    return spark.read.parquet(str(path))


def _made(spark: SparkSession, count: int) -> DataFrame:
    from pyspark.sql import functions as F

    people = count // _EDGES_A_PERSON

    def chance(name: str, upto: int) -> Any:
        return F.pmod(F.xxhash64("id", F.lit(name)), F.lit(upto))

    def person(name: str) -> Any:
        return F.concat(F.lit("person-"), chance(name, people))

    events = spark.range(0, (count - people) // 3, 1, 8)
    kind = F.element_at(F.array(*map(F.lit, _KINDS)), (chance("kind", len(_KINDS)) + 1).cast("int"))
    each = [("kind", kind), ("who", person("who")), ("whom", person("whom"))]
    edge = F.explode(F.array(*(F.struct(F.lit(n).alias("label"), v.alias("target")) for n, v in each)))
    node = F.concat(F.lit("event-"), "id").alias("source")
    acts = events.select(node, edge.alias("edge"), (F.lit(1_700_000_000) + F.col("id") * 5).alias("start"))
    acts = acts.select("source", "edge.label", "edge.target", "start")
    role = F.element_at(F.array(*map(F.lit, ("clerk", "guard", "none"))), (chance("role", 3) + 1).cast("int"))
    roles = spark.range(0, people, 1, 1).select(
        F.concat(F.lit("person-"), "id").alias("source"),
        F.lit("role").alias("label"),
        role.alias("target"),
        F.lit(1_600_000_000).cast("bigint").alias("start"),
    )
    return acts.unionByName(roles)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--only", action="append", choices=list(PATTERNS), help="may be repeated")
    parser.add_argument("--plans", action="store_true", help="also show how Spark runs both")
    return parser.parse_args()


if __name__ == "__main__":
    main()
