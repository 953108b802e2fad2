"""Aggregates of row patterns that are known here, and so can be kept while rows are matched, by their names."""

from __future__ import annotations

# What each is called here: the databases have one meaning for these.
_COMMON = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "min": "min",
    "max": "max",
    "stddev": "stddev_samp",
    "stddev_samp": "stddev_samp",
    "std": "stddev_samp",
    "stddev_pop": "stddev_pop",
    "variance": "var_samp",
    "var_samp": "var_samp",
    "var_pop": "var_pop",
    "median": "median",
    "bool_and": "bool_and",
    "every": "bool_and",
    "bool_or": "bool_or",
    "some": "bool_or",
    "any_value": "any_value",
}
# Of the same name, but what they do with nulls differs: DuckDB's `count_if` of nothing is null.
_OF_DUCKDB = {
    "count_if": "count_if",
    "countif": "count_if",
    "arg_max": "arg_max",
    "argmax": "arg_max",
    "max_by": "arg_max",
    "arg_min": "arg_min",
    "argmin": "arg_min",
    "min_by": "arg_min",
    "list": "list",
    "array_agg": "list",
}
_OF_SPARK = {
    "count_if": "count",
    "countif": "count",
    "max_by": "max_by",
    "min_by": "min_by",
    "collect_list": "collect_list",
    "array_agg": "collect_list",
    "collect_set": "collect_set",
    "any": "bool_or",
}
OF_TWO = ("arg_max", "arg_min", "max_by", "min_by")
KEEPS_NULLS = ("list",)
# Quickest where rows are matched, in measures too. Of all others a database knows more.
SUMMED = ("count", "sum", "avg", "min", "max")


def kept_names(dialect: str) -> dict[str, str]:
    return _COMMON | (_OF_SPARK if dialect == "spark" else _OF_DUCKDB)
