"""An oracle for small inputs: every way a pattern can be laid over the events, straight from the definitions.

It shares the pattern model with the matchers and nothing else, it is exponential, and it is meant to be read
beside `docs/semantics.md`. Not covered: partitions, groups, `AND`/`OR` of anything but single events, aggregates,
opaque conditions, limits. What the definitions leave open raises `Undecided`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cepheid.pattern.event import Event
from cepheid.pattern.expr import Binary, Expr, Field, Literal, aliases_in, conjuncts, walk
from cepheid.pattern.model import (
    Absence,
    And,
    Arrow,
    Closure,
    Emission,
    Every,
    Link,
    Loop,
    Node,
    Or,
    Pattern,
    Selection,
    SkipTo,
    Step,
    list_aliases,
    walk_nodes,
)
from cepheid.pattern.model import Sequence as Links

Binds = dict[str, tuple[Event, ...]]

# When a match completes: how many events came before, 0 for a deadline that fires before the next event and 1
# for an event itself, the deadline. In this order matches come.
Moment = tuple[int, int, int]


class Undecided(Exception):
    """The definitions do not say what the answer is."""


@dataclass(frozen=True)
class Take:
    """One event in its place: the link of the sequence, the operand of an `AND` or `OR`, the position."""

    link: int
    operand: int
    at: int


Way = tuple[Take, ...]


@dataclass(frozen=True)
class Target:
    """A place a run may go to next, and the absences it passes on its way there."""

    link: int
    operand: int
    passed: tuple[Absence, ...] = ()
    goes_on: bool = False  # stays inside the link it is in: a closure's next event, an AND's next operand


@dataclass(frozen=True)
class Complete:
    """A match: when it completes and what it holds."""

    moment: Moment
    way: Way

    def events(self) -> frozenset[int]:
        return frozenset(t.at for t in self.way)

    def order(self) -> tuple[Any, ...]:
        """Of matches at one moment: by the start, fewer events first, then by the order of their events."""
        at = sorted(t.at for t in self.way)
        return (at[0], len(at), at)


def brute_force(pattern: Pattern, events: Sequence[Event]) -> list[Binds]:
    """The matches of a bounded input of one partition: from alias to events, in the order they complete."""
    laid = _Laid(pattern, sorted(events, key=Event.place_in_order))
    if pattern.every is not None:
        found = _every(laid)
    elif pattern.selection is Selection.STNM:
        found = _Stnm(laid).run()
    else:
        found = _select(laid, list(_completions(laid)))
    return [laid.all_binds(c.way) for c in found]


# --- conditions ---------------------------------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _value(expr: Expr, event: Event, look: Callable[[str], Event | None]) -> Any:
    """SQL's three-valued logic over the few forms the oracle knows; None is unknown."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Field):
        holder = event if expr.alias is None else look(expr.alias)
        return None if holder is None else holder.fields.get(expr.path[0])
    if isinstance(expr, Binary) and expr.op in ("and", "or"):
        sides = [_value(expr.left, event, look), _value(expr.right, event, look)]
        decisive = expr.op == "or"
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    if isinstance(expr, Binary) and expr.op in _COMPARE:
        left, right = _value(expr.left, event, look), _value(expr.right, event, look)
        return None if left is None or right is None else _COMPARE[expr.op](left, right)
    raise Undecided(f"the oracle does not know {expr}")


# --- a pattern laid over events -----------------------------------------------------------------------------


