"""Complex event processing for Apache Spark, and for one laptop: describe a pattern of events once, find it anywhere.

>>> import cepheid
>>> events = [
...     {"type": "Login", "time": 0, "user": "ann"},
...     {"type": "Transfer", "time": 60, "user": "ann", "amount": 9000},
... ]
>>> query = "Login as l -> Transfer[user == l.user and amount > 5000] as t .within(5m) .emit(user: t.user)"
>>> cepheid.match(query, events)
[{'user': 'ann'}]
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Names are found when they are asked for, so that importing cepheid imports no engine.
_HOMES = {
    "compile": "cepheid.engines.program",
    "Program": "cepheid.engines.program",
    "run": "cepheid.engines.entrance",
    "match": "cepheid.engines.entrance",
    "why_not": "cepheid.engines.why_not",
    "WhyNot": "cepheid.explain.why_not",
    "diagrams": "cepheid.engines.local.diagrams",
    "plot": "cepheid.engines.plotting",
    "Explanation": "cepheid.explain.explanation",
    "sql": "cepheid.engines.sql.entrance",
    "Results": "cepheid.engines.local.run",
    "CepheidWarning": "cepheid.errors",
    "Session": "cepheid.engines.local.live",
    "Pattern": "cepheid.pattern.model",
    "Stream": "cepheid.pattern.model",
    "CepheidError": "cepheid.errors",
    "event": "cepheid.pattern.builder",
    "every": "cepheid.pattern.builder",
    "with_forecast": "cepheid.pattern.forecast_builder",
    "train_forecast": "cepheid.engines.forecast_training",
    "ForecastModels": "cepheid.engines.forecast_models",
    "group": "cepheid.pattern.builder",
    "seq": "cepheid.pattern.builder",
    "all_": "cepheid.pattern.builder",
    "not_": "cepheid.pattern.builder",
    "not_next": "cepheid.pattern.builder",
    "and_": "cepheid.pattern.builder",
    "or_": "cepheid.pattern.builder",
    "field": "cepheid.pattern.conditions",
    "first": "cepheid.pattern.conditions",
    "last": "cepheid.pattern.conditions",
    "count": "cepheid.pattern.conditions",
    "sigma_patterns": "cepheid.engines.sigma",
    "count_trends": "cepheid.pattern.trend_functions",
    "count_events": "cepheid.pattern.trend_functions",
    "sum_trends": "cepheid.pattern.trend_functions",
    "avg_trends": "cepheid.pattern.trend_functions",
    "min_trends": "cepheid.pattern.trend_functions",
    "max_trends": "cepheid.pattern.trend_functions",
    "Graph": "cepheid.engines.graph.graph",
    "Sifter": "cepheid.engines.graph.sifter",
    "graph_patterns": "cepheid.engines.graph.patterns",
    "graph_pattern": "cepheid.pattern.graph_builder",
    "stage": "cepheid.pattern.graph_builder",
    "edge": "cepheid.pattern.graph_builder",
    "no_edge": "cepheid.pattern.graph_builder",
    "var": "cepheid.pattern.graph_builder",
    "value": "cepheid.pattern.graph_builder",
    "Rules": "cepheid.engines.rules.session",
    "run_rules": "cepheid.engines.rules.run",
    "rule": "cepheid.pattern.rule_builder",
    "detect": "cepheid.engines.spark.run",
    "sift": "cepheid.engines.spark.sifting",
    "explain_spark": "cepheid.engines.spark.explaining",
    "write_stream": "cepheid.engines.spark.writing",
    "ParquetSink": "cepheid.engines.spark.sinks",
    "KafkaSink": "cepheid.engines.spark.sinks",
    "PrometheusListener": "cepheid.engines.spark.prometheus",
    "load_ipython_extension": "cepheid.notebook.extension",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cepheid' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
