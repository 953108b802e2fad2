"""Hypothesis strategies: small patterns, as text, and small inputs. `hypothesis` is needed only here.

>>> from hypothesis import given
>>> @given(cases("closures"))
... def test_my_engine(case): ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

from hypothesis import strategies as st

from cepheid.lang.parser import parse_query
from cepheid.pattern.event import Event
from cepheid.pattern.model import steps_of
from cepheid.pattern.times import from_microseconds

SECOND = 1_000_000
TYPES = ("A", "B", "C", "X", "Z")  # X is what absences and guards name, Z is named by no pattern

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Shape:
    """What a family of patterns may contain."""

    links: tuple[int, int] = (1, 4)
    closures: bool = False
    loops: bool = False
    untils: bool = False
    arrows: bool = False
    absences: bool = False
    last_absence: bool = False
    guards: bool = False
    logical: bool = False
    groups: bool = False
    self_reference: bool = False
    step_bounds: bool = True
    skips: bool = False
    selections: tuple[str, ...] = ("", "", ".stam()")
    emissions: tuple[str, ...] = ("", "", ".each()", ".longest()", ".subsets()")
    every: bool = False


FAMILIES: dict[str, Shape] = {
    "sequences": Shape(arrows=True, skips=True),
    "closures": Shape(closures=True, loops=True, untils=True, arrows=True, self_reference=True, skips=True),
    "absence": Shape(closures=True, absences=True, last_absence=True, arrows=True),
    "guards": Shape(closures=True, untils=True, absences=True, guards=True, last_absence=True),
    "strict": Shape(
        closures=True,
        untils=True,
        absences=True,
        arrows=True,
        guards=True,
        skips=True,
        selections=(".strict()",),
    ),
    "stnm": Shape(
        closures=True,
        untils=True,
        absences=True,
        last_absence=True,
        guards=True,
        skips=True,
        selections=(".stnm()",),
        emissions=("", "", ".longest()", ".subsets()"),
    ),
    "every": Shape(links=(2, 3), absences=True, guards=True, step_bounds=False, emissions=("",), every=True),
    "groups": Shape(links=(1, 3), groups=True, absences=True, selections=("", "", ".strict()", ".stnm()")),
    "logical": Shape(
        logical=True, closures=True, untils=True, absences=True, selections=("", ".strict()", ".stnm()")
    ),
}


def events(
    max_size: int = 7, types: tuple[str, ...] = TYPES, gaps: tuple[int, ...] = (0, 1, 1, 2)
) -> st.SearchStrategy[list[Event]]:
    """Events in order, some at one time, with small fields `v` and `k` (`v` may be null) and a label `id`."""

    @st.composite
    def build(draw: Draw) -> list[Event]:
        kinds = draw(st.lists(st.sampled_from(types), min_size=1, max_size=max_size))
        return _events(draw, kinds, gaps)

    return build()


def cases(family: str | Shape, max_size: int = 7) -> st.SearchStrategy[tuple[str, list[Event]]]:
    """A pattern, and an input with a chance to match it: the types of its steps, and others between."""

    @st.composite
    def build(draw: Draw) -> tuple[str, list[Event]]:
        query = draw(queries(family))
        root = parse_query(query, "query").streams[-1].pattern.root
        kinds: list[str] = []
        for step in steps_of(root):
            kinds += [step.type] * draw(st.sampled_from((1, 1, 1, 2, 2, 0)))
        for _ in range(draw(st.integers(0, 4))):
            kinds.insert(draw(st.integers(0, len(kinds))), draw(st.sampled_from(TYPES)))
        return query, _events(draw, (kinds or ["A"])[:max_size], (0, 1, 1, 2))

    return build()


def _events(draw: Draw, kinds: list[str], gaps: tuple[int, ...]) -> list[Event]:
    found: list[Event] = []
    time = 0
    for i, kind in enumerate(kinds):
        time += draw(st.sampled_from(gaps)) * SECOND if i else 0
        fields = {
            "type": kind,
            "time": from_microseconds(time),
            "id": f"{kind}{i + 1}",
            "v": draw(st.sampled_from((1, 2, 0, 3, None))),
            "k": draw(st.sampled_from((1, 1, 2))),
        }
        found.append(Event(kind, time, fields, seq=i))
    return found


def queries(family: str | Shape) -> st.SearchStrategy[str]:
    """Patterns of a family as text; every step has an alias."""
    shape = FAMILIES[family] if isinstance(family, str) else family

    @st.composite
    def build(draw: Draw) -> str:
        return _Writer(draw, shape).query()

    return build()


@dataclass
class _Writer:
    draw: Draw
    shape: Shape
    singles: list[str] = field(default_factory=list)  # aliases of single steps so far
    stnm: bool = False

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(0, one_in - 1)) == 0)

    def pick(self, values: Any) -> Any:
        return self.draw(st.sampled_from(list(values)))

    def query(self) -> str:
        shape = self.shape
        selection, emission = self.pick(shape.selections), self.pick(shape.emissions)
        self.stnm = selection == ".stnm()"
        if selection:
            shape = self.shape = changed(shape, arrows=shape.arrows and selection != ".stnm()")
            if selection == ".strict()":
                self.shape = shape = changed(shape, loops=False)
        count = self.draw(st.integers(*shape.links))
        links: list[str] = []
        trailing = shape.last_absence and self.chance(3)
        if shape.absences and not shape.every and self.chance(6):
            links.append(f"NOT X{self.condition([], 3)} within {self.seconds()}")
        optional = False
        for i in range(count):
            if i and shape.absences and self.chance(3):
                links.append(self.absence())
            last = i == count - 1
            link, optional = self.link(i, last and not trailing, optional, emission)
            links.append(link)
        text = " -> ".join(links)
        whole = f" .within({self.seconds()})" if self.chance(3) else ""
        if trailing:
            text += self.last_absence()
            whole = ""
        if shape.every:
            text = f"every{' first' if self.chance(4) else ''} ({text})"
        text += self.guards() + whole + self.where()
        return " ".join([text, *filter(None, (selection, emission, self.skip(trailing)))])

    # -- links

    def link(self, i: int, last: bool, after_optional: bool, emission: str) -> tuple[str, bool]:
        """Its text, and whether it may be skipped."""
        shape = self.shape
        alias = "abcdef"[i]
        kind = self.pick("AABBC")
        if shape.logical and self.chance(2):
            return self.logical(i), False
        if shape.groups and self.chance(2):
            return self.group(i, last, after_optional)
        closure = shape.closures and self.chance(2)
        if shape.every:
            closure = i == 0 and self.chance(3)
        arrow = ""
        if shape.arrows and i and self.chance(4):
            arrow = self.pick(
                ["any ", "first "] if closure or after_optional else ["any ", "first ", "next "]
            )
        own = self.condition(self.singles, 3)
        if not closure:
            bound = self.bound(i, last)
            self.singles.append(alias)
            return f"{arrow}{kind}{own} as {alias}{bound}", False
        counted = ["+", "+", "*", "?", "{2}", "{1,2}", "{2,3}", "{0,2}", "{2,}"]
        if shape.every:
            counted = ["{2}", "{1,2}", "{2,3}"]
        elif emission == ".longest()" and last and (i == 0 or after_optional or not self.singles):
            counted = [c for c in counted if c[0] not in "*?" and not c.startswith("{0")]
        if i == 0 and shape.links[0] == 1:
            counted = [c for c in counted if c not in ("*", "?", "{0,2}")] if last else counted
        quantifier = self.pick(counted)
        optional = quantifier in ("*", "?", "{0,2}")
        loop = ""
        if shape.loops and emission != ".subsets()" and self.chance(3):
            loop = self.pick(["all next ", "all any ", "all greedy "])
        if shape.self_reference and self.chance(4):
            own = f"[v {self.pick(['>', '<', '>='])} {alias}.v]"
        until = self.until(alias) if shape.untils and self.chance(3) else ""
        bound = self.bound(i, last)
        if loop and quantifier == "+":
            quantifier = ""
        return f"{arrow}{loop}{kind}{own}{quantifier} as {alias}{until}{bound}", optional

    def until(self, alias: str) -> str:
        tests = ["v == 0", "v > 1", f"{alias}.LEN > 1", f"v < {alias}.v", f"sum({alias}.v) > 2"]
        return f" until {self.pick([*tests, *(f'v == {name}.v' for name in self.singles)])}"

    def group(self, i: int, last: bool, after_optional: bool) -> tuple[str, bool]:
        """Rounds of several steps. A step inside may look at the one before it in the round."""
        steps: list[str] = []
        inside: list[str] = []
        for j in range(self.draw(st.integers(2, 3))):
            name = f"{'abcdef'[i]}{j}"
            if j and self.shape.absences and self.chance(4):
                steps.append("NOT X")
            closure = self.pick(["", "", "", "+", "{1,2}"])
            steps.append(
                f"{self.pick('AABBC')}{self.condition(inside or self.singles, 3)}{closure} as {name}"
            )
            inside += [] if closure else [name]
        must = last and (i == 0 or after_optional or not self.singles)
        quantifier = self.pick(["+", "{2}", "{1,2}", *([] if must else ["?", "*"])])
        return f"({' -> '.join(steps)}){quantifier}{self.bound(i, last)}", quantifier in "?*"

    def logical(self, i: int) -> str:
        name = self.pick(["AND", "OR"])
        operands = []
        for j in range(self.draw(st.integers(2, 3 if name == "OR" else 2))):
            steps = [f"{self.pick('AABBC')}{self.condition(self.singles, 3)} as {'abcdef'[i]}{j}"]
            if self.chance(4):
                steps.append(f"{self.pick('AABBC')}{self.condition(self.singles, 3)} as {'abcdef'[i]}{j}b")
            operands.append(" -> ".join(steps))
        bound = self.bound(i, True)
        return f"{name}({', '.join(operands)}){bound}"

    def bound(self, i: int, last: bool) -> str:
        if not (self.shape.step_bounds and i and not last and self.chance(5)):
            return ""
        return f" within {self.seconds()}"

    def seconds(self) -> str:
        return f"{self.draw(st.integers(1, 6))}s"

    def condition(self, names: list[str], one_in: int) -> str:
        if not self.chance(one_in):
            return ""
        if names and self.chance(2):
            f = self.pick("vk")
            return f"[{f} {self.pick(['==', '>', '<=', '!=']) if f == 'v' else '=='} {self.pick(names)}.{f}]"
        return f"[v {self.pick(['>=', '<=', '>', '=='])} {self.draw(st.integers(0, 2))}]"

    # -- absences, guards, the rest

    def absence(self) -> str:
        near = "next " if self.chance(5) else ""
        bound = f" within {self.seconds()}" if self.shape.step_bounds and not near and self.chance(4) else ""
        kind = self.pick("XXB")
        return f"NOT {near}{kind}{self.condition(self.singles, 2)}{bound}"

    def last_absence(self) -> str:
        kind = self.pick("XXB")
        near = "next " if not self.stnm and self.chance(4) else ""
        return f" -> NOT {near}{kind}{self.condition(self.singles, 2)} within {self.seconds()}"

    def guards(self) -> str:
        if not self.shape.guards or not self.singles or not self.chance(2):
            return ""
        guard = f" unless {self.pick('XXB')}"
        first = self.pick(self.singles)
        later = [s for s in self.singles if s > first]
        windows = ["", f" after {first}"] + [f" between {first} and {s}" for s in later]
        window: str = self.pick(windows)
        names = [first] if window else []
        return guard + self.condition(names, 2) + window

    def where(self) -> str:
        if len(self.singles) < 2 or self.shape.every or not self.chance(6):
            return ""
        left, right = self.singles[0], self.singles[-1]
        return f" .where({left}.v {self.pick(['==', '<', '!='])} {right}.v)"

    def skip(self, trailing: bool) -> str:
        if not self.shape.skips or trailing or not self.chance(4):
            return ""
        kinds = ["to_next", "past_last"]
        later = [s for s in self.singles if s != "a"]
        if later:
            kinds += [f"to_first({self.pick(later)})", f"to_last({self.pick(later)})"]
        return f".skip({self.pick(kinds)})"
