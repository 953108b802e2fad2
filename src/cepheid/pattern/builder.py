"""Patterns built in Python: the same model that the text language is read into, without strings.

>>> a = event("Login").as_("a")
>>> b = event("Transfer").as_("b")
>>> p = (a >> b.where((b.user == a.user) & (b.amount > 5000))).within("5m").stnm()
>>> print(p)
Login as a -> Transfer[b.user == a.user and b.amount > 5000] as b .within(5m) .stnm()

Every object is immutable: each method gives a new one, so parts can be used in any number of patterns.
`.within(d)` bounds the time from first to last event of all that it is called on, be it the whole pattern or
a part of one; `.at_most(d)` on a step bounds the time since the event before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from types import EllipsisType
from typing import Any, Self, TypeVar

from cepheid.errors import PatternMistake
from cepheid.pattern.builder_arguments import (
    Duration,
    above_zero,
    bad_argument,
    column_of,
    computed,
    duration_of,
    field_path,
    key_of,
    way_to_skip,
)
from cepheid.pattern.conditions import (
    Aliased,
    Condition,
    Path,
    Value,
    alias_of,
    avg,
    case,
    check_name,
    collect,
    condition,
    count,
    distinct_count,
    expression,
    field,
    first,
    func,
    if_,
    last,
    lit,
    max_,
    min_,
    stddev,
    sum_,
)
from cepheid.pattern.expr import Expr, conjunction, conjuncts
from cepheid.pattern.forecast_builder import with_forecast
from cepheid.pattern.model import (
    Absence,
    And,
    Arrow,
    Closure,
    Emission,
    Every,
    Guard,
    Link,
    Loop,
    Monotonic,
    Node,
    OnLimit,
    Or,
    Output,
    Pattern,
    Selection,
    Sequence,
    Skip,
    SkipTo,
    Step,
    Stream,
)
from cepheid.pattern.resolve import resolve_pattern, resolve_stream
from cepheid.pattern.text import html_text, pattern_text
from cepheid.pattern.trend_functions import (
    avg_trends,
    count_events,
    count_trends,
    max_trends,
    min_trends,
    sum_trends,
)
from cepheid.pattern.trends import ROWS, read_trends

P = TypeVar("P", bound="Part")


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """A pattern, or a part of one: steps, sequences, groups, closures, with or without clauses."""

    _draft: Pattern  # names not yet resolved
    _bound: int | None = None  # `at_most`, until the part has found its place in a sequence
    _open: bool = False  # made by an arrow: a further arrow makes it longer instead of going around it
    _grouped: bool = False  # a closure in parentheses: it may be repeated as a whole

    def build(self) -> Pattern:
        """The pattern as every engine reads it."""
        return resolve_pattern(_normal(_whole_draft(self)))

    def __str__(self) -> str:
        return str(self.build())

    def __repr__(self) -> str:
        return f"<{pattern_text(self._draft)}>"

    def _repr_html_(self) -> str:
        return html_text(pattern_text(self._draft))

    # Arrows.

    def __rshift__(self, other: Part) -> Part:
        return _join(self, None, other)

    def next(self, other: Part) -> Part:
        """`-> next`: the very next event of the partition."""
        return _join(self, Arrow.NEXT, other)

    def first(self, other: Part) -> Part:
        """`-> first`: skip to the first event that fits."""
        return _join(self, Arrow.FIRST, other)

    def any(self, other: Part) -> Part:
        """`-> any`: every event that fits, each in its own run."""
        return _join(self, Arrow.ANY, other)

    # Closures.

    def one_or_more(self) -> Self:
        """`B+`: one or more."""
        return self.times(1, None)

    def zero_or_more(self) -> Self:
        """`B*`: none or more."""
        return self.times(0, None)

    def optional(self) -> Self:
        """`B?`: none or one; the name stays a single event, or null."""
        return self.times(0, 1)

    def times(self, least: int, most: int | EllipsisType | None = ...) -> Self:
        """`times(3)` exactly three, `times(2, 4)` two to four, `times(2, None)` two or more.

        >>> print(event("A").as_("a").times(2, 4) >> (event("B") >> event("C")).times(2))
        A{2,4} as a -> (B -> C){2}
        """
        most = least if isinstance(most, EllipsisType) else most
        _check_counts(least, most)
        closure = Closure(_repeatable(self), least, most)
        bound = self._bound
        if bound is not None and not closure.single:  # each round is as near as the step was to be
            closure, bound = replace(closure, gap=bound), None
        draft = Pattern(closure, where=self._draft.where)
        return replace(self, _draft=draft, _bound=bound, _open=False, _grouped=False)

    def unbroken(self) -> Self:
        """`all next`: each further event must be the very next one of the partition."""
        return _looped(self, Loop.NEXT)

    def combinations(self) -> Self:
        """`all any`: each further event may be taken or passed over."""
        return _looped(self, Loop.ANY)

    def greedy(self) -> Self:
        """`all greedy`: never leaves the closure on an event that it could take."""
        return _looped(self, Loop.GREEDY)

    def until(self, test: Condition) -> Self:
        """The closure takes no more from the first event on for which the test holds."""
        return _with_closure(self, _loop_of_step(self, "until"), until=condition(test))

    def gap(self, bound: Duration) -> Self:
        """Between neighbours of the closure, and to the event before it, at most so much time."""
        return _with_closure(self, _loop(self, "gap"), gap=duration_of(bound))

    def increasing(self, name: str | Path) -> Self:
        """Each event of the closure strictly above the one before it."""
        closure = _loop_of_step(self, "increasing")
        return _with_closure(self, closure, monotonic=Monotonic(field_path(name, "increasing"), rising=True))

    def decreasing(self, name: str | Path) -> Self:
        """Each event of the closure strictly below the one before it."""
        closure = _loop_of_step(self, "decreasing")
        return _with_closure(self, closure, monotonic=Monotonic(field_path(name, "decreasing"), rising=False))

    def at_most(self, bound: Duration) -> Self:
        """The step's event comes at most so long after the event before it; of a closure, every gap.

        >>> print(event("A") >> event("B").at_most("5s") >> event("C"))
        A -> B within 5s -> C
        """
        root, time = self._draft.root, duration_of(bound)
        if isinstance(root, Sequence):
            raise PatternMistake(
                "`at_most` bounds one step, and this is a sequence",
                code="bound_on_sequence",
                hint='.within("5s") bounds the time from its first to its last event',
            )
        if isinstance(root, Absence):
            return replace(self, _draft=replace(self._draft, root=replace(root, within=time)))
        if isinstance(root, Closure) and not root.single:
            return replace(self, _draft=replace(self._draft, root=replace(root, gap=time)))
        return replace(self, _bound=time)

    # Clauses: what belongs to a pattern as a whole.

    def within(self, bound: Duration) -> Part:
        """Last time − first time ≤ bound; the bound itself still matches."""
        return _clause(self, within=duration_of(bound))

    def where(self, *tests: Condition) -> Part:
        """Conditions over the whole match; several are all to hold."""
        added = [condition(test) for test in tests]
        return _clause(self, where=conjunction([*conjuncts(self._draft.where), *added]))

    def partition_by(self, *keys: str | Value) -> Part:
        """Field names, or expressions over fields.

        >>> print((event("A") >> event("B")).partition_by("user", func.lower(field("city"))))
        A -> B .partition_by(user, lower(city))
        """
        if not keys:
            raise bad_argument("`partition_by` without a key", 'write .partition_by("user")')
        return _clause(self, partition_by=self._draft.partition_by + tuple(key_of(k) for k in keys))

    def unless(
        self,
        step: Part,
        *,
        between: tuple[Aliased | str, Aliased | str] | None = None,
        after: Aliased | str | None = None,
    ) -> Part:
        """No such event: between two steps, after a step, or (with neither) from first to last step."""
        if between is not None and after is not None:
            raise bad_argument("`unless` is `between` or `after`, not both", "add two guards")
        start, end = (None, None) if between is None else (alias_of(between[0]), alias_of(between[1]))
        start = alias_of(after) if after is not None else start
        guard = Guard(_one_event(step, "`unless`", "guard_form"), start, end)
        return _clause(self, guards=(*self._draft.guards, guard))

    def stam(self) -> Part:
        """Skip till any match, the default: every combination of events that fits."""
        return _clause(self, selection=Selection.STAM)

    def stnm(self) -> Part:
        """Skip till next match: a run takes the first event that fits, and each event serves one match."""
        return _clause(self, selection=Selection.STNM)

    def strict(self) -> Part:
        """Neighbouring events of the partition only."""
        return _clause(self, selection=Selection.STRICT)

    def each(self, *, eager: bool = False) -> Part:
        """A match for each prefix of a closure; `eager=True` also gives provisional rows before it is complete."""
        return _clause(self, emission=Emission.EACH, eager=bool(eager))

    def longest(self) -> Part:
        """Only maximal matches."""
        return _clause(self, emission=Emission.LONGEST, eager=False)

    def subsets(self) -> Part:
        """Every combination of a closure's events."""
        return _clause(self, emission=Emission.SUBSETS, eager=False)

    def skip(
        self,
        to: str | None = None,
        *,
        to_first: Aliased | str | None = None,
        to_last: Aliased | str | None = None,
    ) -> Part:
        """After a match: `skip("past_last")`, "to_next", "none", `skip(to_first=b)`, `skip(to_last=b)`."""
        if sum(way is not None for way in (to, to_first, to_last)) != 1:
            raise bad_argument(
                "`skip` takes one way to skip", 'write .skip("past_last") or .skip(to_first=b)'
            )
        if to_first is not None:
            return _clause(self, skip=Skip(SkipTo.TO_FIRST, alias_of(to_first)))
        if to_last is not None:
            return _clause(self, skip=Skip(SkipTo.TO_LAST, alias_of(to_last)))
        return _clause(self, skip=Skip(way_to_skip(to)))

    def limit(
        self,
        *,
        max_runs: int | None = None,
        max_matches: int | None = None,
        max_buffer: int | None = None,
        on_limit: str | None = None,
    ) -> Part:
        """Limits of this pattern; those not said stay."""
        numbers = {"max_runs": max_runs, "max_matches": max_matches, "max_buffer": max_buffer}
        changes: dict[str, Any] = {n: above_zero(n, v) for n, v in numbers.items() if v is not None}
        if on_limit is not None:
            if on_limit not in [o.value for o in OnLimit]:
                raise bad_argument("`on_limit` is `error` or `evict_oldest`", 'write on_limit="evict_oldest"')
            changes["on_limit"] = OnLimit(on_limit)
        return _clause(self, limits=replace(self._draft.limits, **changes))

    def timeouts(self) -> Part:
        """A row for each run that its window ended."""
        return _clause(self, timeouts=True)

    def trend_aggregate(self, /, *, rows: str | Value = "change", **columns: Value) -> Part:
        """Aggregates over all matches under `subsets`, without listing them. `field("n")` is column `n` in `.emit`.

        >>> a, b = event("A").as_("a"), event("B").as_("b").one_or_more()
        >>> print((a >> b).trend_aggregate(n=count_trends(), total=sum_trends(b.v), rows="final"))
        A as a -> B+ as b .trend_aggregate(n: count_trends(), total: sum_trends(b.v), rows: final)
        """
        given: list[tuple[str | None, Expr]] = [(check_name(n), expression(v)) for n, v in columns.items()]
        return _clause(self, trends=read_trends([*given, (ROWS, expression(rows))]))

    def named(self, name: str) -> Part:
        """The name of the pattern, and of the stream made of it."""
        return _clause(self, name=check_name(name))

    def emit(self, /, *columns: Path, **named: object) -> Stream:
        """A stream: the pattern and the columns of its matches. `.named("Alert")` first gives it a name.

        >>> a, b = event("A").as_("a"), event("B").as_("b")
        >>> print((a >> b).named("Alert").emit(a.user, gain=b.price - a.price))
        stream Alert = A as a -> B as b .emit(user: a.user, gain: b.price - a.price)
        """
        outputs = [*(column_of(c) for c in columns), *(Output(n, computed(v)) for n, v in named.items())]
        return _stream(self, tuple(outputs))

    def forecast(self, **arguments: Any) -> Stream:
        """A stream with forecasts of its open runs: arguments as of `with_forecast`."""
        return with_forecast(self, **arguments)


