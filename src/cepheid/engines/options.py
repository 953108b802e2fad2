"""How events are read and how their time is understood: the same options for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cepheid.engines.forecast_models import ForecastModels, models_of
from cepheid.engines.local.events import Columns
from cepheid.engines.local.reading import BATCH
from cepheid.engines.local.times import to_microseconds
from cepheid.errors import InputMistake
from cepheid.pattern.duration import duration
from cepheid.time.lateness import Lateness, TooLatePolicy

Duration = str | int | float | timedelta


@dataclass(frozen=True)
class Options:
    """How events are read and how their time is understood."""

    columns: Columns = field(default_factory=Columns)
    partition_by: tuple[str, ...] = ()
    now: int | None = None
    lateness: Lateness | None = None  # None: the input is sorted as a whole, nothing is late
    bad_rows: str = "fail"
    disorder: int | None = None  # as it was said; None: it was not
    policy: TooLatePolicy = TooLatePolicy.FAIL
    batch_size: int = BATCH  # how many events are read before what they made certain is given
    buckets: int | None = None  # Spark streams: how many buckets the keys are spread over
    end_type: str | None = None  # Spark streams: an event of this type says that the stream is over
    memory: int | None = None  # bytes of rows kept for the compiled matcher; beyond it they go to files
    threads: int | None = None  # of the compiled matcher; None: as many as there are cores
    models: ForecastModels | None = None  # what forecasts learned before


def make_options(
    time: str = "time",
    type: str = "type",
    order: str | Sequence[str] | None = None,
    end: str | None = None,
    time_unit: str = "s",
    partition_by: str | Sequence[str] | None = None,
    now: Any = None,
    disorder: Duration | None = None,
    lateness: Duration | None = None,
    too_late: str = "fail",
    bad_rows: str = "fail",
    buckets: int | None = None,
    end_type: str | None = None,
    memory: int | None = None,
    threads: int | None = None,
    models: Any = None,
) -> Options:
    columns = Columns(time, type, _names(order), end, time_unit)
    late, policy = None, policy_of(too_late)
    if disorder is not None or lateness is not None:
        late = Lateness(duration(disorder or 0), duration(lateness or 0), policy)
    moment = None if now is None else to_microseconds(now, time_unit)
    return Options(
        columns,
        _names(partition_by),
        moment,
        late,
        bad_rows,
        None if disorder is None else duration(disorder),
        policy,
        buckets=buckets,
        end_type=end_type,
        memory=memory,
        threads=threads,
        models=models_of(models),
    )


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def policy_of(name: str) -> TooLatePolicy:
    try:
        return TooLatePolicy(name.replace("-", "_"))
    except ValueError:
        raise InputMistake(
            f"{name!r} is not a policy for events that come too late",
            code="bad_option",
            hint="use drop, dead_letter or fail",
        ) from None
