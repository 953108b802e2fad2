"""Events for Spark by a path or by any format Spark can read, as a DataFrame whose times are instants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.engines.local.events import Columns
from cepheid.engines.local.frames import SCALARS
from cepheid.engines.local.times import PER_SECOND
from cepheid.engines.program import plain_type, types_read
from cepheid.errors import CepheidError, InputMistake, SetupMistake
from cepheid.pattern.model import Declarations
from cepheid.pattern.types import DECIMAL, NULL, STRING, UNKNOWN, Type, common

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SUFFIXES = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".orc": "orc",
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
FILES = ("json", "csv", "parquet", "orc")
_DEFAULTS = {"csv": {"header": "true", "inferSchema": "true"}}
_TOPICS = ("subscribe", "subscribePattern", "assign")


@dataclass(frozen=True)
class Reading:
    """What is read and how. `path` is a file, a directory, a pattern of files, or a topic of Kafka."""

    path: str | None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None  # as Spark writes it: "type string, time timestamp"
    streaming: bool = False
    skip_bad_rows: bool = False

    @property
    def is_files(self) -> bool:
        return self.format in FILES


def read_source(
    spark: SparkSession, reading: Reading, columns: Columns, declarations: Declarations
) -> DataFrame:
    """The events as a DataFrame, bounded or streaming."""
    reading = settled(spark, reading)
    with _explained(reading):
        if reading.format == "kafka":
            rows = _kafka(spark, reading, columns, declarations)
        elif reading.is_files:
            rows = files(spark, reading)
        else:
            rows = _loaded(spark, reading, {}, reading.schema)
    timed = _with_instants(rows, columns, reading)
    if not reading.skip_bad_rows or columns.time not in timed.columns:
        return timed
    return timed.where(_named(columns.time).isNotNull())


def _loaded(
    spark: SparkSession, reading: Reading, options: Mapping[str, str], schema: str | StructType | None
) -> DataFrame:
    reader: Any = spark.readStream if reading.streaming else spark.read
    reader = reader.format(reading.format).options(**{**options, **reading.options})
    if schema is not None:
        reader = reader.schema(schema)
    return reader.load(reading.path) if reading.path else reader.load()  # type: ignore[no-any-return]


# --- files ---------------------------------------------------------------------------------------------------


def settled(spark: SparkSession, reading: Reading) -> Reading:
    """With the format its files have, and with the path as Spark finds it."""
    format = reading.format or format_of(reading.path, here=runs_here(spark))
    path = reading.path
    if path and (format in FILES or Path(path).exists()):
        path = located(spark, path)
    return replace(reading, format=format, path=path)


def runs_here(spark: SparkSession) -> bool:
    return (spark.conf.get("spark.master", "") or "").startswith("local")


def located(spark: SparkSession, path: str) -> str:
    """From the folder we are in, which Java's may not be. On a cluster a path is the cluster's business."""
    return path if ":/" in path or not runs_here(spark) else str(Path(path).absolute())


def format_of(path: str | None, here: bool = True) -> str:
    """The format of the files at a path, by their names. `here`: it is a path of this machine."""
    if path in (None, "", "-"):
        raise InputMistake(
            "Spark cannot read standard input", code="bad_input", hint="name a file, a directory or a format"
        )
    # In other file systems only Spark can look.
    names = _names(str(path)) if here and "://" not in str(path) else [str(path)]
    found = {_format(name) for name in names} - {None}
    if len(found) == 1:
        return str(found.pop())
    what = f"{path} holds files of several formats" if found else f"{path} is of an unknown format"
    raise InputMistake(
        what,
        code="unknown_format",
        hint="Spark reads .parquet, .orc, .jsonl, .ndjson, .json (one object a line) and .csv by their names; "
        "say which it is with --source-format",
    )


def _names(path: str) -> list[str]:
    here = Path(path.removeprefix("file:"))
    if here.is_dir():
        # A Spark table is a directory of directories, and what begins so is none of its data.
        inside = (p.relative_to(here) for p in here.rglob("*") if p.is_file())
        names = [p.name for p in inside if not any(part[0] in "._" for part in p.parts)]
        if not names:
            raise InputMistake(f"there are no event files in {path}", code="no_such_file")
        return names
    found = [str(here)] if here.exists() else glob(str(here), recursive=True) if has_magic(path) else []
    if not found:
        raise InputMistake(f"there is no file {path}", code="no_such_file")
    return [name for p in found for name in (_names(p) if Path(p).is_dir() else [p])]


def _format(name: str) -> str | None:
    bare = name.lower()
    for ending in _PACKED:
        bare = bare.removesuffix(ending)
    return _SUFFIXES.get(Path(bare).suffix)


def files(spark: SparkSession, reading: Reading) -> DataFrame:
    """Rows as the files have them."""
    options = dict(_DEFAULTS.get(reading.format or "", {}))
    if reading.format in ("json", "csv"):
        options["mode"] = "DROPMALFORMED" if reading.skip_bad_rows else "FAILFAST"
    schema: Any = reading.schema
    if reading.streaming and schema is None:
        # Of a stream Spark infers nothing, so the files that are there say it.
        schema = _loaded(spark, replace(reading, streaming=False), options, None).schema
    if reading.streaming and reading.path and Path(reading.path).is_file():
        raise InputMistake(
            f"{reading.path} is one file, and a stream of files is a directory",
            code="bad_input",
            hint="name the directory that new files come to",
        )
    return _loaded(spark, reading, options, schema)


# --- Kafka ---------------------------------------------------------------------------------------------------


def _kafka(spark: SparkSession, reading: Reading, columns: Columns, declarations: Declarations) -> DataFrame:
    """The JSON objects in the records' values."""
    from pyspark.sql import functions as F

    schema = reading.schema or declared_schema(declarations, columns)
    topic = {} if reading.path is None or _names_topic(reading.options) else {"subscribe": reading.path}
    records = _loaded(spark, replace(reading, path=None, schema=None), topic, None)
    mode = "PERMISSIVE" if reading.skip_bad_rows else "FAILFAST"
    text = F.col("value").cast("string")
    # A record without a value is Kafka's way to delete one: no event.
    parsed = records.where(F.col("value").isNotNull()).select(
        F.from_json(text, schema, {"mode": mode}).alias("e")
    )
    events = parsed.select("e.*")
    kind = plain_type(declarations)
    if kind is None or columns.type not in events.columns:
        return events
    return events.withColumn(columns.type, F.coalesce(_named(columns.type), F.lit(kind)))


