"""Makes `readings.csv`: eight weeks of thirty machines that wear out, warn more or less clearly, fail and are repaired.

`python make_data.py` writes it anew, always the same. A machine is sound, worn or failing, which nobody sees;
readings of its vibration and temperature depend on it, with much noise, and so does the chance of a failure.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

SEED, MACHINES, DAYS = 20260401, 30, 56
BEGIN = datetime(2026, 4, 1, tzinfo=UTC)
# By state: chance of the next state per reading, vibration, temperature, chance of a failure.
STATES = {
    "sound": (0.03, (3.0, 1.0), (60.0, 6.0), 0.0),
    "worn": (0.15, (6.8, 1.5), (68.0, 6.0), 0.004),
    "failing": (0.0, (9.5, 1.3), (86.0, 6.0), 0.22),
}
NEXT = {"sound": "worn", "worn": "failing"}


def rows() -> list[dict[str, object]]:
    random = Random(SEED)
    found = []
    for machine in range(1, MACHINES + 1):
        time, state = BEGIN + timedelta(minutes=random.uniform(0, 240)), "sound"
        while time < BEGIN + timedelta(days=DAYS):
            step, vibration, temperature, failure = STATES[state]
            if random.random() < failure:
                found.append({"time": time, "type": "Failure", "machine": f"m{machine:02}"})
                time, state = time + timedelta(hours=random.uniform(4, 12)), "sound"
                found.append({"time": time, "type": "Repaired", "machine": f"m{machine:02}"})
            else:
                reading = {"vibration": random.gauss(*vibration), "temperature": random.gauss(*temperature)}
                shown = {name: round(max(value, 0.0), 1) for name, value in reading.items()}
                found.append({"time": time, "type": "Reading", "machine": f"m{machine:02}", **shown})
            if random.random() < step:
                state = NEXT[state]
            time += timedelta(minutes=random.gammavariate(8.0, 30.0))  # about every four hours
    return sorted(found, key=lambda row: (row["time"], row["machine"]))


def write(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        names = ["time", "type", "machine", "vibration", "temperature"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for row in rows():
            time = row["time"].replace(microsecond=0).isoformat().replace("+00:00", "Z")  # type: ignore[attr-defined]
            writer.writerow({**row, "time": time})


if __name__ == "__main__":
    write(Path(__file__).parent / "readings.csv")
