"""After a match: which events are skipped, as in SQL's AFTER MATCH SKIP."""

from __future__ import annotations

from cepheid.errors import EvaluationError
from cepheid.matching.run import Run
from cepheid.pattern.model import Skip, SkipTo
from cepheid.plan.automaton import Automaton


def resume_after(skip: Skip, match: Run, automaton: Automaton) -> int | None:
    """The last skipped index: a run that holds an event at or before it is dropped. None: nothing is skipped."""
    indexes = sorted(match.indexes())
    match skip.to:
        case SkipTo.NONE:
            return None
        case SkipTo.TO_NEXT:
            return indexes[0]
        case SkipTo.PAST_LAST:
            return indexes[-1]
    return _target(skip, match, automaton, indexes[0]) - 1


def _target(skip: Skip, match: Run, automaton: Automaton, first: int) -> int:
    named = [t.index for t in match.taken if automaton.positions[t.position].step.alias == skip.alias]
    how = f"skip({skip.to.value}({skip.alias}))"
    if not named:
        raise EvaluationError(
            f"{how}: this match has no event for `{skip.alias}`",
            code="skip_target",
            hint="skip to a step that every match has",
        )
    target = min(named) if skip.to is SkipTo.TO_FIRST else max(named)
    if target == first:
        raise EvaluationError(
            f"{how} would go on at the match's own first event",
            code="skip_target",
            hint="skip to a later step, or use to_next",
        )
    return target
