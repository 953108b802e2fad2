"""Dates on which a session has something to do although nothing comes."""

from __future__ import annotations

from cepheid.rules.happenings import Happening
from cepheid.rules.session import RuleSession


def next_date(session: RuleSession) -> int | None:
    """The first of them."""
    return min((waiting.dates[0] for waiting in session.waiting()), default=None)


def pass_date(session: RuleSession, date: int) -> list[Happening]:
    """It has passed, and the clock stands at it: what became certain by it may still come."""
    session.told = []
    session._pass_dates(date + 1)
    return session.told