class _Laid:
    """The definitions: what fits, what a way may skip, what violates."""

    def __init__(self, pattern: Pattern, events: list[Event]) -> None:
        self.pattern = pattern
        self.events = events
        root = pattern.root
        self.links = root.links if isinstance(root, Links) else (Link(root),)
        rises = any(isinstance(n, Closure) and n.monotonic for n in walk_nodes(root))
        self.emission = pattern.emission or (Emission.LONGEST if pattern.every or rises else Emission.EACH)
        self.aliases = list_aliases(root)
        self.end = events[-1].time if events else 0

    # -- places

    def node(self, link: int) -> Node:
        return self.links[link].node

    def step(self, target: Target | Take) -> Step:
        node = self.node(target.link)
        if isinstance(node, Closure):
            node = node.body
        if isinstance(node, (And, Or)):
            node = node.operands[target.operand]
        if not isinstance(node, Step):
            raise Undecided(f"the oracle does not know {node}")
        return node

    def arrow(self, link: int) -> Arrow:
        """Section 3; a closure begins at the first event that fits it unless the arrow says otherwise."""
        said = self.links[link].arrow
        selection = self.pattern.selection
        if said is not None:
            return said
        if self.pattern.every:
            return Arrow.FIRST
        if selection is Selection.STRICT:
            return Arrow.NEXT
        if isinstance(self.node(link), Closure):
            return Arrow.ANY if self.emission is Emission.SUBSETS else Arrow.FIRST
        return Arrow.FIRST if selection is Selection.STNM else Arrow.ANY

    def loop(self, closure: Closure) -> Loop:
        if self.pattern.selection is Selection.STRICT:
            return Loop.NEXT
        if closure.loop is not None:
            return closure.loop
        return Loop.ANY if self.emission is Emission.SUBSETS else Loop.ALL

    def targets(self, way: Way) -> tuple[list[Target], tuple[Absence, ...] | None]:
        """Where a run may go, and the absences before the end if the end is open to it (else None)."""
        found: list[Target] = []
        link = -1
        if way:
            link = way[-1].link
            node = self.node(link)
            inside = [t for t in way if t.link == link]
            if isinstance(node, And) and len(inside) < len(node.operands):
                filled = {t.operand for t in inside}
                free = [o for o in range(len(node.operands)) if o not in filled]
                return [Target(link, o, goes_on=True) for o in free], None
            if isinstance(node, Closure):
                if node.max is None or len(inside) < node.max:
                    found.append(Target(link, 0, goes_on=True))
                if len(inside) < node.min:
                    return found, None
        passed: tuple[Absence, ...] = ()
        for j in range(link + 1, len(self.links)):
            node = self.node(j)
            if isinstance(node, Absence):
                passed += (node,)
                continue
            operands = len(node.operands) if isinstance(node, (And, Or)) else 1
            found += [Target(j, o, passed) for o in range(operands)]
            if not (isinstance(node, Closure) and node.min == 0):
                return found, None
        return found, passed if way else None

    # -- bindings and tests

    def binds(self, way: Way) -> Binds:
        found: Binds = {}
        for take in way:
            alias = self.step(take).alias
            if alias is not None:
                found[alias] = (*found.get(alias, ()), self.events[take.at])
        return found

    def all_binds(self, way: Way) -> Binds:
        bound = self.binds(way)
        return {alias: bound.get(alias, ()) for alias in self.aliases}

    def satisfies(self, step: Step, event: Event, binds: Binds) -> bool:
        """A step that takes one event, or the event of an absence or guard."""

        def look(alias: str) -> Event | None:
            if alias == step.alias:
                return event
            return binds[alias][-1] if binds.get(alias) else None

        if step.type != event.type:
            return False
        return all(_value(c, event, look) is True for c in conjuncts(step.where))

    def closure_satisfies(self, node: Closure, step: Step, event: Event, way: Way) -> bool:
        """`b.f` in the closure's own condition is the event captured before; at first, the step before."""
        binds, monotonic = self.binds(way), node.monotonic
        before = dict(binds)
        if step.alias is not None and step.alias not in binds:
            before[step.alias] = tuple(self.events[t.at] for t in way[-1:])

        def look(alias: str) -> Event | None:
            return before[alias][-1] if before.get(alias) else None

        def tested(conjunct: Expr) -> bool:
            own = [f for f in walk(conjunct) if isinstance(f, Field) and f.alias == step.alias is not None]
            captured = look(step.alias or "")
            if step.alias in binds:
                return True
            return all(captured is not None and captured.fields.get(f.path[0]) is not None for f in own)

        tests = list(conjuncts(step.where))
        if monotonic is not None:
            rise = ">" if monotonic.rising else "<"
            tests.append(Binary(rise, Field(None, monotonic.path), Field(step.alias, monotonic.path)))
        return step.type == event.type and all(_value(c, event, look) is True for c in tests if tested(c))

    def where_holds(self, way: Way) -> bool:
        """The conjuncts of the pattern's own `where` that the last take settles (over single steps only)."""
        place = {n.node.alias: i for i, n in enumerate(self.links) if isinstance(n.node, Step)}
        for conjunct in conjuncts(self.pattern.where):
            names = aliases_in(conjunct)
            if not names <= place.keys():
                raise Undecided("a condition on the whole names more than single steps")
            if max(place[n] for n in names) == way[-1].link:
                binds = self.binds(way)
                event = self.events[way[-1].at]
                if _value(conjunct, event, lambda a, b=binds: b[a][-1]) is not True:  # type: ignore[misc]
                    return False
        return True

    # -- absences and guards

    def violates(self, absence: Absence, way: Way, at: int) -> bool:
        """Is the event at this place a violation, for a run that holds the way and passes the absence?"""
        last = way[-1].at
        event = self.events[at]
        if absence.next and at != last + 1:
            return False
        if absence.within is not None and event.time - self.events[last].time > absence.within:
            return False
        return self.satisfies(absence.step, event, self.binds(way))

    def free_before(self, absence: Absence, at: int, binds: Binds) -> bool:
        """`NOT X within d -> B`: no X earlier than B with X.time ≥ B.time − d."""
        if absence.within is None:
            raise Undecided("an absence without a bound before the first event a run takes")
        since = self.events[at].time - absence.within
        before = [e for e in self.events[:at] if e.time >= since]
        return not any(self.satisfies(absence.step, e, binds) for e in before)

    def guarded(self, way: Way, at: int) -> bool:
        """Does the event at this place kill a run that holds the way? The window is open while `start` is
        held (any event, if there is none) and `end` is not."""
        binds = self.binds(way)
        for guard in self.pattern.guards:
            opened = bool(way) if guard.start is None else guard.start in binds
            closed = guard.end is not None and guard.end in binds
            if opened and not closed and self.satisfies(guard.step, self.events[at], binds):
                return True
        return False

    # -- taking and skipping

    def can_take(self, way: Way, target: Target, at: int) -> bool:
        """Does the event fit there, with everything between the last event of the way and it?"""
        event, link, node = self.events[at], self.links[target.link], self.node(target.link)
        step = self.step(target)
        taken = (*way, Take(target.link, target.operand, at))
        if isinstance(node, Closure) and not node.single:  # the alias of `A?` is one event, the one at hand
            fits = self.closure_satisfies(node, step, event, way)
        else:
            fits = self.satisfies(step, event, self.binds(way))
        if not fits or not self.where_holds(taken):
            return False
        if not way:
            return all(self.free_before(a, at, self.binds(taken)) for a in target.passed)
        last = way[-1].at
        if self.pattern.within is not None and event.time - self.events[way[0].at].time > self.pattern.within:
            return False
        if not self.in_reach(way, target, at):
            return False
        for between in range(last + 1, at + 1):
            if any(self.violates(a, way, between) for a in target.passed):
                return False
        if isinstance(node, Closure):
            gap = self.gap(target.link)
            if gap is not None and event.time - self.events[last].time > gap:
                return False
            return not target.goes_on or not self.stopped(node, way, at)
        before = [t for t in way if t.link != target.link]
        bounded = link.within is not None and bool(before)
        return not bounded or event.time - self.events[before[-1].at].time <= (link.within or 0)

    def gap(self, link: int) -> int | None:
        """On a closure a bound is for every gap, the one to the event before it included."""
        node = self.node(link)
        own = node.gap if isinstance(node, Closure) else None
        return self.links[link].within if own is None else own

    def in_reach(self, way: Way, target: Target, at: int) -> bool:
        node = self.node(target.link)
        if target.goes_on and isinstance(node, Closure):
            nearest = self.loop(node) is Loop.NEXT
        else:
            nearest = self.arrow(target.link) is Arrow.NEXT
        return at == way[-1].at + 1 if nearest else at > way[-1].at

    def stopped(self, closure: Closure, way: Way, at: int) -> bool:
        """`until`: no more from the first event after the closure began for which the condition holds."""
        if closure.until is None:
            return False
        began = next(t.at for t in way if t.link == way[-1].link)
        return any(self.until_holds(closure, way, i) for i in range(began + 1, at + 1))

    def until_holds(self, closure: Closure, way: Way, at: int) -> bool:
        binds = self.binds(way)

        def look(alias: str) -> Event | None:
            return binds[alias][-1] if binds.get(alias) else None

        return closure.until is not None and _value(closure.until, self.events[at], look) is True

    def forced(self, way: Way, target: Target) -> bool:
        """Does an event that fits there move the run, so that no copy stays behind?"""
        node = self.node(target.link)
        if target.goes_on and isinstance(node, Closure):
            return self.loop(node) is not Loop.ANY
        return self.arrow(target.link) is not Arrow.ANY

    def prefixes(self, way: Way) -> list[Way]:
        """What the run holds if it leaves its closure: each prefix that is long enough, never the empty."""
        node = self.node(way[-1].link)
        if not isinstance(node, Closure):
            return [way]
        before = tuple(t for t in way if t.link != way[-1].link)
        captured = tuple(t for t in way if t.link == way[-1].link)
        return [before + captured[:n] for n in range(max(node.min, 1), len(captured) + 1)]

    def may_stay(self, full: Way, kept: Way | None, at: int) -> bool:
        """May the run pass over this event? `kept` is the prefix with which it leaves its closure later,
        None if it goes on inside it."""
        if self.guarded(full, at):
            return False
        for target in self.targets(full)[0]:
            holds = full if target.goes_on or kept is None else kept
            if self.forced(full, target) and self.moves_to(holds, target, at):
                return False
        return True

    def moves_to(self, way: Way, target: Target, at: int) -> bool:
        return self.can_take(way, target, at) and self.may_leave_on(way, target, at)

    def may_leave_on(self, kept: Way, target: Target, at: int) -> bool:
        """Greedy: a match may not leave the closure on an event the closure could take after what it keeps."""
        node = self.node(kept[-1].link) if kept else None
        if target.goes_on or not isinstance(node, Closure) or self.loop(node) is not Loop.GREEDY:
            return True
        return not any(t.goes_on and self.can_take(kept, t, at) for t in self.targets(kept)[0])

    # -- deadlines

    def passed_at(self, deadline: int) -> int | None:
        """How many events come before time passes the deadline (strictly); None if it never does."""
        return next((i for i, e in enumerate(self.events) if e.time > deadline), None)

    def window_end(self, way: Way) -> int | None:
        """The end of the whole window and, in a closure, of its gap bound: whichever is first."""
        ends = []
        if self.pattern.within is not None:
            ends.append(self.events[way[0].at].time + self.pattern.within)
        gap = self.gap(len(self.links) - 1)
        if gap is not None:
            ends.append(self.events[way[-1].at].time + gap)
        return min(ends, default=None)

    def absence_end(self, way: Way, absences: tuple[Absence, ...]) -> int | None:
        """The deadline of an absence at the end: its own bound from the event before, else the whole one."""
        own = [a.within for a in absences if a.within is not None]
        if own:
            if self.pattern.within is not None:
                raise Undecided("an absence at the end with a bound of its own and a bound on the whole")
            if len(own) < len(absences):
                raise Undecided("absences at the end of which one has no bound")
            return self.events[way[-1].at].time + max(own)
        return None if self.pattern.within is None else self.events[way[0].at].time + self.pattern.within

    def closes(self, way: Way, target: Target, at: int) -> bool:
        """Does an event the run does not take close the closure at the end?"""
        node = self.node(target.link)
        assert isinstance(node, Closure)
        if self.can_take(way, target, at):
            return False  # passed over (`all any`): it fits
        if target.goes_on and self.until_holds(node, way, at):
            return True
        unbroken = self.loop(node) is Loop.NEXT if target.goes_on else self.arrow(target.link) is Arrow.NEXT
        return unbroken or self.events[at].type == self.step(target).type


