"""Are the forecasts of `examples/machines` reliable, how sure can one be of that, and what does a correction bring?

Of the shipped readings, or of so many machines as `make_data.py` there makes. Each decile: how many forecasts, what was
foretold, what happened, the difference in points. Forecasts of one machine stand and fall together, so the error of a
difference is found by drawing whole machines again and again. At last the later two thirds are corrected by the first:
instead of what is foretold, what happened there where so much was foretold.

    python benchmarks/reliability.py [--machines 400] [--events 2]
"""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid
from cepheid.forecast.scoring import Score, decided, score

EXAMPLE = Path(__file__).parent.parent / "examples" / "machines"
HORIZON = timedelta(days=1)
Rows = list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--machines", type=int)
    parser.add_argument("--events", type=int, help="look so many events ahead, instead of a day")
    asked = parser.parse_args()
    forecasts, outcomes = foretold(events(asked.machines), asked.events)
    show("all", score(forecasts, outcomes), errors(forecasts, outcomes))
    times = sorted(row["time"] for row in forecasts)
    cut = times[len(times) // 3]
    early = [row for row in forecasts if row["time"] < cut - HORIZON]  # what became of them is known by then
    later = [row for row in forecasts if row["time"] >= cut]
    show("the later ones", score(later, outcomes), errors(later, outcomes))
    mended = corrected(later, score(early, outcomes))
    show("the later ones, corrected", score(mended, outcomes), errors(mended, outcomes))


def events(machines: int | None) -> Any:
    if machines is None:
        return str(EXAMPLE / "readings.csv")
    sys.path.insert(0, str(EXAMPLE))
    make_data: Any = import_module("make_data")
    make_data.MACHINES = machines
    return pa.Table.from_pylist(
        [{"vibration": None, "temperature": None, **row} for row in make_data.rows()],
        pa.schema(
            [
                ("time", pa.timestamp("us", "UTC")),
                ("type", pa.string()),
                ("machine", pa.string()),
                ("vibration", pa.float64()),
                ("temperature", pa.float64()),
            ]
        ),
    )


def foretold(given: Any, ahead: int | None) -> tuple[Rows, Rows]:
    query = (EXAMPLE / "failures.cep").read_text(encoding="utf-8")
    found = cepheid.run(query if ahead is None else query.replace("horizon: 1d", f"events: {ahead}"), given)
    return found.forecasts["Failing"].to_pylist(), found.outcomes["Failing"].to_pylist()


def errors(forecasts: Rows, outcomes: Rows) -> dict[float, float]:
    """By decile: the standard error of what happened less what was foretold."""
    of_run = {row["run_id"]: row["machine"] for row in forecasts}
    numbers = {machine: i for i, machine in enumerate(dict.fromkeys(of_run.values()))}
    sums = np.zeros((len(numbers), 10, 2))
    for one in decided(forecasts, outcomes):
        place = numbers[of_run[one.run_id]], min(int(one.probability * 10), 9)
        sums[place] += one.hit - one.probability, 1
    random = np.random.default_rng(1)
    drawn = [sums[random.integers(0, len(sums), len(sums))].sum(axis=0) for _ in range(400)]
    gaps = [whole[:, 0] / np.maximum(whole[:, 1], 1) for whole in drawn]
    return dict(zip(np.arange(10) / 10, np.std(gaps, axis=0), strict=True))


def corrected(forecasts: Rows, known: Score) -> Rows:
    """What happened where so much was foretold; never less where more was."""
    told = [0.0, *(d.foretold for d in known.deciles), 1.0]
    came = np.maximum.accumulate([0.0, *(d.happened for d in known.deciles), 1.0])
    return [
        {**row, "forecast_probability": float(np.interp(row["forecast_probability"], told, came))}
        for row in forecasts
    ]


def show(title: str, found: Score, errors: dict[float, float]) -> None:
    mean = 100 * sum(d.gap * d.count for d in found.deciles) / found.forecasts
    print(
        f"{title}: {found.forecasts:,} forecasts, Brier score {found.brier:.4f}, off by {mean:+.1f} on average"
    )
    for d in found.deciles:
        told, came, gap, error = (100 * v for v in (d.foretold, d.happened, d.gap, errors[d.low]))
        print(f"  {d.low:.1f} {d.count:>7,} {told:>6.1f}% {came:>6.1f}% {gap:>+6.1f} ± {error:.1f}")


if __name__ == "__main__":
    main()
