"""Made-up programs whose streams feed each other."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from cepheid.testing.strategies import FAMILIES, queries

# Each says something else of when a match becomes certain, and of the columns it has.
FED = (
    "A as a .emit(v: a.v, k: a.k)",
    "A as a -> B[v >= a.v] as b .within(3s) .emit(v: b.v, k: a.k, w: a.v + b.v)",
    "A as a -> NOT X within 2s .partition_by(k) .emit(k, v: a.v)",
    "A as a -> B+ as b -> C as c .partition_by(k) .emit(k, v: count(b), at: match_start())",
    "A as a -> all B as b .longest() .within(2s) .emit(v: count(b))",
    "every first (A as a -> B as b) .emit(k: b.k, v: b.v, label: b.id)",
    "B as b -> next A as a .emit(v: a.v - b.v, k: a.k)",
    "A as a -> C as c .within(4s)",
)
# What is asked of them, where something is to be found: then letters are streams or types of events.
SIMPLE = (
    "A as a .emit(v: a.v)",
    "A as a -> B as b .emit(v: a.v, w: b.v)",
    "A as a -> A[v >= a.v] as b .within(5s) .emit(id: match_id(), v: b.v)",
    "B as b -> A as a .partition_by(k)",
    "A+ as a -> B as b .emit(n: count(a))",
    "A as a -> NOT X within 2s .emit(id: match_id(), at: match_end())",
    "A as a -> next B as b",
)


@st.composite
def programs(draw: Any, family: str) -> str:
    """One to three streams above each other; what the last one is asked for is of a family."""
    text = f"stream U = {draw(st.sampled_from(FED))}\n"
    named = ["U"]
    if draw(st.booleans()):
        text += f"stream W = {_fed(draw, draw(st.sampled_from(FED)), named)}\n"
        named.append("W")
    last = draw(queries(family)) if family in FAMILIES else draw(st.sampled_from(SIMPLE))
    return text + f"stream Last = {_fed(draw, last, named)}"


def _fed(draw: Any, query: str, named: list[str]) -> str:
    """Some types of events become streams, at least one."""
    types = sorted(set(re.findall(r"\b[ABCX]\b", query)))
    chosen = draw(st.sets(st.sampled_from(types), min_size=1))
    for kind in sorted(chosen):
        query = re.sub(rf"\b{kind}\b", draw(st.sampled_from(named)), query)
    return query