@dataclass(frozen=True, eq=False, repr=False)
class EventPart(Aliased, Part):
    """A step, taken once or repeated. Its attributes are the event's fields: `a.user`, or `a["where"]`."""

    def _alias(self) -> str | None:
        return _step_of(self).alias

    def as_(self, name: str) -> Self:
        """Names the step, for conditions and for the match's columns."""
        if self._alias() not in (None, name):
            raise PatternMistake("this step has two names", code="two_aliases", hint="keep one")
        return _with_step(self, replace(_step_of(self), alias=check_name(name)))

    def where(self, *tests: Condition) -> Self:
        """Conditions of the step; several are all to hold. Bare `field("x")` is a field of its own event."""
        return _with_step(self, _tested(_step_of(self), tests))


@dataclass(frozen=True, eq=False, repr=False)
class Absent(Part):
    """`NOT X`: takes no event. `.at_most(d)` bounds how long it looks."""

    def where(self, *tests: Condition) -> Self:
        """Conditions of the absent event; they may name the other steps."""
        root = self._draft.root
        assert isinstance(root, Absence)
        return replace(self, _draft=replace(self._draft, root=replace(root, step=_tested(root.step, tests))))


# The words a pattern begins with.


def event(type_name: str) -> EventPart:
    """One event of a type.

    Its attributes are the event's fields: `a.user`, or `a["where"]` for any name.

    Args:
        type_name: The type of the event.

    >>> print(event("Login").as_("a").where(field("ok") == False))
    Login[ok == false] as a
    """
    return EventPart(Pattern(Step(check_name(type_name))))


