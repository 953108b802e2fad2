"""Several models as one: what was counted is added up, whatever order it was counted in."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log

from cepheid.forecast.context_tree import BEGINNING, ContextTree, log_sum
from cepheid.forecast.gaps import Gaps
from cepheid.forecast.model import Learned
from cepheid.forecast.outcomes import DONE, Outcome, Outcomes

Numbers = dict[int, int]


def merged(parts: Sequence[Learned]) -> Learned:
    """All that was learned, by one model. They are of one pattern."""
    whole = Learned(ContextTree(max(part.tree.depth for part in parts)))
    for part in parts:
        symbols = {number: whole.symbol(bits) for bits, number in part.symbols.items()}
        symbols[BEGINNING] = BEGINNING
        places = {number: whole.outcomes.number(place) for place, number in part.outcomes.places.items()}
        whole.events += part.events
        _add_node(whole.tree, 0, part.tree, 0, symbols)
        _add_gaps(whole.gaps, part.gaps, symbols)
        _add_outcomes(whole.outcomes, part.outcomes, symbols, places)
    whole.tree.symbols = len(whole.symbols)
    weigh_anew(whole.tree)
    return whole


def _add_node(to: ContextTree, node: int, part: ContextTree, at: int, symbols: Numbers) -> None:
    for symbol, count in part.counts[at].items():
        counts = to.counts[node]
        counts[symbols[symbol]] = counts.get(symbols[symbol], 0) + count
    to.totals[node] += part.totals[at]
    for symbol, child in part.children[at].items():
        target = to.child(node, symbols[symbol])
        if target is not None:
            _add_node(to, target, part, child, symbols)


def _add_gaps(to: Gaps, part: Gaps, symbols: Numbers) -> None:
    for (before, after), bins in part.bins.items():
        own = to.bins.setdefault((symbols[before], symbols[after]), {})
        for number, (count, total) in bins.items():
            one = own.setdefault(number, [0, 0])
            one[0] += count
            one[1] += total
    for mine, theirs in ((to.silent, part.silent), (to.followed, part.followed)):
        for before, count in theirs.items():
            mine[symbols[before]] = mine.get(symbols[before], 0) + count


def _add_outcomes(to: Outcomes, part: Outcomes, symbols: Numbers, places: Numbers) -> None:
    for (place, symbol), ways in part.seen.items():
        for outcome, count in ways.items():
            same: Outcome = DONE if outcome == DONE else tuple(sorted(places.get(p, p) for p in outcome))
            to.learn(places.get(place, place), symbols[symbol], same, count)


def weigh_anew(tree: ContextTree) -> None:
    """The evidence for each context from the counts alone."""

    def evidence(node: int) -> float:
        """log of what the node, or its children, foretold in all."""
        below = [evidence(child) for child in tree.children[node].values()]
        own = _own_evidence(tree, node)
        if not below:
            return own
        tree.odds[node] = own - sum(below)
        return sum(below) + log_sum(tree.odds[node]) - log(2.0)

    evidence(0)


def _own_evidence(tree: ContextTree, node: int) -> float:
    """Of counts that came in any order, one imagined symbol spread over all that are known."""
    share = 1.0 / max(tree.symbols, 1)
    counts = tree.counts[node].values()
    return sum(lgamma(n + share) - lgamma(share) for n in counts) - lgamma(sum(counts) + 1.0)
