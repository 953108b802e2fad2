"""Makes `payments.jsonl`: an ordinary day of a payment service, and the fraud that is hidden in it.

`python -m cepheid.demo.make_data` writes it anew, always the same. What is planted is known here, by
construction: the tests compare what the patterns find with `planted`, not with an earlier answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

SEED = 20260302
DAY = datetime(2026, 3, 2, tzinfo=UTC)
SECONDS = 24 * 3600
USERS = 430
MERCHANTS = (
    "grocer",
    "bakery",
    "bookshop",
    "fuel",
    "pharmacy",
    "cinema",
    "trains",
    "pixelstore",
    "gadgetly",
    "florist",
)
COUNTRIES = ("DE", "FR", "NL", "AT", "ES")
SLA = 120  # seconds in which a payment should be confirmed
APART = 25 * 60  # between two ordinary payments of one card: longer than any window that counts them

Row = dict[str, Any]


@dataclass
class Planted:
    """What there is to find, and what only looks like it."""

    takeovers: list[Row] = field(default_factory=list)  # user, tries, amount
    card_tests: list[Row] = field(default_factory=list)  # card, probes, merchant
    rings: list[tuple[str, str]] = field(default_factory=list)  # two cards
    unconfirmed: list[str] = field(default_factory=list)  # payments
    pending: list[str] = field(default_factory=list)  # the day ends before their time is up
    sprees: list[Row] = field(default_factory=list)  # card, payments


class Day:
    """Collects events; every kind of fraud is one method."""

    def __init__(self) -> None:
        self.random = Random(SEED)
        self.rows: list[tuple[float, Row]] = []
        self.planted = Planted()
        self.payments = 0
        self._free = list(range(1, USERS + 1))  # users nobody planted anything on
        self.random.shuffle(self._free)

    def add(self, at: float, type: str, **fields: Any) -> None:
        time = (DAY + timedelta(seconds=round(at))).isoformat().replace("+00:00", "Z")
        self.rows.append((round(at), {"type": type, "time": time, **fields}))

    def pay(self, at: float, user: int, amount: float, merchant: str, confirm: float | None = -1) -> str:
        """A payment and its confirmation: after so many seconds, None for never, -1 for in time."""
        self.payments += 1
        payment = f"p{self.payments:05}"
        country = COUNTRIES[user % len(COUNTRIES)]
        self.add(
            at,
            "Payment",
            payment=payment,
            card=f"card-{user:04}",
            amount=amount,
            merchant=merchant,
            country=country,
        )
        if confirm == -1:
            confirm = self.random.randint(2, 70)
        if confirm is not None:
            self.add(at + confirm, "Confirmation", payment=payment)
        return payment

    def ip(self, user: int) -> str:
        return f"10.{user // 256}.{user % 256}.{self.random.randint(2, 250)}"

    # --- an ordinary day ------------------------------------------------------------------------------------

    def ordinary(self, user: int) -> None:
        """Payments far apart, logins from the own device, now and then a mistyped password."""
        at = self.random.randint(5 * 3600, 12 * 3600)
        device = f"dev-{user:04}"
        while at < 22 * 3600:
            self.pay(at, user, self._amount(), self.random.choice(MERCHANTS))
            at += APART + round(self.random.expovariate(1 / (3.3 * 3600)))
        for _ in range(self.random.choice((0, 1, 1, 2))):
            at, ip = self.random.randint(6 * 3600, 22 * 3600), self.ip(user)
            for _ in range(self.random.choice((0, 0, 0, 0, 1, 2))):
                self.add(at, "LoginFailed", user=f"user-{user:04}", ip=ip)
                at += self.random.randint(4, 20)
            self.add(at, "Login", user=f"user-{user:04}", ip=ip, device=device)
            if self.random.random() < 0.15:
                self.transfer(at + self.random.randint(60, 400), user, round(self.random.uniform(20, 900), 2))

    def transfer(self, at: float, user: int, amount: float) -> None:
        self.add(
            at, "Transfer", user=f"user-{user:04}", amount=amount, to=f"acct-{self.random.randint(100, 999)}"
        )

    def _amount(self) -> float:
        return round(min(240.0, 4 + self.random.expovariate(1 / 38)), 2)

    # --- account takeover -----------------------------------------------------------------------------------

    def takeover(self, hour: float, tries: int, amount: float) -> None:
        """Guessed passwords, a login from the same address, a new device, the money is gone."""
        user, at = self._free.pop(), hour * 3600
        at = self._guess(user, at, tries, same_ip=True)
        self.add(at + 95, "NewDevice", user=f"user-{user:04}", device="dev-x" + str(tries))
        self.transfer(at + 260, user, amount)
        self.planted.takeovers.append({"user": f"user-{user:04}", "tries": tries, "amount": amount})

    def forgetful(self, hour: float) -> None:
        """Looks like it: three mistakes, the login, a transfer, but the device is the old one."""
        user = self._free.pop()
        at = self._guess(user, hour * 3600, 3, same_ip=True)
        self.transfer(at + 120, user, 2400.0)

    def traveller(self, hour: float) -> None:
        """Looks like it: somebody else guessed, the owner logs in from elsewhere and has a new telephone."""
        user = self._free.pop()
        at = self._guess(user, hour * 3600, 4, same_ip=False)
        self.add(at + 60, "NewDevice", user=f"user-{user:04}", device=f"dev-{user:04}-b")
        self.transfer(at + 200, user, 1800.0)

    def _guess(self, user: int, at: float, tries: int, same_ip: bool) -> float:
        ip = f"203.0.113.{tries * 10}"
        for _ in range(tries):
            self.add(at, "LoginFailed", user=f"user-{user:04}", ip=ip)
            at += self.random.randint(5, 25)
        self.add(
            at, "Login", user=f"user-{user:04}", ip=ip if same_ip else "198.51.100.7", device=f"dev-{user:04}"
        )
        return at

    # --- card testing ---------------------------------------------------------------------------------------

    def card_test(self, hour: float, probes: int, merchant: str) -> str:
        """Tiny payments to see whether the card works, then the big one."""
        user = self._free.pop()
        at = self._probe(user, hour * 3600, probes)
        self.pay(at + 50, user, round(self.random.uniform(420, 980), 2), merchant)
        card = f"card-{user:04}"
        self.planted.card_tests.append({"card": card, "probes": probes, "merchant": merchant})
        return card

    def slow_test(self, hour: float) -> None:
        """Looks like it: the big payment comes ten minutes and a second after the first of four."""
        user = self._free.pop()
        self._probe(user, hour * 3600, 4)
        self.pay(hour * 3600 + 601, user, 640.0, "gadgetly")

    def coffee_then_sofa(self, hour: float) -> None:
        """Looks like it: two small payments and a big one are a nice afternoon."""
        user = self._free.pop()
        at = self._probe(user, hour * 3600, 2)
        self.pay(at + 90, user, 899.0, "gadgetly")

    def _probe(self, user: int, at: float, probes: int) -> float:
        for number in range(probes):  # up and down, so that it is not a spree as well
            cents = self.random.randint(0, 40) + (100 if number % 2 else 50)
            self.pay(at, user, cents / 100, self.random.choice(MERCHANTS[:6]))
            at += self.random.randint(15, 40)
        return at

    # --- payments nobody confirmed --------------------------------------------------------------------------

    def unconfirmed(self, hour: float, confirm: float | None = None) -> None:
        """Never confirmed, or when it was too late."""
        self.planted.unconfirmed.append(self.pay(hour * 3600, self._free.pop(), 59.9, "trains", confirm))

    def just_in_time(self, hour: float) -> None:
        """Looks like it: confirmed in the last second that counts."""
        self.pay(hour * 3600, self._free.pop(), 39.9, "trains", SLA)

    def last_of_the_day(self) -> None:
        """Paid a minute before midnight: when the day ends nobody can know yet."""
        payment = self.pay(SECONDS - 60, self._free.pop(), 19.9, "trains", None)
        self.planted.pending.append(payment)

    # --- sprees ---------------------------------------------------------------------------------------------

    def spree(self, hour: float, payments: int) -> None:
        """Ever larger payments in a few minutes: somebody looks for the limit of a stolen card."""
        user, at, amount = self._free.pop(), hour * 3600, 25.0
        for _ in range(payments):
            self.pay(at, user, round(amount, 2), self.random.choice(MERCHANTS))
            at += self.random.randint(40, 100)
            amount *= self.random.uniform(1.25, 1.6)
        self.planted.sprees.append({"card": f"card-{user:04}", "payments": payments})

    def shopping_tour(self, hour: float) -> None:
        """Looks like it: many payments in a few minutes, but they go up and down."""
        user, at = self._free.pop(), hour * 3600
        for amount in (40.0, 75.0, 22.0, 90.0, 31.0, 60.0, 18.0):
            self.pay(at, user, amount, self.random.choice(MERCHANTS))
            at += self.random.randint(40, 100)


def make_day() -> Day:
    """The whole day. Everything planted is on users who do nothing else that day."""
    day = Day()
    for hour, tries, amount in ((3.2, 5, 4800.0), (11.6, 3, 2150.0), (20.4, 8, 9300.0)):
        day.takeover(hour, tries, amount)
    day.forgetful(9.3)
    day.traveller(14.1)
    first, second = day.card_test(10.0, 6, "pixelstore"), day.card_test(10.5, 4, "pixelstore")
    day.card_test(12.0, 5, "pixelstore")  # more than an hour after the second
    third, fourth = day.card_test(16.2, 9, "gadgetly"), day.card_test(16.9, 7, "gadgetly")
    day.card_test(17.0, 4, "florist")  # near in time, but another shop
    day.planted.rings += [(first, second), (third, fourth)]
    day.slow_test(13.0)
    day.coffee_then_sofa(15.0)
    for hour in (7.1, 8.9, 13.4, 18.0):
        day.unconfirmed(hour)
    day.unconfirmed(19.5, SLA + 1)
    day.just_in_time(9.9)
    day.just_in_time(19.7)
    day.last_of_the_day()
    for hour, payments in ((1.4, 7), (12.8, 5), (21.3, 6)):
        day.spree(hour, payments)
    day.shopping_tour(17.5)
    for user in sorted(day._free):
        day.ordinary(user)
    return day


def planted() -> Planted:
    return make_day().planted


def lines() -> Iterator[str]:
    """The events in order of time, one a line."""
    rows = make_day().rows
    for _, row in sorted(rows, key=lambda item: item[0]):
        yield json.dumps(row, separators=(",", ":")) + "\n"


def write(path: Path) -> None:
    path.write_text("".join(lines()), encoding="utf-8")


if __name__ == "__main__":
    from cepheid.demo import EVENTS

    write(EVENTS)
