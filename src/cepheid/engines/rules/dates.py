"""Dates on which a session has something to do although nothing comes."""

from __future__ import annotations

from math import inf

from cepheid.rules.happenings import Happening
from cepheid.rules.session import RuleSession


def next_date(session: RuleSession) -> int | None:
    """The first of them."""
    date = session._network.next_date()
    return None if date == inf else int(date)


def pass_date(session: RuleSession, date: int) -> list[Happening]:
    """It has passed, and the clock stands at it: what became certain by it may still come."""
    session._told = []
    session._set_budget()
    session._pass_dates(date + 1)
    return session._told