def all_(part: P) -> P:
    """`all A`: one or more; a part that is already repeated keeps its numbers, as in `all A{2,4}`.

    Args:
        part: A step, or a group.

    >>> print(event("A") >> all_(event("B").as_("b")) >> event("C"))
    A -> B+ as b -> C
    """
    if isinstance(_part(part)._draft.root, Closure) and not part._grouped:
        return part
    return part.one_or_more()


def not_(step: Part) -> Absent:
    """`NOT X`: no such event here.

    Args:
        step: The event that must not come, with its conditions.

    >>> print(event("A") >> not_(event("X")).at_most("5s") >> event("B"))
    A -> NOT X within 5s -> B
    """
    return Absent(Pattern(Absence(_one_event(step, "NOT", "not_form"))))


def not_next(step: Part) -> Absent:
    """`NOT next X`: only the very next event of the partition is looked at.

    Args:
        step: The event that must not be the next, with its conditions.

    >>> print(event("A") >> not_next(event("X")) >> event("B"))
    A -> NOT next X -> B
    """
    return Absent(Pattern(Absence(_one_event(step, "NOT", "not_form"), next=True)))


def and_(*parts: Part) -> Part:
    """All of them, in any order, by different events.

    Args:
        parts: Two or more steps or sequences.

    >>> print(and_(event("A"), event("B") >> event("C")) >> event("D"))
    AND(A, B -> C) -> D
    """
    return _logical(And, "AND", parts)


