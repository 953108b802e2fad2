"""What a checkpoint was started with, kept beside Spark's own files, so that a restart is checked on the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from cepheid.engines.spark.bucket_store import STATE_VERSION, check_start
from cepheid.engines.spark.run import SparkJob
from cepheid.engines.spark.units import units_of
from cepheid.errors import SnapshotMistake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "cepheid"


@dataclass(frozen=True)
class Start:
    """What must be the same at every restart."""

    version: int
    buckets: int
    program: str
    dead_letters: bool  # then whole events are kept in the state
    idle_after: bool  # then the heartbeat is one of the query's sources


def start_of(job: SparkJob, dead_letters: bool, idle_after: bool) -> Start:
    keyed = any(unit.key for unit in units_of(job.program))
    buckets = job.buckets if keyed else 1
    return Start(STATE_VERSION, buckets, str(job.program), dead_letters, idle_after)


def checked(job: SparkJob, path: str, dead_letters: bool, idle_after: bool) -> SparkJob:
    """The job, with as many buckets as before if nobody says how many. A checkpoint of another set-up is refused; one
    that is new is marked."""
    spark = job.df.sparkSession
    before = _read(spark, path)
    if before is None:
        _write(spark, path, start_of(job, dead_letters, idle_after))
        return job
    if job.options.buckets is None:
        job = replace(job, options=replace(job.options, buckets=before["buckets"]))
    _check(before, start_of(job, dead_letters, idle_after))
    return job


def _check(before: Mapping[str, Any], now: Start) -> None:
    """What the state itself is refused for, said before the query starts; then what only the query knows."""
    check_start(before, now.buckets, now.program)
    for option, value in (("dead_letters", now.dead_letters), ("idle_after", now.idle_after)):
        if before[option] != value:
            was = "without" if value else "with"
            raise SnapshotMistake(
                f"the checkpoint was started {was} `{option}`",
                code=f"{option}_changed",
                hint=f"go on {was} it, or start with a new checkpoint",
            )


def _read(spark: SparkSession, path: str) -> Mapping[str, Any] | None:
    from pyspark.errors import AnalysisException

    try:
        rows = spark.read.text(f"{path}/{FOLDER}").collect()
    except AnalysisException as problem:
        if problem.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    # No row: the very first start died while it wrote, and no query has run.
    return dict(json.loads(rows[0][0])) if rows else None


def _write(spark: SparkSession, path: str, start: Start) -> None:
    """By Spark's own writer: any file system, over Connect too."""
    text = json.dumps(asdict(start))
    lines = spark.createDataFrame([(text,)], "value string").coalesce(1)
    lines.write.mode("overwrite").text(f"{path}/{FOLDER}")
