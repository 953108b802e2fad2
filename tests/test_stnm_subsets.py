"""stnm x subsets, which the general oracle leaves out: the definition for `A -> all B -> C`, written as a procedure."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid


def by_definition(letters: str, absence: bool) -> Counter[tuple[int, ...]]:
    """At each C the oldest start that has a combination of unused Bs gives out all of them, and uses them up."""
    found: Counter[tuple[int, ...]] = Counter()
    used: set[int] = set()
    starts = [i for i, x in enumerate(letters) if x == "A"]
    for c in (i for i, x in enumerate(letters) if x == "C"):
        for a in [s for s in starts if s < c]:
            free = [i for i in range(a, c) if letters[i] == "B" and i not in used]
            chosen = [s for n in range(1, len(free) + 1) for s in combinations(free, n)]
            if absence:
                chosen = [s for s in chosen if "X" not in letters[s[-1] : c]]
            if chosen:
                found.update((a, *s, c) for s in chosen)
                used.update(i for s in chosen for i in s)
                starts.remove(a)
                break
    return found


@pytest.mark.parametrize("absence", [False, True])
@given(letters=st.text("AABBBCX", max_size=9))
@settings(max_examples=300)
def test_every_combination_of_the_run_that_completes(absence: bool, letters: str) -> None:
    query = f"A as a -> all B as b {'-> NOT X ' if absence else ''}-> C as c .stnm() .subsets()"
    events = [{"type": x, "time": i, "n": i} for i, x in enumerate(letters)]
    matches = cepheid.match(query + " .emit(a: a.n, b: collect(b.n), c: c.n)", events)
    assert Counter((m["a"], *m["b"], m["c"]) for m in matches) == by_definition(letters, absence)
