"""A sifter's state as JSON and back, and copies of a sifter to try something out.

What a sifter is made of goes by its attributes: containers, values, and the classes named here. What follows from the
rest (the indexes of edges and threads) is not written but made again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from cepheid.errors import SnapshotMistake
from cepheid.graph.batch import GraphMatch
from cepheid.graph.choices import Choices
from cepheid.graph.edges import Edge, Edges
from cepheid.graph.finding import Found
from cepheid.graph.intervals import Interval
from cepheid.graph.journal import Journal
from cepheid.graph.pool import Live, Pool
from cepheid.graph.sifter import Sifter
from cepheid.graph.threads import Hold, ReadyPattern, Thread
from cepheid.graph.watch_list import WatchList
from cepheid.graph.watching import Watching
from cepheid.matching.values import decode, encode
from cepheid.pattern.graph_pattern import Allen, Relation

_CLASSES: dict[str, Any] = {
    c.__name__: c
    for c in (Allen, Choices, Edge, Found, GraphMatch, Hold, Interval, Live, Relation, Thread, Watching)
}
_MADE_AGAIN = {"patterns", "edges", "pool", "watch", "journal", "tried"}
_HEAPS = {"_ends", "_too_late", "_deadlines"}  # written in order, which is one way to lay out a heap


def state_of(sifter: Sifter) -> str:
    """All that a sifter knows, but for its patterns."""
    own = {name: value for name, value in vars(sifter).items() if name not in _MADE_AGAIN}
    state = {name: written(sorted(value) if name in _HEAPS else value) for name, value in own.items()}
    edges, live = written(sifter.edges.all), written(list(sifter.pool.live.values()))
    whole = {"state": state, "edges": edges, "live": live, "next_id": sifter.pool.next_id}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def with_state(patterns: Sequence[ReadyPattern] | WatchList, text: str) -> Sifter:
    """A sifter of these patterns, in a state that another of the same patterns was in."""
    whole, sifter = json.loads(text), Sifter(patterns)
    known = {name for name in vars(sifter) if name not in _MADE_AGAIN}
    if known != set(whole["state"]):
        raise SnapshotMistake("the snapshot was written by another version of the sifter", code="snapshot")
    for edge in read(whole["edges"]):
        sifter.edges.add(edge)
    for live in read(whole["live"]):
        sifter.pool.add(live)
    sifter.pool.next_id = whole["next_id"]
    for name, value in whole["state"].items():
        _put(sifter, name, read(value))
    return sifter


def _put(sifter: Sifter, name: str, value: Any) -> None:
    there = getattr(sifter, name)
    if isinstance(there, defaultdict):
        there.update(value)
    else:
        setattr(sifter, name, value)


def written(value: Any) -> Any:
    """A value as JSON can hold it.

    >>> written((1, frozenset({2})))
    {'$t': [1, {'$f': [2]}]}
    """
    kind = type(value).__name__
    if isinstance(value, Enum):
        return {"$e": [kind, value.value]}
    if kind in _CLASSES:
        names = getattr(value, "_fields", None) or [f.name for f in fields(value)]
        return {"$c": [kind, {name: written(getattr(value, name)) for name in names if name != "place"}]}
    if isinstance(value, list):
        return [written(v) for v in value]
    if isinstance(value, dict):
        return {"$d": [[written(k), written(v)] for k, v in value.items()]}
    for tag, container in _CONTAINERS.items():
        if isinstance(value, container):
            ordered = value if tag == "$t" else sorted(value, key=repr)
            return {tag: [written(v) for v in ordered]}
    return encode(value)


_CONTAINERS: dict[str, Any] = {"$t": tuple, "$s": set, "$f": frozenset}


def read(value: Any) -> Any:
    """
    >>> read(written({"a": [(1, True)], "b": {1.5}}))
    {'a': [(1, True)], 'b': {1.5}}
    """
    if isinstance(value, list):
        return [read(v) for v in value]
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    if tag in _CONTAINERS:
        return _CONTAINERS[tag](read(v) for v in inner)
    if tag == "$d":
        return {read(k): read(v) for k, v in inner}
    if tag == "$c":
        name, held = inner
        return _CLASSES[name](**{n: read(v) for n, v in held.items()})
    if tag == "$e":
        return _CLASSES[inner[0]](inner[1])
    return decode(value)


def copy_of(sifter: Sifter) -> Sifter:
    """Another sifter in the same state: what is fed to one is not seen by the other."""
    other = _like(sifter)
    other.journal = other.pool.journal = Journal()
    return other


_Owner = TypeVar("_Owner", bound=Sifter | Edges | Pool | Choices)


def _like(owner: _Owner) -> _Owner:
    other = object.__new__(type(owner))
    for name, value in vars(owner).items():
        setattr(other, name, _copied(value))
    return other


def _copied(value: Any) -> Any:
    if isinstance(value, (Edges, Pool, Choices)):  # all else that is no container is never changed
        return _like(value)
    if isinstance(value, defaultdict):
        return defaultdict(value.default_factory, {k: _copied(v) for k, v in value.items()})
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return type(value)(map(_copied, value)) if isinstance(value, (list, set)) else value