# --- all ways, for stam and strict --------------------------------------------------------------------------


def _ways(laid: _Laid, full: Way = ()) -> Iterator[Way]:
    """Every way a run can go. Inside a closure it holds all it captured; it leaves it with any prefix."""
    if full:
        yield full
    for target in laid.targets(full)[0]:
        start = full[-1].at + 1 if full else 0
        for kept in [full] if target.goes_on or not full else laid.prefixes(full):
            if full and _leaves_with_copies(laid, full, target):
                raise Undecided("does a copy that passed over an event move on with the one that took it?")
            if any(_moved_on(laid, kept, at) for at in range(kept[-1].at + 1 if full else 0, start)):
                continue
            for at in range(start, len(laid.events)):
                if full and laid.guarded(full, at):
                    break
                if laid.moves_to(kept, target, at):
                    yield from _ways(laid, (*kept, Take(target.link, target.operand, at)))
                if full and not laid.may_stay(full, None if target.goes_on else kept, at):
                    break
                if full and _waits(laid, full) and laid.closes(full, target, at):
                    break  # complete, and it takes no more


def _leaves_with_copies(laid: _Laid, full: Way, target: Target) -> bool:
    """Out of `all any`, on an arrow that moves the run: are the copies of the closure one run or several?"""
    node = laid.node(full[-1].link)
    forked = isinstance(node, Closure) and laid.loop(node) is Loop.ANY
    return forked and not target.goes_on and laid.arrow(target.link) is Arrow.FIRST


