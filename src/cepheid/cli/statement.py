"""`cepheid sql`: a statement over files, or over the tables of a Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cepheid.cli.summary import waiting
from cepheid.engines.local.writers import write_table
from cepheid.engines.sql.entrance import sql
from cepheid.errors import InputMistake

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def run_statement(text: str, tables: tuple[str, ...], engine: str, format_: str, out: str | None) -> None:
    named = dict(_name_and_path(table) for table in tables)
    found = _on_spark(text, named) if engine == "spark" else _locally(text, named)
    write_table(found, out, format_)


def _name_and_path(table: str) -> tuple[str, str]:
    name, is_given, path = table.partition("=")
    if not is_given or not name or not path:
        raise InputMistake(
            f"`{table}` is no table", code="bad_option", hint="name a file: --table ticks=ticks.parquet"
        )
    if not Path(path).exists():
        raise InputMistake(f"there is no file or folder {path}", code="no_file")
    return name, path


def _format(path: str) -> str:
    """By the ending of the file, or of those in the folder."""
    first = next((p for p in sorted(Path(path).rglob("*")) if p.suffix in _FORMATS), Path(path))
    if first.suffix not in _FORMATS:
        raise InputMistake(
            f"{path} is of no known kind", code="bad_file", hint=f"files end in {', '.join(_FORMATS)}"
        )
    return _FORMATS[first.suffix]


def _locally(text: str, tables: dict[str, str]) -> Any:
    from pyarrow import dataset

    frames = {name: dataset.dataset(path, format=_format(path)) for name, path in tables.items()}
    with waiting("running"):
        return sql(text, **frames)


def _on_spark(text: str, tables: dict[str, str]) -> Any:
    from cepheid.cli.spark_job import session

    spark = session()
    for name, path in tables.items():
        reader = spark.read.option("header", True).option("inferSchema", True)
        reader.format(_format(path)).load(path).createOrReplaceTempView(name)
    with waiting("running"):
        return sql(text, spark=spark).toArrow()
