"""Several models as one: what was counted is added up, whatever order it was counted in."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.forecast.context_counts import BEGINNING, ContextCounts
from cepheid.forecast.gaps import Gaps
from cepheid.forecast.model import Learned
from cepheid.forecast.outcomes import DONE, Outcome, Outcomes

Numbers = dict[int, int]


def merged(parts: Sequence[Learned]) -> Learned:
    """All that was learned, by one model. They are of one pattern."""
    whole = Learned(ContextCounts(max(part.contexts.wished for part in parts)))
    for part in parts:
        symbols = {number: whole.symbol(bits) for bits, number in part.symbols.items()}
        places = {number: whole.outcomes.number(place) for place, number in part.outcomes.places.items()}
        whole.events += part.events
        _add_contexts(whole.contexts, part.contexts, symbols)
        _add_gaps(whole.gaps, part.gaps, symbols)
        _add_outcomes(whole.outcomes, part.outcomes, symbols, places)
    return whole


def _add_contexts(to: ContextCounts, part: ContextCounts, symbols: Numbers) -> None:
    if (most := max(symbols.values(), default=-1)) >= to.symbols:
        to.meet(most)
    numbers = {BEGINNING: BEGINNING, **symbols}
    for context, counts in part.counts.items():
        seen = ((symbols[symbol], count) for symbol, count in counts.items())
        to.add(tuple(numbers[symbol] for symbol in context), seen)


def _add_gaps(to: Gaps, part: Gaps, symbols: Numbers) -> None:
    for (before, after), bins in part.bins.items():
        for number, (count, total) in bins.items():
            to.add((symbols[before], symbols[after]), number, count, total)
    for before, count in part.silent.items():
        to.learn_silence(symbols[before], count)


def _add_outcomes(to: Outcomes, part: Outcomes, symbols: Numbers, places: Numbers) -> None:
    for (place, symbol), ways in part.seen.items():
        for outcome, count in ways.items():
            same: Outcome = DONE if outcome == DONE else tuple(sorted(places.get(p, p) for p in outcome))
            to.learn(places.get(place, place), symbols[symbol], same, count)