def _moved_on(laid: _Laid, kept: Way, at: int) -> bool:
    """Would a run that left its closure with this prefix have moved on with an event captured later?"""
    targets = [t for t in laid.targets(kept)[0] if not t.goes_on]
    return any(laid.forced(kept, t) and laid.moves_to(kept, t, at) for t in targets)


def _waits(laid: _Laid, way: Way) -> bool:
    """Is it complete but for a closure at the end, which is still open (`longest`)?"""
    targets, absences = laid.targets(way)
    return laid.emission is Emission.LONGEST and absences == () and bool(targets)


def _completions(laid: _Laid) -> Iterator[Complete]:
    for full in _ways(laid):
        targets, absences = laid.targets(full)
        if absences is None:
            continue
        if absences:
            for kept in laid.prefixes(full):
                yield from _absent(laid, full, kept, absences)
        elif _waits(laid, full):
            yield from _closed(laid, full, targets)
        else:
            yield Complete((full[-1].at, 1, 0), full)


def _absent(laid: _Laid, full: Way, kept: Way, absences: tuple[Absence, ...]) -> Iterator[Complete]:
    """An absence at the end: the run waits until its deadline has passed, or the next event decides."""
    deadline = laid.absence_end(kept, absences)
    only_next = all(a.next for a in absences)
    if only_next and laid.targets(full)[0]:
        raise Undecided("may a run take the event that decides NOT next at the end?")
    if any(_moved_on(laid, kept, at) for at in range(kept[-1].at + 1, full[-1].at + 1)):
        return
    for at in range(full[-1].at + 1, len(laid.events)):
        if deadline is not None and laid.events[at].time > deadline:
            break
        if not laid.may_stay(full, kept, at):
            return
        if only_next:
            break
    end = len(laid.events) if deadline is None else laid.passed_at(deadline)
    last = kept[-1].at
    for at in range(last + 1, len(laid.events) if end is None else end):
        if any(laid.violates(a, kept, at) for a in absences):
            return
    if only_next and last + 1 < (len(laid.events) if end is None else end):
        yield Complete((last + 1, 1, 0), kept)
    elif deadline is not None and end is not None:
        yield Complete((end, 0, deadline), kept)


