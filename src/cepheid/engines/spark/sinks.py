"""Where the rows of a micro-batch go. Spark may hand out a batch again after a crash: a sink is told its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cepheid.errors import InputMistake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@runtime_checkable
class Sink(Protocol):
    """Takes the rows of one micro-batch. The same number again replaces what it took before."""

    def check(self, columns: list[str]) -> None:
        """Refuse, before the query starts, columns that it cannot write."""

    def write(self, rows: DataFrame, batch: int) -> None: ...

    def write_nothing(self, rows: DataFrame, batch: int, again: bool) -> None:
        """There are no rows. `again`: an earlier attempt at this batch may have written some."""


Write = Callable[["DataFrame", int], None]
Given = str | PathLike[str] | Sink | Write


@dataclass(frozen=True)
class ParquetSink:
    """A folder of Parquet files, one sub-folder for each micro-batch: a batch that comes again replaces its own.

    So each row is there once, whatever crashed in between. `spark.read.parquet(path)` gives all of them, with the
    number of the batch in a column of its own.

    Args:
        path: The folder.
        column: The name of the column that holds the number of the batch.
    """

    path: str | PathLike[str]
    column: str = "batch"

    def check(self, columns: list[str]) -> None:
        """Can rows with these columns be written? An error says why not."""
        if self.column.lower() in (name.lower() for name in columns):
            raise InputMistake(
                f"the rows have a column `{self.column}`, and the sink writes one of that name too",
                code="batch_column",
                hint='name the sink\'s: ParquetSink(path, column="written_in")',
            )

    def write(self, rows: DataFrame, batch: int) -> None:
        # Overwriting removes the whole folder first, with what a half attempt has left in it.
        """Writes the rows of a micro-batch."""
        rows.write.mode("overwrite").parquet(self._folder(batch))

    def write_nothing(self, rows: DataFrame, batch: int, again: bool) -> None:
        """A micro-batch without rows; `again`: it may have had some in an attempt before."""
        if again and _exists(rows, self._folder(batch)):
            self.write(rows, batch)

    def _folder(self, batch: int) -> str:
        return f"{fspath(self.path)}/{self.column}={batch}"

    def of(self, stream: str) -> ParquetSink:
        """The sink of one stream of several."""
        return replace(self, path=f"{fspath(self.path)}/{stream}")


@dataclass(frozen=True)
class KafkaSink:
    """A topic: a JSON object for each row, with `key` as the record's key.

    Kafka keeps what a crashed attempt has written, so a batch that comes again is there twice: readers tell rows
    apart by the match id, which is the same in every attempt.

    Args:
        servers: The brokers, as Kafka's `bootstrap.servers`.
        topic: The topic.
        key: The column whose value is the record's key; None for no key.
        options: More of Spark's options for the sink, such as `kafka.security.protocol`.
    """

    servers: str
    topic: str
    key: str | None = "match_id"
    options: Mapping[str, str] = field(default_factory=dict)

    def check(self, columns: list[str]) -> None:
        """Can rows with these columns be written? An error says why not."""
        if self.key is not None and self.key not in columns:
            raise InputMistake(
                f"the rows have no column `{self.key}` to be the key of a Kafka record",
                code="no_kafka_key",
                hint=f"add it to `.emit`, for example `{self.key}: match_id()`, or say KafkaSink(..., key=None)",
            )

    def write(self, rows: DataFrame, batch: int) -> None:
        """Writes the rows of a micro-batch."""
        from pyspark.sql import functions as F

        value = F.to_json(F.struct(*map(_named, rows.columns)), {"ignoreNullFields": "false"}).alias("value")
        key = [_named(self.key).cast("string").alias("key")] if self.key is not None else []
        settings = {"kafka.bootstrap.servers": self.servers, "topic": self.topic, **self.options}
        rows.select(*key, value).write.format("kafka").options(**settings).save()

    def write_nothing(self, rows: DataFrame, batch: int, again: bool) -> None:
        """A micro-batch without rows; `again`: it may have had some in an attempt before."""


@dataclass(frozen=True)
class CallSink:
    """A function of the user's."""

    call: Write

    def check(self, columns: list[str]) -> None:
        pass

    def write(self, rows: DataFrame, batch: int) -> None:
        self.call(rows, batch)

    def write_nothing(self, rows: DataFrame, batch: int, again: bool) -> None:
        self.call(rows, batch)


def as_sink(given: Given, what: str) -> Sink:
    """What the user gave, as a sink."""
    if isinstance(given, str | PathLike):
        return ParquetSink(given)
    if isinstance(given, Sink):
        return given
    if callable(given):
        return CallSink(given)
    raise InputMistake(
        f"`{what}` is no sink: {given!r}",
        code="bad_sink",
        hint="give a path, a ParquetSink or KafkaSink, or a function of (rows, batch)",
    )


def _exists(rows: DataFrame, folder: str) -> bool:
    """By Spark's own reader, so that it is any file system's answer, over Connect too."""
    from pyspark.errors import AnalysisException

    try:
        rows.sparkSession.read.format("binaryFile").load(folder).schema  # noqa: B018
    except AnalysisException as problem:
        if problem.getCondition() == "PATH_NOT_FOUND":
            return False
        raise
    return True


def _named(name: str) -> Any:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")
