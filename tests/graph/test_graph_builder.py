"""Each pattern written twice, as text and in Python: the same model."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cepheid.errors import PatternMistake
from cepheid.lang.graph import parse_graph_patterns
from cepheid.pattern.builder import func
from cepheid.pattern.graph_builder import GraphDraft, edge, graph_pattern, no_edge, stage, value, var
from cepheid.pattern.graph_pattern import Allen

guest, host, limit = var("guest"), var("host"), var("limit")
A = graph_pattern("a").stage("s", kind="a", who=var("x"))
B = graph_pattern("b").stage("s", kind="b", who=var("x"))
PARTS = """
private graph pattern a { stage s { .kind = "a", .who -> ?x } }
private graph pattern b { stage s { .kind = "b", .who -> ?x } }
"""


def p() -> GraphDraft:
    return graph_pattern("p")


def composed(draft: GraphDraft) -> GraphDraft:
    return draft.named("p")


BOTH: list[tuple[str, GraphDraft]] = [
    (
        """graph pattern p {
          stage enter { .kind = "enterTown", .actor -> ?guest }
          stage welcome { .kind = "showHospitality", .actor -> ?host, .target -> ?guest }
          stage harm { .kind = "harm", .actor -> ?host, .target -> ?guest }
          unless between enter and harm { .kind = "leaveTown", .actor -> ?guest }
        }""",
        p()
        .stage("enter", kind="enterTown", actor=guest)
        .stage("welcome", kind="showHospitality", actor=host, target=guest)
        .stage("harm", kind="harm", actor=host, target=guest)
        .unless(between=("enter", "harm"), kind="leaveTown", actor=guest),
    ),
    ("graph pattern p { stage s { .kind } }", p().stage("s", kind=...)),
    ("graph pattern p { stage s { .n = 1, .m = 1.5, .b = true } }", p().stage("s", n=1, m=1.5, b=True)),
    ("graph pattern p { stage s { .n > 5 } }", p().stage("s", n=value > 5)),
    ("graph pattern p { stage s { .n in (1, 2) } }", p().stage("s", n=value.is_in([1, 2]))),
    ('graph pattern p { stage s { .n like "a%" } }', p().stage("s", n=value.like("a%"))),
    ("graph pattern p { stage s { .n between 1 and 5 } }", p().stage("s", n=(value >= 1) & (value <= 5))),
    ("graph pattern p { stage s { .n between 1 and 5 } }", p().stage("s", edge("n", value >= 1, value <= 5))),
    ("graph pattern p { stage s { .n > 100 -> ?a } }", p().stage("s", edge("n", value > 100, var("a")))),
    (
        "graph pattern p { stage s { .n -> ?limit } stage t { .n > ?limit * 2, .m = ?limit + 1 } }",
        p().stage("s", n=limit).stage("t", n=value > limit * 2, m=limit + 1),
    ),
    (
        "graph pattern p { stage s { .n[value % 2 == 0 or value == ?limit] -> ?limit } }",
        p().stage("s", edge("n", ((value % 2) == 0) | (value == limit), limit)),
    ),
    ("graph pattern p { stage s { .who != ?host } }", p().stage("s", who=value != host)),
    (
        'graph pattern p { stage s { .who -> ?x, ?x.mood = "angry", not ?x.mood -> ?host, not .done } }',
        p().stage(
            "s",
            edge("who", var("x")),
            edge("mood", "angry", of=var("x")),
            no_edge("mood", host, of="x"),
            no_edge("done"),
        ),
    ),
    ('graph pattern p { stage paid of ?case { .status = "paid" } }', p().stage("paid", of="?case", status="paid")),
    (
        "graph pattern p { concurrent { stage s { .n } stage t of ?x { .m } } stage u { .k } }",
        p().concurrent(stage("s", n=...), stage("t", of=var("x"), m=...)).stage("u", k=...),
    ),
    (
        "graph pattern p { stage s {.k} unless after s {.n} unless {.n} unless global of ?s {.n = 1} }",
        p().stage("s", k=...).unless(after="s", n=...).unless(n=...).unless(everywhere=True, of="s", n=1),
    ),
    (
        """graph pattern p { stage s {.n -> ?x}
          let ?y = ?x * 2 let ?z = lower(?x) where ?y > 3 where ?z != 'a' or ?x = 1 }""",
        p()
        .stage("s", n=var("x"))
        .let(y=var("x") * 2, z=func.lower(var("x")))
        .where(var("y") > 3, (var("z") != "a") | (var("x") == 1)),
    ),
    (
        """graph pattern p { stage s {.n} stage t {.n}
          s before t by 5m..10m s overlaps t by ..1h s during t by 30s.. s meets t }""",
        p()
        .stage("s", n=...)
        .stage("t", n=...)
        .relate("s", "before", "t", at_least="5m", at_most="10m")
        .relate("s", "overlaps", "t", at_most=timedelta(hours=1))
        .relate("s", "during", "t", at_least="30s")
        .relate("s", "meets", "t"),
    ),
    *(
        (
            f"graph pattern p {{ stage s {{.n}} stage t {{.n}} s {kind.value} t }}",
            p().stage("s", n=...).stage("t", n=...).relate("s", kind.value, "t"),
        )
        for kind in Allen
    ),
    (
        'graph pattern p { stage s {.n} deadline 5 ticks within 30m meta severity: "high", level: 3, on: true }',
        p().stage("s", n=...).deadline(5).within("30m").meta(severity="high", level=3, on=True),
    ),
    ("private graph pattern p { stage s {.n} }", p().stage("s", n=...).private()),
    ("graph pattern p = a then b sharing ?x", composed(A.then(B, sharing=["x"]))),
    ("graph pattern p = a then b then a", composed(A.then(B, A))),
    ("graph pattern p = {stage s {.n}} as l then {stage t {.n}} as m sharing all within 5m",
     composed(p().stage("s", n=...).then(p().stage("t", n=...), sharing=...)).within("5m")),
    ("graph pattern p = a | b | a", composed(A | B | A)),
    ("graph pattern p = (a | b) | a", composed((A | B).named("c") | A)),
    ("graph pattern p = a xor b sharing ?x deadline 2 ticks", composed(A.xor(B, sharing=var("x"))).deadline(2)),
    ("graph pattern p = a * 3", composed(A.times(3))),
    ("graph pattern p = a * 2..4 sharing ?x", composed(A.times(2, 4, sharing=["?x"]))),
    ("graph pattern p = a * 2..", composed(A.times(2, None))),
    ("graph pattern p = (a * 2..4 sharing ?x) then b", composed(A.times(2, 4, sharing=["x"]).then(B))),
    ("graph pattern p = a then b * 2 sharing ?x", composed(A.then(B.times(2, sharing=["x"]), sharing=["x"]))),
    ("graph pattern p = (a | b) then b as last sharing ?x", composed((A | B).then(B.as_("last"), sharing=["x"]))),
    ("graph pattern p = (a then b sharing ?x) * 2 ", composed(A.then(B, sharing=["x"]).times(2))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "built"), BOTH, ids=[" ".join(text.split())[:90] for text, _ in BOTH])
def test_the_same_model(text: str, built: GraphDraft) -> None:
    read = {pattern.name: pattern for pattern in parse_graph_patterns(PARTS + text)}
    assert built.build() == read["p"]
    assert str(built) == str(read["p"])


def test_patterns_are_immutable() -> None:
    base = p().stage("s", n=1)
    assert base.stage("t", n=2).build() != base.build() == p().stage("s", n=1).build()


def test_names_refer_to_patterns_in_any_order() -> None:
    text = """
    graph pattern p = q then q sharing ?x
    graph pattern q = r | r
    private graph pattern r { stage s { .who -> ?x } }"""
    by_name = {pattern.name: pattern for pattern in parse_graph_patterns(text)}
    r = graph_pattern("r").stage("s", who=var("x"))
    q = (r | r).named("q")
    assert by_name["p"] == q.then(q, sharing=["x"]).named("p").build()
    assert by_name["r"].private
    assert not by_name["q"].private


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("missing_name", lambda: A.then(B).build()),
        ("bound_of_part", lambda: A.deadline(1).then(B)),
        ("bound_of_part", lambda: A | B.within("5m")),
        ("composed", lambda: (A | B).stage("s", n=1)),
        ("bad_argument", lambda: p().stage("s", edge("n", var("x"), var("y")))),
        ("bad_argument", lambda: p().stage("s", "n")),
        ("bad_argument", lambda: p().stage("s", edge("n", of=value + 1))),
        ("bad_argument", lambda: p().unless(after="a", between=("a", "b"), n=1)),
        ("bad_argument", lambda: p().meta(x=var("y"))),
        ("bad_argument", lambda: A.then("b")),
        ("unknown_relation", lambda: p().relate("a", "befor", "b")),
        ("bad_name", lambda: p().stage("", n=1)),
        ("not_a_value", lambda: p().stage("s", n={1, 2})),
        ("truth_value", lambda: p().where(1 < var("x") < 3)),
    ],
)
def test_mistakes(code: str, wrong: Any) -> None:
    with pytest.raises(PatternMistake) as caught:
        wrong()
    assert caught.value.code == code
    assert caught.value.hint