def _closed(laid: _Laid, full: Way, targets: list[Target]) -> Iterator[Complete]:
    """A closure at the end under `longest` waits until it is closed."""
    if len(targets) != 1:
        raise Undecided("several closures at the end under longest")
    moment = _closing(laid, full, targets[0])
    if moment is not None:
        yield Complete(moment, full)


def _closing(laid: _Laid, full: Way, target: Target) -> Moment | None:
    deadline = laid.window_end(full)
    for at in range(full[-1].at + 1, len(laid.events)):
        if deadline is not None and laid.events[at].time > deadline:
            return (at, 0, deadline)
        if not laid.may_stay(full, None, at):
            return None
        if laid.closes(full, target, at):
            return (at, 1, 0)
    return (len(laid.events), 1, 0)


def _select(laid: _Laid, found: list[Complete]) -> list[Complete]:
    """Emission and skip, moment by moment: the maximal ones if asked, without those that were skipped."""
    taken: list[Complete] = []
    reach = 0  # events before this one are skipped
    for moment in sorted({c.moment for c in found}):
        now = list({c.way: c for c in found if c.moment == moment}.values())
        now = [c for c in now if c.way[0].at >= reach]
        if laid.emission is Emission.LONGEST:
            now = [c for c in now if not any(c.events() < d.events() for d in now)]
        now.sort(key=Complete.order)
        skipping = laid.pattern.skip.to is not SkipTo.NONE
        if skipping and len({repr(c.order()) for c in now}) < len(now):
            raise Undecided("matches of the same events at one moment, and skip takes one of them")
        for match in now:
            if match.way[0].at >= reach:
                taken.append(match)
                reach = max(reach, _reach(laid, match.way))
    return taken