def _names_topic(options: Mapping[str, str]) -> bool:
    return any(name.lower() in map(str.lower, options) for name in _TOPICS)


def declared_schema(declarations: Declarations, columns: Columns, times: Type = STRING) -> StructType:
    """The columns of a program's declared events; times as text, because they may be numbers or dates."""
    from pyspark.sql.pandas.types import from_arrow_schema

    declared = {e.name: dict(e.fields) for e in declarations.events}
    own = {s.name for s in declarations.streams}
    read = dict.fromkeys(t for s in declarations.streams for t in types_read(s) if t not in own)
    missing = [f"`{name}`" for name in read if name not in declared]
    if missing:
        raise InputMistake(
            f"the fields of {', '.join(missing)} are not known",
            code="no_schema",
            hint="declare the events in the program, `event NAME { field: type, ... }`, "
            'or say --source-schema "type string, time string, ..."',
        )
    fields = _together(declared[name] for name in read)
    fields = {columns.type: STRING} | fields | dict.fromkeys(columns.times(), times)
    return from_arrow_schema(pa.schema([(n, _arrow(t)) for n, t in fields.items()]))


def _together(events: Iterable[Mapping[str, Type]]) -> dict[str, Type]:
    """The fields of all event types; text where two of them disagree."""
    found: dict[str, Type] = {}
    for fields in events:
        for name, kind in fields.items():
            found[name] = common(found.get(name, NULL), kind) or STRING
    return found


def _arrow(kind: Type) -> pa.DataType:
    if kind.item is not None:
        return pa.list_(_arrow(kind.item))
    if kind.name == "struct":
        return pa.struct([(n, _arrow(t)) for n, t in kind.fields])
    if kind == DECIMAL:
        return pa.decimal128(38, 18)
    return pa.string() if kind in (NULL, UNKNOWN) else SCALARS[kind]


# --- times ---------------------------------------------------------------------------------------------------

# A time of day with a letter or a sign behind it: `Z`, `+02:00`, `Europe/Berlin`.
_WITH_ZONE = r":\d\d.*[A-Za-z+\-]"
_NUMBER = r"^\s*[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\s*$"
_WHOLE = ("byte", "short", "integer", "long")


