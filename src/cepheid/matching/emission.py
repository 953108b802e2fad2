"""Emission: which of the matches that complete at one moment are given out, and in which order."""

from __future__ import annotations

from cepheid.matching.run import Run


def in_order(runs: list[Run]) -> list[Run]:
    """By the start, then fewer events first, then by the order of their events."""
    return sorted(runs, key=lambda r: (r.start, len(r.taken), sorted(r.indexes()), _places(r)))


def maximal(runs: list[Run]) -> list[Run]:
    """Those whose events are not a proper subset of another's."""
    held = [(run, run.indexes()) for run in runs]
    return [run for run, mine in held if not any(mine < other for _, other in held)]


def distinct(runs: list[Run]) -> list[Run]:
    """Two matches with the same events in the same places are one."""
    seen: set[tuple[tuple[int, int], ...]] = set()
    kept = []
    for run in runs:
        if (places := _places(run)) not in seen:
            seen.add(places)
            kept.append(run)
    return kept


def _places(run: Run) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((t.position, t.index) for t in run.taken))