def or_(*parts: Part) -> Part:
    """One of them; the names of the others are null.

    Args:
        parts: Two or more steps or sequences.

    >>> print(or_(event("Card").as_("c"), event("Cash").as_("m")) >> event("Receipt"))
    OR(Card as c, Cash as m) -> Receipt
    """
    return _logical(Or, "OR", parts)


def group(part: Part) -> Part:
    """Parentheses: what is repeated, or bounded by `.within`, as a whole.

    Args:
        part: What stands in the parentheses.

    >>> a, b, c = event("A"), event("B"), event("C")
    >>> print(group(a >> b) >> group(c.one_or_more()).times(2))
    (A -> B) -> (C+){2}
    """
    if isinstance(_part(part)._draft.root, (Step, Absence)):
        return part
    return Part(_structure(part), part._bound, _grouped=True)


def seq(*parts: Part) -> Part:
    """`seq(a, b, c)` is `a >> b >> c`, for lists of steps.

    Args:
        parts: The steps, in order.

    >>> print(seq(*(event(name) for name in "ABC")))
    A -> B -> C
    """
    if not parts:
        raise bad_argument("`seq` without steps", "write seq(a, b)")
    return reduce(lambda left, right: left >> right, [_part(p) for p in parts])


def every(part: Part, *, keep: str = "latest") -> Part:
    """One run per partition that starts again after each match; `keep="first"` holds on to the first start.

    Args:
        part: The pattern.
        keep: Which start counts while only the first step is held, "latest" or "first".

    >>> print(every(event("A") >> event("B")).within("5s"))
    every (A -> B) .within(5s)
    """
    kinds = {"latest": Every.LATEST, "first": Every.FIRST}
    if keep not in kinds:
        raise bad_argument(f"`keep` is latest or first, not {keep!r}", 'write every(p, keep="first")')
    _no_every(_part(part)._draft)
    return _clause(part, every=kinds[keep])


def whole(part: Part) -> Part:
    """The part as a pattern: for `whole(a).where(...)`, a condition on the match rather than on the step."""
    return _clause(_part(part))


# The door for every function that takes a pattern.


def as_pattern(source: object) -> Pattern:
    """A model pattern, whatever kind of pattern it is given as."""
    if isinstance(source, Stream):
        return source.pattern
    return source if isinstance(source, Pattern) else _part(source).build()