def _with_instants(rows: DataFrame, columns: Columns, reading: Reading) -> DataFrame:
    """Time columns as timestamps, whatever they are written as. Without a zone it is UTC."""
    kinds = {f.name: f.dataType.typeName() for f in rows.schema.fields}
    for name in columns.times():
        if name not in kinds:
            continue  # said by who plans the query
        instant = _instant(name, kinds[name], columns.time_unit, reading)
        if instant is not None:
            rows = rows.withColumn(name, instant)
    return rows


def _instant(name: str, kind: str, unit: str, reading: Reading) -> Column | None:
    from pyspark.sql import functions as F

    column = _named(name)
    if kind in ("string", "varchar", "char"):
        # A number in a JSON record of Kafka is read as text too.
        return _of_text(column, unit, numbers=reading.format == "kafka", lenient=reading.skip_bad_rows)
    if kind in _WHOLE or kind in ("float", "double", "decimal"):
        return _of_number(column, kind, unit)
    if kind == "timestamp_ntz":
        return F.timestamp_micros(_micros_of_local(column))
    if kind == "date":
        return F.timestamp_seconds(F.unix_date(column).cast("bigint") * 86_400)
    return None


def _of_text(column: Column, unit: str, *, numbers: bool, lenient: bool) -> Column:
    from pyspark.sql import functions as F

    def cast(text: Column, kind: str) -> Column:
        return text.try_cast(kind) if lenient else text.cast(kind)

    # Not the session's zone, whatever it is.
    plain = F.timestamp_micros(_micros_of_local(cast(column, "timestamp_ntz")))
    written = F.when(column.rlike(_WITH_ZONE), cast(column, "timestamp")).otherwise(plain)
    if not numbers:
        return written
    number = _of_number(cast(column, "double"), "double", unit)
    return F.when(column.rlike(_NUMBER), number).otherwise(written)


def _micros_of_local(column: Column) -> Column:
    from pyspark.sql import functions as F

    epoch = F.lit("1970-01-01").cast("timestamp_ntz")
    return F.timestamp_diff("MICROSECOND", epoch, column)


def _of_number(column: Column, kind: str, unit: str) -> Column:
    """As the local engine rounds: whole numbers down, others to the nearest microsecond."""
    from pyspark.sql import functions as F

    per_second = PER_SECOND[unit]
    if kind in _WHOLE:
        whole = column.cast("bigint")
        if per_second <= 10**6:
            return F.timestamp_micros(whole * F.lit(10**6 // per_second).cast("bigint"))
        # div cuts off towards zero; before 1970 that would be up.
        return F.timestamp_micros(
            F.floor(whole.cast("decimal(20,0)") / F.lit(per_second // 10**6)).cast("bigint")
        )
    micros = column.cast("double") * F.lit(1e6) / F.lit(float(per_second))
    return F.timestamp_micros(F.rint(micros).cast("bigint"))


def _named(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


# --- what went wrong -----------------------------------------------------------------------------------------


@contextmanager
def _explained(reading: Reading) -> Iterator[None]:
    """Spark's refusals of a source in one sentence."""
    try:
        yield
    except CepheidError:
        raise
    except Exception as failure:  # of Spark, or of Java, which Spark does not always translate
        raise _refusal(failure, reading) from None


def _refusal(failure: Exception, reading: Reading) -> InputMistake | SetupMistake:
    found = re.search(r"\[([A-Z_]+)[.A-Z_]*\] (.*)", str(failure))
    code, said = (found[1], found[2]) if found else ("", str(failure).partition("\n")[0])
    said = said.partition(" SQLSTATE")[0].strip()
    if reading.format == "kafka" and ("find data source" in said.lower() or code == "DATA_SOURCE_NOT_FOUND"):
        return SetupMistake(
            "Spark has no Kafka connector: it is a jar of its own, not part of pyspark",
            code="no_connector",
            hint="--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION, of Spark's version",
        )
    if code == "DATA_SOURCE_NOT_FOUND":
        return InputMistake(
            f"Spark knows no format `{reading.format}`",
            code="unknown_format",
            hint="formats that Spark does not bring along need a jar: --conf spark.jars=PATH",
        )
    if code == "PATH_NOT_FOUND":
        return InputMistake(f"there is no file {reading.path}", code="no_such_file")
    if code == "UNABLE_TO_INFER_SCHEMA":
        return InputMistake(f"there are no events in {reading.path}", code="no_events")
    where = f" {reading.path}" if reading.path else ""
    return InputMistake(f"Spark cannot read{where} as {reading.format}: {said}", code="bad_source")


__all__ = ["FILES", "Reading", "declared_schema", "format_of", "located", "read_source", "settled"]
