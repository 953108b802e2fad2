"""Where the states of an automaton stand on paper: layers from left to right, by the steps that lead there."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.explain.words import Names
from cepheid.plan.automaton import START
from cepheid.plan.plan import Plan

WIDE, HIGH = 130, 84  # of a cell
MARGIN_X, MARGIN_Y = 52, 54
_MOST_STATES = 80


@dataclass(frozen=True)
class DrawnState:
    number: int
    name: str
    x: int
    y: int
    final: bool


@dataclass(frozen=True)
class DrawnEdge:
    source: int
    target: int
    path: str  # of an SVG


@dataclass(frozen=True)
class Drawing:
    width: int
    height: int
    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]


def draw(plan: Plan) -> Drawing:
    """The states a run can be in and the ways between them; of very large automata only the first states."""
    names = Names(plan)
    reached = names.reached()[:_MOST_STATES]
    layers = _layers(names, set(reached))
    places: dict[int, tuple[int, int]] = {}
    for column, layer in enumerate(layers):
        for row, state in enumerate(layer):
            places[state] = (MARGIN_X + column * WIDE, MARGIN_Y + row * HIGH)
    final = {a.state for a in plan.automaton.accepts}
    states = tuple(
        DrawnState(s, "start" if s == START else names.states[s], *places[s], s in final) for s in places
    )
    pairs = dict.fromkeys(
        (e.source, e.target) for e in names.edges() if e.source in places and e.target in places
    )
    edges = tuple(DrawnEdge(a, b, _path(places[a], places[b])) for a, b in pairs)
    rows = max((len(layer) for layer in layers), default=1)
    return Drawing(2 * MARGIN_X + (len(layers) - 1) * WIDE, MARGIN_Y + rows * HIGH, states, edges)


def _layers(names: Names, wanted: set[int]) -> list[list[int]]:
    """By the most steps it takes to get there without going round."""
    depth = {START: 0}
    for _ in range(len(wanted)):
        changed = False
        for edge in names.edges():
            onward = edge.source in depth and edge.target in wanted and edge.target > edge.source
            if onward and depth.get(edge.target, -1) < depth[edge.source] + 1:
                depth[edge.target], changed = depth[edge.source] + 1, True
        if not changed:
            break
    layers: dict[int, list[int]] = {}
    for state in sorted(wanted):
        layers.setdefault(depth.get(state, 0), []).append(state)
    return [layers[d] for d in sorted(layers)]


def _path(source: tuple[int, int], target: tuple[int, int]) -> str:
    (x, y), (u, v) = source, target
    if source == target:
        return f"M{x - 12},{y - 20} C{x - 34},{y - 56} {x + 34},{y - 56} {x + 12},{y - 20}"
    if u <= x or u - x > WIDE:  # back, or over other states: in a bow
        lift = 46 if u > x else 60
        return f"M{x},{y - 22} C{x},{y - 22 - lift} {u},{v - 22 - lift} {u},{v - 24}"
    return f"M{x + 22},{y} C{x + 60},{y} {u - 60},{v} {u - 25},{v}"
