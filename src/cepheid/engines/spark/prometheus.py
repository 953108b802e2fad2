"""A query's progress for Prometheus: a listener that keeps counters and gauges, and an endpoint that shows them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cepheid.engines.spark.metrics import bucket_states, observed_in
from cepheid.errors import SetupMistake

_COUNTERS = {
    "events": "Events that reached a matcher",
    "late": "Events behind the watermark that were still matched",
    "too_late": "Events further behind the watermark than the lateness",
    "dead_letters": "Events written as dead letters",
    "bytes_written": "State written to Spark's store, before compression",
    "rebuilt": "Buckets rebuilt from Spark's store because the worker did not have them",
}
_BY_STREAM = {
    "matches": "Matches found",
    "timeouts": "Runs that their window ended",
    "forecasts": "Forecasts of open runs",
    "outcomes": "Runs that were foretold and whose end is known",
}
_GAUGES = {
    "running": "1 while the query runs",
    "batch": "Number of the last micro-batch",
    "open_keys": "Keys with open runs, in all buckets that have had work since the start",
    "waiting_events": "Events that wait for the watermark, in all buckets that have had work since the start",
    "watermark_timestamp_seconds": "The watermark",
    "watermark_lag_seconds": "The clock's time minus the watermark",
    "batch_duration_seconds": "How long the last micro-batch took",
    "input_rows_per_second": "Rows that came in",
    "processed_rows_per_second": "Rows that were worked off",
    "state_rows": "Rows in Spark's state store",
    "state_bytes": "Memory of Spark's state store",
}


def PrometheusListener(port: int = 9464, address: str = "127.0.0.1") -> Any:
    """A listener for `spark.streams.addListener(...)` that shows the queries of this process at `/metrics`.

    Its `port` is the one that is listened to (0 takes any that is free), and `close()` ends it.

    Args:
        port: The port of the metrics' address, 0 for any that is free.
        address: Where it is listened to; "0.0.0.0" for other machines too.
    """
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """Spark asks for a subclass of its own; this one hands everything on."""

        def __init__(self) -> None:
            self.endpoint = Endpoint(port, address)
            self.port = self.endpoint.port
            self.names: dict[str, str] = {}

        def onQueryStarted(self, event: Any) -> None:
            self.names[str(event.runId)] = event.name or str(event.id)
            self.endpoint.started(self.names[str(event.runId)])

        def onQueryProgress(self, event: Any) -> None:
            progress = event.progress
            self.endpoint.progressed(progress.name or str(progress.id), progress)

        def onQueryIdle(self, event: Any) -> None:
            pass

        def onQueryTerminated(self, event: Any) -> None:
            name = self.names.pop(str(event.runId), None)
            if name is not None:
                self.endpoint.ended(name)

        def close(self) -> None:
            self.endpoint.close()

    return Listener()


class Endpoint:
    """Counters and gauges of queries, and the small HTTP server that shows them."""

    def __init__(self, port: int, address: str) -> None:
        client = _prometheus_client()
        self.registry = client.CollectorRegistry()
        made = {"registry": self.registry, "namespace": "cepheid"}
        self.counters = {n: client.Counter(n, text, ["query"], **made) for n, text in _COUNTERS.items()}
        self.by_stream = {
            n: client.Counter(n, text, ["query", "stream"], **made) for n, text in _BY_STREAM.items()
        }
        self.gauges = {n: client.Gauge(n, text, ["query"], **made) for n, text in _GAUGES.items()}
        self.buckets: dict[str, dict[int, tuple[int, int]]] = {}
        self.server, self.thread = client.start_http_server(port, addr=address, registry=self.registry)
        self.port: int = self.server.server_port

    def started(self, query: str) -> None:
        self.buckets[query] = {}
        self._set(query, {"running": 1})

    def ended(self, query: str) -> None:
        self._set(query, {"running": 0})

    def progressed(self, query: str, progress: Any) -> None:
        sums = observed_in(progress)
        if sums is None:  # another query of the same session
            return
        self._count(query, sums)
        self._hold(query, sums)
        self._set(query, _gauges(progress))
        self._keep_watermark(query, progress)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def _count(self, query: str, sums: Mapping[str, Any]) -> None:
        for name, counter in self.counters.items():
            counter.labels(query).inc(sums.get(name) or 0)
        for name, value in sums.items():
            kind, _, stream = name.partition(".")
            if stream:
                self.by_stream[kind].labels(query, stream).inc(value)

    def _hold(self, query: str, sums: Mapping[str, Any]) -> None:
        """A bucket without work says nothing, and still holds what it held."""
        held = self.buckets.setdefault(query, {})
        latest: dict[int, tuple[int, int]] = {}
        for state in bucket_states(sums):  # of each unit of the program one
            keys, waiting = latest.get(state.bucket, (0, 0))
            latest[state.bucket] = (keys + state.keys, waiting + state.waiting)
        held |= latest
        keys, waiting = (sum(column) for column in zip((0, 0), *held.values(), strict=True))
        self._set(query, {"open_keys": keys, "waiting_events": waiting})

    def _keep_watermark(self, query: str, progress: Any) -> None:
        text = progress.eventTime.get("watermark")
        seconds = datetime.fromisoformat(text).timestamp() if text else 0
        if seconds > 0:  # 1970 is Spark's word for none yet
            self._set(query, {"watermark_timestamp_seconds": seconds})
            # Worked out when it is asked for: the lag of a query that hangs must grow.
            self.gauges["watermark_lag_seconds"].labels(query).set_function(lambda: time.time() - seconds)

    def _set(self, query: str, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.gauges[name].labels(query).set(value)


def _gauges(progress: Any) -> dict[str, float]:
    return {
        "batch": progress.batchId,
        "batch_duration_seconds": progress.batchDuration / 1000,
        "input_rows_per_second": _number(progress.inputRowsPerSecond),
        "processed_rows_per_second": _number(progress.processedRowsPerSecond),
        "state_rows": sum(o.numRowsTotal for o in progress.stateOperators),
        "state_bytes": sum(o.memoryUsedBytes for o in progress.stateOperators),
    }


def _number(value: Any) -> float:
    return 0.0 if value is None else float(value)


def _prometheus_client() -> Any:
    try:
        import prometheus_client
    except ImportError:
        raise SetupMistake(
            "prometheus-client is not installed", code="no_prometheus", hint="pip install 'cepheid[metrics]'"
        ) from None
    return prometheus_client