def as_stream(source: object, name: str | None = None) -> Stream:
    """A stream with the default columns, unless it is one already. Its name: its own, `name`, `matches`."""
    if isinstance(source, Stream):
        return source
    pattern = as_pattern(source)
    title = pattern.name or name or "matches"
    return Stream(title, replace(pattern, name=title))


# Putting parts together.


def _part(value: object) -> Part:
    if isinstance(value, Part):
        return value
    hint = f'write event("{value}")' if isinstance(value, str) else 'a pattern begins with event("A")'
    raise PatternMistake(f"{value!r} is not a part of a pattern", code="not_a_pattern", hint=hint)


def _join(left: Part, arrow: Arrow | None, right: Part) -> Part:
    """Only what stands left of an arrow grows; on the right a sequence is a group, as in parentheses."""
    root = left._draft.root
    before = root.links if left._open and isinstance(root, Sequence) else (_link(left, None),)
    wheres = [w for w in (left._draft.where, _part(right)._draft.where) if w is not None]
    draft = Pattern(Sequence((*before, _link(right, arrow, first=False))), where=conjunction(wheres))
    return Part(draft, _open=True)


def _link(part: Part, arrow: Arrow | None, first: bool = True) -> Link:
    root = part._draft.root
    if part._draft.within is not None and isinstance(root, (Step, Closure, Absence)):
        raise PatternMistake(
            "`.within` bounds a whole pattern or group, and this is one step of a sequence",
            code="bound_on_one_step",
            hint='.at_most("5s") bounds the time since the event before it',
        )
    node = _structure(part).root
    if first and part._bound is not None:
        raise _bound_on_first_step()
    return Link(node, arrow, part._bound)


def _structure(part: Part) -> Pattern:
    """What is left of a pattern when it is part of another: its steps, its bound, its condition."""
    draft = part._draft
    _no_every(draft)
    if draft.partition_by or draft.guards:
        raise PatternMistake(
            "a part of a pattern cannot have `partition by` or `unless` of its own",
            code="clause_inside",
            hint="put it after the whole pattern",
        )
    plain = Pattern(draft.root, within=draft.within, where=draft.where)
    if draft != plain:
        raise PatternMistake(
            "an operator such as `.stnm()` or `.longest()` stands in the middle of the pattern",
            code="misplaced_operator",
            hint="operators come after the last step: (a >> b).stnm()",
        )
    return Pattern(_spanned(draft), where=draft.where)


def _spanned(draft: Pattern) -> Node:
    """The bound of a part is the span of its group."""
    root, bound = draft.root, draft.within
    if bound is None:
        return root
    if isinstance(root, Step):
        raise _bound_on_first_step()
    if isinstance(root, Sequence):
        return replace(root, span=bound if root.span is None else min(bound, root.span))
    return Sequence((Link(root),), span=bound)


def _no_every(draft: Pattern) -> None:
    if draft.every is not None:
        raise PatternMistake(
            "`every` inside a pattern",
            code="every_nested",
            hint="it goes around the whole pattern: every(a >> b)",
        )


def _logical(kind: Callable[[tuple[Node, ...]], Node], word: str, parts: tuple[Part, ...]) -> Part:
    if len(parts) < 2:
        raise PatternMistake(
            f"{word} needs two or more operands", code="too_few_operands", hint=f"write {word.lower()}_(a, b)"
        )
    for part in parts:
        _whole_draft(_part(part))
    drafts = [_structure(part) for part in parts]
    wheres = [d.where for d in drafts if d.where is not None]
    return Part(Pattern(kind(tuple(d.root for d in drafts)), where=conjunction(wheres)))


def _one_event(step: object, word: str, code: str) -> Step:
    part = _part(step)
    root = part._draft.root
    if isinstance(root, Step) and part._draft == Pattern(root) and part._bound is None:
        return root
    raise PatternMistake(
        f"{word} takes one event",
        code=code,
        hint='one event("X"), with its condition; for several, one after the other',
    )


def _bound_on_first_step() -> PatternMistake:
    return PatternMistake(
        "a bound on the first step bounds nothing: there is no event before it",
        code="bound_on_first_step",
        hint="put it on the step it bounds, or .within(...) on the whole pattern",
    )


# Steps and closures.


def _step_of(part: Part) -> Step:
    root = part._draft.root
    step = root.body if isinstance(root, Closure) else root
    assert isinstance(step, Step)
    return step