def _reach(laid: _Laid, way: Way) -> int:
    """The first event that is not skipped after a match."""
    skip = laid.pattern.skip
    if skip.to is SkipTo.NONE:
        return 0
    if skip.to is SkipTo.TO_NEXT:
        return way[0].at + 1
    if skip.to is SkipTo.PAST_LAST:
        return way[-1].at + 1
    places = [t.at for t in way if laid.step(t).alias == skip.alias]
    if not places:
        raise Undecided("skip to a step that took no part")
    place = places[0] if skip.to is SkipTo.TO_FIRST else places[-1]
    if place == way[0].at:
        raise Undecided("skip to the match's own first event is an error")
    return place


# --- stnm ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Path:
    """Where a run is: what it holds (every combination under `subsets`), its completions so far, whether it was
    killed, what it waits for."""

    ways: tuple[Way, ...]
    complete: tuple[Way, ...] = ()
    killed: bool = False
    deadline: int | None = None  # of an absence, or of the closure at the end


class _Stnm:
    """Each event serves at most one run's matches. For every prefix of the input each start's path is worked
    out anew, over the events that no other run's match has used."""

    def __init__(self, laid: _Laid) -> None:
        if any(a.arrow not in (None, Arrow.FIRST) for a in laid.links):
            raise Undecided("stnm with an arrow that forks or must be next")
        self.laid = laid
        self.used: dict[int, int] = {}  # event -> the start whose match used it
        self.dead: set[int] = set()
        self.emitted: set[Way] = set()
        self.finished: set[int] = set()
        self.taken: list[Complete] = []
        self.reach = 0

    def run(self) -> list[Complete]:
        events = self.laid.events
        for n, event in enumerate(events):
            self.fire(n, event.time)
            self.offer(n)
        self.close()
        return self.taken

    def open_starts(self, n: int) -> list[int]:
        """In order of age."""
        own = [s for s in range(n) if self.used.get(s, s) == s]
        return [s for s in own if s not in self.dead and s not in self.finished and s >= self.reach]

    def fire(self, n: int, now: int) -> None:
        """Deadlines that lie before the next event."""
        while True:
            due = []
            for start in self.open_starts(n):
                path = self.path(start, n)
                if path is None or path.deadline is None or path.deadline >= now:
                    continue
                ways = [w for w in path.ways if w not in self.emitted and self.awaits(w)]
                if ways:
                    due.append((path.deadline, start, ways))
            if not due:
                return
            deadline, start, ways = min(due)
            self.finished.add(start)
            self.emit(start, (n, 0, deadline), ways)

    def offer(self, n: int) -> None:
        """The event after the first n, to the runs in order of age; again, if a younger run's match put an
        older one where it completes."""
        again = True
        while again:
            again = False
            for start in range(n + 1):
                if start not in self.open_starts(n + 1):
                    continue
                path = self.path(start, n + 1)
                if path is None:
                    continue
                if path.killed:
                    self.dead.add(start)
                new = [w for w in path.complete if w not in self.emitted]
                if new:
                    self.emit(start, (n, 1, 0), new)
                    again = True

    def close(self) -> None:
        """The end of a bounded input closes a closure at the end."""
        n = len(self.laid.events)
        for start in range(n):
            if start not in self.open_starts(n):
                continue
            path = self.path(start, n)
            if path is None or path.killed:
                continue
            held = [w for w in path.ways if w not in self.emitted and _waits(self.laid, w)]
            if held:
                self.finished.add(start)
                self.emit(start, (n, 1, 0), held)

    def emit(self, start: int, moment: Moment, fulls: list[Way]) -> None:
        """All matches of one run at one moment: the prefixes of its closures that hold on their own."""
        found = []
        for full in fulls:
            self.emitted.add(full)
            found += [Complete(moment, w) for w in self.cut(full)]
        if self.laid.emission is Emission.LONGEST:
            found = [c for c in found if not any(c.events() < d.events() for d in found)]
        for match in sorted({c.way: c for c in found}.values(), key=Complete.order):
            if match.way[0].at >= self.reach:
                self.taken.append(match)
                self.used.update({t.at: start for t in match.way})
                self.reach = max(self.reach, _reach(self.laid, match.way))

    def cut(self, full: Way) -> Iterator[Way]:
        laid = self.laid
        if laid.emission is Emission.SUBSETS:  # each combination is a way of its own
            if not self.violated_at_end(full, full):
                yield full
            return
        closures = sorted({t.link for t in full if isinstance(laid.node(t.link), Closure)})
        ends_here = laid.targets(full)[1] == ()
        choices = []
        for link in closures:
            node = laid.node(link)
            assert isinstance(node, Closure)
            held = sum(t.link == link for t in full)
            whole = link == full[-1].link and ends_here
            choices.append(range(held if whole else max(node.min, 1), held + 1))
        for lengths in product(*choices):
            keep = dict(zip(closures, lengths, strict=True))
            way: Way = ()
            for take in full:
                held = sum(t.link == take.link for t in way)
                if held < keep.get(take.link, 99):
                    goal = [
                        t for t in laid.targets(way)[0] if (t.link, t.operand) == (take.link, take.operand)
                    ]
                    if not goal or not laid.can_take(way, goal[0], take.at):
                        break
                    way = (*way, take)
            else:
                if not self.violated_at_end(way, full):
                    yield way

    def violated_at_end(self, way: Way, full: Way) -> bool:
        absences = self.laid.targets(way)[1] or ()
        deadline = self.laid.absence_end(way, absences) if absences else None
        if deadline is None:
            return False
        later = [
            i for i in range(way[-1].at + 1, len(self.laid.events)) if self.laid.events[i].time <= deadline
        ]
        return any(self.laid.violates(a, way, i) for a in absences for i in later)

    def path(self, start: int, n: int) -> _Path | None:
        """The run of a start over the first n events; None if it does not start."""
        laid = self.laid
        first = [t for t in reversed(laid.targets(())[0]) if laid.can_take((), t, start)]
        if not first:
            return None
        latest = max(t.link for t in first)
        begin = min((t for t in first if t.link == latest), key=lambda t: t.operand)
        way: Way = (Take(begin.link, begin.operand, start),)
        ways: tuple[Way, ...] = (way,)
        complete = [way] if self.is_complete(way) else []
        for at in range(start + 1, n):
            alive = tuple(w for w in ways if not laid.guarded(w, at) and not self.all_stopped(w, at))
            if not alive:
                return _Path(ways, tuple(complete), killed=True)
            free = self.used.get(at, start) == start
            ways = self.offered(alive, at) if free else alive
            complete += [w for w in ways if w[-1].at == at and self.is_complete(w)]
            for waiting in [w for w in ways if w[-1].at < at and _waits(laid, w)]:
                if laid.closes(waiting, laid.targets(waiting)[0][0], at):
                    if not free:
                        raise Undecided("a used event that would close a closure at the end")
                    return _Path(ways, (*complete, waiting))
        return _Path(ways, tuple(complete), deadline=self.deadline(ways))

    def offered(self, ways: tuple[Way, ...], at: int) -> tuple[Way, ...]:
        """A run takes the first event that fits and moves; under `subsets` it holds several combinations: where
        some of them move on, the others are gone."""
        laid = self.laid
        chosen = [(w, t) for w in ways if (t := self.choose(w, at)) is not None]
        moving = [(w, t) for w, t in chosen if laid.forced(w, t)]
        stay = () if moving else ways
        return stay + tuple((*w, Take(t.link, t.operand, at)) for w, t in moving or chosen)

    def is_complete(self, way: Way) -> bool:
        return self.laid.targets(way)[1] == () and not _waits(self.laid, way)

    def awaits(self, way: Way) -> bool:
        """Has it come to the end of the pattern, where only time can complete it?"""
        return bool(self.laid.targets(way)[1]) or _waits(self.laid, way)

    def deadline(self, ways: tuple[Way, ...]) -> int | None:
        ends = {self.own_deadline(w) for w in ways if self.awaits(w)}
        if len(ends) > 1:
            raise Undecided("combinations of one run that wait for different moments")
        return ends.pop() if ends else None

    def own_deadline(self, way: Way) -> int | None:
        targets, absences = self.laid.targets(way)
        if absences:
            if any(a.next for a in absences):
                raise Undecided("stnm with NOT next at the end")
            if targets and any(a.within is not None for a in absences):
                raise Undecided("may a run go on after an absence at the end has completed it?")
            return self.laid.absence_end(way, absences)
        return self.laid.window_end(way) if _waits(self.laid, way) else None

    def all_stopped(self, way: Way, at: int) -> bool:
        """Has a violation since the last event closed every way forward?"""
        targets, absences = self.laid.targets(way)
        ways = [t.passed for t in targets] + ([absences] if absences is not None else [])

        def stopped(passed: tuple[Absence, ...]) -> bool:
            since = range(way[-1].at + 1, at + 1)
            return any(self.laid.violates(a, way, i) for a in passed for i in since)

        return bool(ways) and all(stopped(p) for p in ways)

    def choose(self, way: Way, at: int) -> Target | None:
        """The step after wins over the closure, the latest of several, of operands the first listed."""
        laid = self.laid
        fitting = []
        for target in laid.targets(way)[0]:
            if laid.can_take(way, target, at):
                fitting.append(target)
            elif laid.emission is Emission.SUBSETS:
                continue
            elif not target.goes_on and any(laid.can_take(p, target, at) for p in laid.prefixes(way)):
                raise Undecided("an event that fits after a prefix of what the run captured only")
        return min(fitting, key=lambda t: (t.goes_on, -t.link, t.operand), default=None)


