"""What a graph pattern may not say, with its place."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.graph.intervals import NO_GAP
from cepheid.graph.program import GraphProgram, Piece, computed
from cepheid.graph.renaming import bound_by
from cepheid.pattern.expr import MATCH_FUNCTIONS, Aggregate, Call, Element, Expr, Field, Length, Opaque, walk
from cepheid.pattern.graph_pattern import (
    UNLESS_NODE,
    VALUE,
    Block,
    Body,
    Choice,
    Clause,
    Concurrent,
    GraphPattern,
    Relation,
    Repeat,
    Stage,
    Then,
    Unless,
    variables_in,
)


def check_body(body: Body) -> None:
    """What can be said before the pattern is made flat."""
    if isinstance(body, Block):
        _check_names(body)
    elif isinstance(body, Repeat):
        _check_bounds(body)
        check_body(body.part)
    elif isinstance(body, (Then, Choice)):
        for part in body.parts:
            check_body(part)


def _check_names(block: Block) -> None:
    stages = list(block.stages())
    if not stages or any(isinstance(part, Concurrent) and not part.stages for part in block.parts):
        raise PatternMistake(
            "there is no stage here",
            code="no_stage",
            place=block.place,
            hint='a graph pattern has stages: stage enter { .kind = "enter" }',
        )
    seen: set[str] = set()
    for stage in stages:
        if stage.name in seen:
            raise PatternMistake(
                f"there are two stages called `{stage.name}`",
                code="duplicate_name",
                place=stage.place,
                hint="rename one of them; the same node again is `stage other of ?x`",
            )
        seen.add(stage.name)
        if UNLESS_NODE in bound_by(stage):
            raise PatternMistake(
                f"in `{stage.name}`, the variable ?{UNLESS_NODE} is the node of each `unless`",
                code="reserved_name",
                place=stage.place,
                hint="give it another name",
            )


def _check_bounds(body: Repeat) -> None:
    if body.least < 1 or (body.most is not None and body.most < body.least):
        raise PatternMistake(
            f"a pattern cannot be repeated {body.least}..{'' if body.most is None else body.most} times",
            code="bad_repeat",
            place=body.place,
            hint="the least is 1, and the most is not below the least; for none at all, choose between two patterns",
        )


def check_program(program: GraphProgram) -> None:
    _check_pattern(program.pattern)
    for slot, bound in zip(program.slots, program.bound, strict=True):
        for number in slot.stages:
            _check_stage(program.stages[number], bound)
    for piece in program.pieces:
        _check_piece(program, piece)
    everything = frozenset[str]().union(*(bound_by(s) for s in program.stages), *map(_lets, program.pieces))
    for loop_or_choice, shared in _sharing(program.body):
        for name in sorted(shared - everything):
            raise _unbound(name, everything, loop_or_choice.place, "shared")


def _lets(piece: Piece) -> frozenset[str]:
    return frozenset(let.variable for let in piece.block.lets)


def _sharing(body: Body) -> Iterable[tuple[Body, frozenset[str]]]:
    if isinstance(body, Repeat):
        yield body, body.shared
        yield from _sharing(body.part)
    elif isinstance(body, (Then, Choice)):
        yield body, body.shared
        for part in body.parts:
            yield from _sharing(part)


def _check_pattern(pattern: GraphPattern) -> None:
    for name, value in (("deadline", pattern.deadline), ("within", pattern.within)):
        if value is not None and value < 0:
            raise PatternMistake(f"{name} cannot be below 0", code=f"bad_{name}", place=pattern.place)


def _check_stage(stage: Stage, before: frozenset[str]) -> None:
    if not any(c.source == stage.anchor and not c.negated for c in stage.clauses):
        raise PatternMistake(
            f"the stage `{stage.name}` says nothing of its own node that must be there",
            code="empty_stage",
            place=stage.place,
            hint='it needs a clause such as `.kind = "login"`: the time of a stage is that of its own edges',
        )
    known = before | bound_by(stage)
    for clause in stage.clauses:
        _check_clause(clause, known, stage.name)


def _check_expr(expr: Expr, with_value: bool = False) -> None:
    """It may speak of variables, and of the target where there is one."""
    for node in walk(expr):
        if isinstance(node, Field):
            if variables_in(node) or (with_value and node == VALUE):
                continue
            raise _no_variable(node)
        if isinstance(node, Opaque):
            raise PatternMistake(
                "a Python function cannot be a part of a graph pattern",
                code="python_function",
                place=node.place,
                hint='write the condition with variables: var("x") > 3',
            )
        if isinstance(node, (Element, Length, Aggregate)) or (
            isinstance(node, Call) and node.name in MATCH_FUNCTIONS
        ):
            raise PatternMistake(
                "this speaks of the events of a match, and there are none in a graph pattern",
                code="no_events",
                place=node.place,
                hint="an expression knows variables such as ?x, and functions of them",
            )


def _no_variable(node: Field) -> PatternMistake:
    name = ".".join(node.path)
    if node == VALUE:
        message, hint = "`value` is the target of an edge, and here is none", "bind it: `.label -> ?x`"
    else:
        message, hint = f"`{name}` is neither a text nor a variable", f'write "{name}" or ?{node.path[-1]}'
    return PatternMistake(message, code="unknown_name", place=node.place, hint=hint)


def _check_clause(clause: Clause, known: frozenset[str], where: str) -> None:
    if clause.source not in known:
        raise _unbound(clause.source, known, clause.place, where)
    if clause.test is not None:
        _check_expr(clause.test, with_value=True)
    for name in sorted(frozenset() if clause.test is None else variables_in(clause.test)):
        if name not in known and not (clause.negated and name == clause.bind):
            raise _unbound(name, known, clause.place, where)


def _check_piece(program: GraphProgram, piece: Piece) -> None:
    slots = program.slots[piece.first : piece.last + 1]
    names = {program.stages[s].name: at for at, slot in enumerate(slots) for s in slot.stages}
    bound = program.bound[piece.first].union(
        *(bound_by(program.stages[s]) for slot in slots for s in slot.stages)
    )
    bound |= computed(piece.block, bound)
    for let in piece.block.lets:
        _check_expr(let.value)
        for name in sorted(variables_in(let.value) - bound):
            raise _unbound(name, bound, let.place, "let")
    for test in piece.block.where:
        _check_expr(test)
        for name in sorted(variables_in(test) - bound):
            raise _unbound(name, bound, test.place, "where")
    for unless in piece.block.unless:
        _check_unless(unless, names, bound)
    for relation in piece.block.relations:
        _check_relation(relation, names)


def _check_unless(unless: Unless, names: dict[str, int], bound: frozenset[str]) -> None:
    for name in (unless.start, unless.end):
        if name is not None and name not in names:
            raise _no_stage(name, names, unless.place)
    if unless.start is not None and unless.end is not None and names[unless.start] > names[unless.end]:
        raise PatternMistake(
            f"the window between `{unless.start}` and `{unless.end}` ends before it begins",
            code="window_backwards",
            place=unless.place,
            hint=f"say `between {unless.end} and {unless.start}`",
        )
    if not any(c.source == unless.anchor and not c.negated for c in unless.clauses):
        raise PatternMistake(
            "an `unless` needs a clause about its own node that must be there",
            code="empty_unless",
            place=unless.place,
            hint='write for example unless { .kind = "logout" }',
        )
    own = bound | {unless.anchor} | {c.bind for c in unless.clauses if c.bind is not None and not c.negated}
    for clause in unless.clauses:
        _check_clause(clause, own, "unless")


def _check_relation(relation: Relation, names: dict[str, int]) -> None:
    for name in (relation.left, relation.right):
        if name not in names:
            raise _no_stage(name, names, relation.place)
    if relation.kind in NO_GAP and (relation.low is not None or relation.high is not None):
        raise PatternMistake(
            f"`{relation.kind.value}` leaves no distance free that could be bounded",
            code="no_gap",
            place=relation.place,
            hint="leave the bounds out",
        )


def _no_stage(name: str, names: Iterable[str], place: Place | None) -> PatternMistake:
    known = list(names)
    return PatternMistake(
        f"there is no stage `{name}` here",
        code="unknown_stage",
        place=place,
        hint=nearest(name, known) or f"there are {', '.join(known)}",
    )


def _unbound(name: str, known: Iterable[str], place: Place | None, where: str) -> PatternMistake:
    names = sorted(known)
    return PatternMistake(
        f"in `{where}`, the variable ?{name} has no value yet",
        code="unbound_variable",
        place=place,
        hint=nearest(name, names)
        or ("bound are " + ", ".join(f"?{n}" for n in names) if names else "bind it first: `.label -> ?x`"),
    )
