"""The working memories of a bucket's keys: those in use in memory, the others in segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.engines.network import Entry
from cepheid.engines.rules.driver import Driver
from cepheid.engines.rules.prepared import Prepared
from cepheid.engines.rules.saving import driver_state, restore_driver
from cepheid.engines.spark.segments import Segments, Writes
from cepheid.matching.snapshot import Kept
from cepheid.matching.values import dump, load

STREAM = "rules"  # the only one of the segments


class RuleSessions:
    """Keys go by their text. What is taken is in memory until it has been idle for one micro-batch."""

    def __init__(self, prepared: Prepared, segments: Segments) -> None:
        self.prepared, self.segments = prepared, segments
        self.drivers: dict[str, Driver] = {}
        self.touched: set[str] = set()

    def take(self, key: str) -> Driver:
        """The working memory of a key, which will change."""
        self.touched.add(key)
        if key not in self.drivers:
            kept = self.segments.take((STREAM, key))
            self.drivers[key] = self._driver(kept)
        return self.drivers[key]

    def _driver(self, kept: Kept | None) -> Driver:
        driver = self.prepared.driver()
        if kept is not None:
            restore_driver(driver, load(kept.body))
        return driver

    def due(self, time: int) -> Iterator[tuple[str, Driver]]:
        """Those that have something to do before a time, without any row."""
        for kept in self.segments.take_due(STREAM, time):
            self.drivers[kept.key] = self._driver(kept)
            self.touched.add(kept.key)
        for key, driver in self.drivers.items():
            date = driver.next_date()
            if date is not None and date < time:
                self.touched.add(key)
                yield key, driver

    def next_date(self) -> int | None:
        dates = [driver.next_date() for driver in self.drivers.values()]
        dates.append(self.segments.next_moment(STREAM))
        return min((date for date in dates if date is not None), default=None)

    # How they are kept.

    def commit(self) -> Writes:
        touched, self.touched = self.touched, set()
        return self.segments.commit(self, [(STREAM, key) for key in sorted(touched)])

    def kept(self, entries: Iterable[Entry]) -> dict[Entry, Kept]:
        found: dict[Entry, Kept] = {}
        for entry in entries:
            driver = self.drivers.get(entry[1])
            if driver is not None:
                found[entry] = Kept(entry[1], driver.next_date(), dump(driver_state(driver)))
        return found

    def put_away(self, entries: Iterable[Entry]) -> None:
        for _, key in entries:
            self.drivers.pop(key, None)