# --- every --------------------------------------------------------------------------------------------------


def _every(laid: _Laid) -> list[Complete]:
    """One run; while it holds only the first step a newer start takes its place (not in `every first`)."""
    first = laid.node(0)
    if isinstance(laid.links[-1].node, Absence):
        raise Undecided("every with an absence at the end")
    most = first.max if isinstance(first, Closure) else 1
    within = laid.pattern.within
    held: Way = ()
    found: list[Complete] = []
    for at, event in enumerate(laid.events):
        only_first = all(t.link == 0 for t in held)
        if held and within is not None:
            if only_first and isinstance(first, Closure):
                held = tuple(t for t in held if event.time - laid.events[t.at].time <= within)
            elif event.time - laid.events[held[0].at].time > within:
                held = ()
            only_first = all(t.link == 0 for t in held)
        targets, _ = laid.targets(held)
        onward = [t for t in targets if held and not t.goes_on]
        stopped = bool(held) and _stopped(laid, held, onward, at)
        if stopped and only_first and isinstance(first, Closure):
            if len(held) == most:
                raise Undecided("does a violation end a counted first step that is full?")
            stopped = False  # that way forward is closed, but the step may still take more
        if held and (laid.guarded(held, at) or stopped):
            held = ()
            continue
        ahead = [t for t in onward if laid.can_take(held, t, at)]
        inside = [t for t in targets if t.goes_on and not only_first and laid.can_take(held, t, at)]
        if ahead or inside:
            target = (ahead or inside)[-1]
            held = (*held, Take(target.link, target.operand, at))
            if laid.targets(held)[1] == ():
                found.append(Complete((at, 1, 0), held))
                held = ()
        elif only_first and laid.can_take((), laid.targets(())[0][0], at):
            more = (*held, Take(0, 0, at))
            room = len(more) if most is None else most
            held = more[:room] if laid.pattern.every is Every.FIRST else more[-room:]
    return found


def _stopped(laid: _Laid, held: Way, onward: list[Target], at: int) -> bool:
    since = range(held[-1].at + 1, at + 1)
    return bool(onward) and all(
        any(laid.violates(a, held, i) for a in t.passed for i in since) for t in onward
    )