def _with_step(part: P, step: Step) -> P:
    root = part._draft.root
    node = replace(root, body=step) if isinstance(root, Closure) else step
    return replace(part, _draft=replace(part._draft, root=node))


def _tested(step: Step, tests: tuple[Condition, ...]) -> Step:
    before = [] if step.where is None else [step.where]
    return replace(step, where=conjunction([*before, *(condition(test) for test in tests)]))


def _repeatable(part: Part) -> Node:
    root = part._draft.root
    if isinstance(root, Closure) and not part._grouped:
        raise PatternMistake(
            "this part is already repeated",
            code="two_quantifiers",
            hint="say it once; to repeat the repetition as a whole: group(a.one_or_more()).times(2)",
        )
    if isinstance(root, Absence):
        raise PatternMistake("NOT takes one event", code="not_form", hint="an absence cannot be repeated")
    return _structure(part).root


def _check_counts(least: int, most: int | None) -> None:
    numbers: list[object] = [n for n in (least, most) if n is not None]
    whole_numbers = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers)
    if not whole_numbers or (most is not None and (most < least or most == 0)):
        raise PatternMistake(
            f"{{{least},{'' if most is None else most}}} can never be reached",
            code="bad_bounds",
            hint="the first number is the least, the second the most, and the most is at least 1",
        )


def _loop(part: Part, what: str) -> Closure:
    root = part._draft.root
    if isinstance(root, Closure) and not part._grouped:
        return root
    raise PatternMistake(
        f"`{what}` belongs to a closure, and this is not repeated",
        code="not_a_closure",
        hint=f"write .one_or_more().{what}(...)",
    )


def _loop_of_step(part: Part, what: str) -> Closure:
    closure = _loop(part, what)
    if isinstance(closure.body, Step):
        return closure
    raise PatternMistake(
        f"a group cannot have `{what}`", code="group_suffix", hint="name and test the steps inside it"
    )


def _with_closure(part: P, closure: Closure, **changes: Any) -> P:
    return replace(part, _draft=replace(part._draft, root=replace(closure, **changes)))


def _looped(part: P, loop: Loop) -> P:
    closure = _loop(part, {Loop.NEXT: "unbroken", Loop.ANY: "combinations", Loop.GREEDY: "greedy"}[loop])
    if closure.loop not in (None, loop):
        raise PatternMistake(
            "a closure goes on in one way",
            code="two_loops",
            hint="choose one of unbroken(), combinations(), greedy()",
        )
    return _with_closure(part, closure, loop=loop)


# Clauses.


def _whole_draft(part: Part) -> Pattern:
    """The draft of a part that stands alone: a bound towards the event before it has no such event."""
    if part._bound is not None:
        raise _bound_on_first_step()
    return part._draft


def _clause(part: Part, **changes: Any) -> Part:
    return Part(replace(_whole_draft(part), **changes))


# Streams.


def _stream(part: Part, outputs: tuple[Output, ...]) -> Stream:
    if not outputs:
        raise bad_argument("`.emit()` without columns", "write .emit(user=a.user), or leave it out")
    names = [o.name for o in outputs]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise bad_argument(f"two columns are called `{twice}`", "give each its own name")
    named = tuple(Output(check_name(o.name), o.expr) for o in outputs)
    return resolve_stream(replace(as_stream(part), outputs=named))


def _normal(draft: Pattern) -> Pattern:
    """A group that is the whole pattern: its span is the pattern's bound."""
    root = draft.root
    if not isinstance(root, Sequence) or root.span is None or draft.within not in (None, root.span):
        return draft
    node = root.links[0].node if len(root.links) == 1 else replace(root, span=None)
    return replace(draft, root=node, within=root.span)


__all__ = [
    # patterns
    "event",
    "seq",
    "group",
    "whole",
    "all_",
    "not_",
    "not_next",
    "and_",
    "or_",
    "every",
    "with_forecast",
    # expressions
    "field",
    "lit",
    "func",
    "first",
    "last",
    "count",
    "sum_",
    "avg",
    "min_",
    "max_",
    "stddev",
    "distinct_count",
    "collect",
    "if_",
    "case",
    # aggregates over trends
    "count_trends",
    "count_events",
    "sum_trends",
    "avg_trends",
    "min_trends",
    "max_trends",
    # types, and the door for functions that take patterns
    "Part",
    "EventPart",
    "Absent",
    "Value",
    "Path",
    "Condition",
    "as_pattern",
    "as_stream",
]
