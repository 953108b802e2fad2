"""Input taken as it comes, with a watermark: if nothing comes late, the answer is that of all events in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.engines.columnar.event_batch import EventBatch
from cepheid.engines.columnar.instants import Numbers
from cepheid.engines.columnar.scan import Scan
from cepheid.engines.local.events import Columns

_AGES = 2**60  # microseconds: no two events are that far apart


def comes_in_time(scan: Scan, columns: Columns, disorder: int, max_buffer: int) -> bool:
    """Is no event behind the watermark, and the buffer never full? Only times and types are read."""
    behind = min(disorder, _AGES)
    waiting: Numbers = np.zeros(0, np.int64)
    latest = -_AGES
    for times in _times(scan, columns):
        highest = np.maximum(np.maximum.accumulate(times), latest)
        # An event is judged by the watermark before it.
        if times[0] < latest - behind or (times[1:] < highest[:-1] - behind).any():
            return False
        # As none is late, what a watermark has passed had come before it.
        known = np.concatenate([waiting, times])
        passed = np.searchsorted(np.sort(known, kind="stable"), highest - behind)
        if (len(waiting) + np.arange(len(times)) - passed).max() >= max_buffer:
            return False
        latest = int(highest[-1])
        waiting = known[known >= latest - behind]
    return True


def _times(scan: Scan, columns: Columns) -> Iterator[Numbers]:
    """Of all events, in the order they come."""
    names = [name for name in (columns.time, columns.type) if name in scan.types]
    for piece in scan.pieces:
        for batch in piece.read(names):
            events = EventBatch.of(batch, columns, None)
            times = events.times[events.good]
            if len(times):
                yield times
