"""Rules and a pattern that feed each other: what a rule emits goes to the pattern, its matches to another rule."""

from __future__ import annotations

from random import Random
from typing import Any

LATE = """
rule Late { when { ?q: event Q(); not event A(?this after[0,5] ?q) }
            then { emit Late(who = ?q.who, asked = timeof(?q)); } }
rule Bad {
  when { ?f: F(); ?t: event Twice() }
  then { modify ?f { n = n + 1; last = ?t.time; } emit Bad(who = ?t.who, n = ?f.n, at = timeof(?t)); }
}
"""
TWICE = """
stream Twice = Late as x -> Late as y within 30s .emit(who: y.who)
stream Quick = Q as x -> A as y within 2s .emit(who: y.who, took: y.time - x.time)
"""
FACTS = [{"id": f"f{who}", "who": who, "n": 0, "last": 0} for who in range(4)]


def late_events(chance: Random) -> list[dict[str, Any]]:
    """Of four keys, one a second."""
    return [
        {"time": t, "type": chance.choice("QQA"), "id": t, "who": chance.randrange(4)} for t in range(1, 120)
    ]
