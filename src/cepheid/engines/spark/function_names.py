"""Which names are functions and aggregates of a Spark session, users' own among them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BUILT_IN = "org.apache.spark.sql.catalyst.expressions."
_ELSEWHERE = ("BitmapConstructAgg", "BitmapOrAgg", "BitmapAndAgg")  # aggregates that lie beside the others
_ONLY_WHOLE = ("median", "percentile_cont", "percentile_disc")  # Spark allows no order in their windows
_KNOWN: dict[str, str] = {}  # classes of functions that every session has


class SparkFunctions:
    dialect = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._own: dict[str, bool] = {}

    def is_aggregate(self, name: str) -> bool:
        home = self._class(name)
        if home.startswith(_BUILT_IN):
            short = home.removeprefix(_BUILT_IN)
            return short.startswith("aggregate.") or short in _ELSEWHERE
        if home and name not in self._own:
            self._own[name] = self._groups(name)
        return self._own.get(name, False)

    def takes_filter(self, name: str) -> bool:
        return self._class(name).startswith(_BUILT_IN)

    def runs(self, name: str) -> bool:
        return self.takes_filter(name) and name not in _ONLY_WHOLE

    def is_function(self, name: str) -> bool:
        return name in self._names or bool(self._class(name))

    def all_names(self) -> Iterable[str]:
        return self._names

    @cached_property
    def _names(self) -> set[str]:
        return {row[0].lower() for row in self.spark.sql("SHOW FUNCTIONS").collect()}

    def _class(self, name: str) -> str:
        """The class of a function, as Spark describes it; empty if there is none."""
        if name not in _KNOWN:
            found = self._described(name)
            if not found.startswith(_BUILT_IN):
                return found
            _KNOWN[name] = found
        return _KNOWN[name]

    def _described(self, name: str) -> str:
        if name not in self._names:
            return ""
        lines = [row[0] for row in self.spark.sql(f"DESCRIBE FUNCTION `{name}`").collect()]
        return next((line.removeprefix("Class: ") for line in lines if line.startswith("Class: ")), "")

    def _groups(self, name: str) -> bool:
        """Is a user's function an aggregate? Then it may stand over a column that is not grouped by."""
        from pyspark.errors import AnalysisException

        for count in range(1, 6):
            columns = ", ".join(f"a{i}" for i in range(count))
            rows = f"(SELECT 0 AS g, {', '.join(f'1 AS a{i}' for i in range(count))})"
            try:
                self.spark.sql(f"SELECT g, `{name}`({columns}) FROM {rows} GROUP BY g").schema  # noqa: B018
            except AnalysisException as problem:
                if (problem.getCondition() or "").startswith("MISSING_AGGREGATION"):
                    return False
            else:
                return True
        return False
