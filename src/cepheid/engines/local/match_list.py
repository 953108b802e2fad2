"""Matches as a list of dicts that notebooks can show and plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cepheid.explain.plot import Plot

_ROWS = 50


class MatchList(list[dict[str, Any]]):
    """The matches of one stream over events that are dicts: a list as any other."""

    def __init__(self, rows: list[dict[str, Any]], stream: str = "matches") -> None:
        super().__init__(rows)
        self.stream = stream

    def plot(self, kind: str = "timeline", **columns: Any) -> Plot:
        """A plot of them: see `cepheid.plot`."""
        from cepheid.engines.plotting import plot

        return plot(list(self), kind, name=self.stream, **columns)

    def _repr_html_(self) -> str:
        from cepheid.engines.shown_table import ShownTable

        shown = ShownTable.of(list(self), _ROWS)
        return "" if shown is None else shown._repr_html_()
