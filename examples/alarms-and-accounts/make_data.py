"""Writes the files of this example, the same each time: `python make_data.py`."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).parent
START = datetime(2024, 5, 6, 6)
EQUIPMENT, ACCOUNTS = 12, 10


def at(seconds: float) -> str:
    return (START + timedelta(seconds=int(seconds))).isoformat()


def equipment(random: Random) -> list[dict[str, Any]]:
    """Each goes online, is active for hours, now and then not: intervals that follow each other."""
    rows = []
    for number in range(EQUIPMENT):
        time, state = random.randrange(1800), "ONLINE"
        while time < 8 * 3600:
            lasts = random.randrange(900, 2400) if state == "ONLINE" else random.randrange(3600, 9000)
            end = time + lasts
            rows.append(
                {
                    "id": f"eq{number:02}",
                    "state": state,
                    "line": f"line{number % 3}",
                    "valid_from": at(time),
                    "valid_to": at(end) if end < 8 * 3600 else "",
                }
            )
            time, state = end, "ACTIVE" if state == "ONLINE" else "ONLINE"
    return rows


def alarms(random: Random) -> list[dict[str, Any]]:
    rows = []
    time = 1200.0
    for number in range(160):
        time += random.expovariate(1 / 150)
        eqpt, alarm = f"eq{random.randrange(EQUIPMENT):02}", f"al{number:03}"
        rows.append(
            {"time": at(time), "type": "Alarm", "id": alarm, "eqpt": eqpt, "level": random.randrange(1, 4)}
        )
        kind = random.choice(["Confirmation", "Confirmation", "Cancellation", None])
        if kind is not None:
            later = time + random.choice([30, 120, 200, 290, 400])
            rows.append({"time": at(later), "type": kind, "alarm": alarm, "eqpt": eqpt})
        if random.random() < 0.15:
            rows.append({"time": at(time + random.randrange(600, 2400)), "type": "Repair", "eqpt": eqpt})
    rows += hasty(random)
    return sorted(rows, key=lambda row: row["time"])


def hasty(random: Random) -> list[dict[str, Any]]:
    """Alarms soon after an equipment was switched on."""
    started = [row for row in equipment(Random(4)) if row["state"] == "ACTIVE"]
    rows = []
    for number, row in enumerate(random.sample(started, 5)):
        since = datetime.fromisoformat(row["valid_from"]) - START
        time = at(since.total_seconds() + random.randrange(20, 110))
        rows.append({"time": time, "type": "Alarm", "id": f"al9{number:02}", "eqpt": row["id"], "level": 1})
    return rows


def accounts(random: Random) -> list[dict[str, Any]]:
    return [
        {
            "id": f"ac{number}",
            "state": "OPEN",
            "balance": float(random.randrange(0, 800)) if number < 8 else 9000.0,
            "limit": float(random.choice([0, 100, 500])),
        }
        for number in range(ACCOUNTS)
    ]


def payments(random: Random) -> list[dict[str, Any]]:
    rows = []
    time = 0.0
    for _ in range(220):
        time += random.expovariate(1 / 110)
        account, amount = f"ac{random.randrange(ACCOUNTS)}", float(random.randrange(20, 400))
        if random.random() < 0.3:
            rows.append({"time": at(time), "type": "Deposit", "account": account, "amount": amount * 2})
        else:
            to = random.choice(["rent", "shop", "web", "cash"])
            rows.append({"time": at(time), "type": "Payment", "account": account, "amount": amount, "to": to})
    for account, begin in (("ac8", 5000), ("ac9", 9000), ("ac8", 15000)):  # somebody else has the card
        for after, to in enumerate(["shop", "web", "cash"]):
            row = {"account": account, "amount": float(random.randrange(120, 390)), "to": to}
            rows.append({"time": at(begin + 240 * after), "type": "Payment", **row})
    return sorted(rows, key=lambda row: row["time"])


def write(name: str, rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    write("equipment.csv", equipment(Random(4)))
    write("alarms.csv", alarms(Random(5)))
    write("accounts.csv", accounts(Random(6)))
    write("payments.csv", payments(Random(7)))


if __name__ == "__main__":
    main()
