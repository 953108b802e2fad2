"""What a forecast says, by name: for `.where` and `.emit` after `.forecast`, and as the columns of its rows."""

from __future__ import annotations

from cepheid.pattern.types import DURATION, FLOAT, INT, STRING, TIMESTAMP, Type

FORECAST_VALUES: dict[str, Type] = {
    "forecast_probability": FLOAT,
    "forecast_time": DURATION,
    "forecast_low": DURATION,
    "forecast_high": DURATION,
    "forecast_state": STRING,
    "forecast_context_depth": INT,
    "forecast_until": TIMESTAMP,  # complete by then: the horizon, or the end of the window
    "forecast_until_event": INT,  # complete with this event of the partition, at the latest
}

# What every forecast and every outcome is told apart by, beside the partition columns.
RUN_COLUMNS: dict[str, Type] = {"run_id": STRING, "time": TIMESTAMP, "event": INT, "start": TIMESTAMP}
