"""What is wrong with a graph pattern: the code, the very words that are marked, and a hint that says what to write."""

from __future__ import annotations

import pytest

from cepheid.errors import CepheidError
from cepheid.graph.threads import ReadyPattern
from cepheid.lang.graph import parse_graph_patterns

# A code, a text in which «» stands around what is marked, and words of the hint.
MISTAKES = [
    ("empty_query", "", "graph pattern late"),
    ("empty_query", "# nothing\n", "graph pattern late"),
    ("not_a_declaration", "«pattern» x {}", "graph pattern name"),
    ("not_a_declaration", "graph «x»", "graph pattern name"),
    ("not_a_declaration", "«stage» x {}", "graph pattern name"),
    ("not_a_declaration", "«x»", "graph pattern name"),
    ("missing_name", "graph «pattern» {}", "graph pattern name"),
    ("missing_name", "graph pattern x { «stage» {} }", "stage name"),
    ("missing_name", "graph pattern x { stage a {.k} unless between «{».k} }", "between enter and harm"),
    ("missing_name", "graph pattern x { stage a {.k} unless after «{».k} }", "after enter"),
    ("missing_name", "graph pattern x { stage a { . «=» 3} }", ".kind"),
    ("missing_name", "graph pattern x { stage a {.k} stage b {.k} a before «}»", "a before b"),
    ("missing_braces", "graph pattern x { stage a «.»k }", "{ .kind"),
    ("missing_dot", "graph pattern x { stage a { «kind» = 3 } }", "write .kind"),
    ("missing_dot", "graph pattern x { stage a { .k, not «kind» } }", "write .kind"),
    ("missing_comma", "graph pattern x { stage a { .kind = 3 «.»b } }", "commas"),
    ("missing_comma", "graph pattern x { stage a { .kind = 3 «?»b.c } }", "commas"),
    ("missing_comma", "graph pattern x { stage a { .kind = 1 «and» .b = 2 } }", "write ,"),
    ("wrong_separator", "graph pattern x { stage a { .kind = 3«;» .b } }", "write ,"),
    ("or_of_clauses", "graph pattern x { stage a { .kind = 1 «or» .b = 2 } }", ".kind in (1, 2)"),
    ("wrong_equals", "graph pattern x { stage a { .kind«:» 3 } }", ".kind ="),
    ("wrong_is", "graph pattern x { stage a { .k «is» null } }", "not .k"),
    ("missing_mark", "graph pattern x { stage a { .kind -> «guest» } }", "?guest"),
    ("missing_mark", "graph pattern x { stage a {.k} let «y» = 3 }", "?y"),
    ("missing_mark", "graph pattern x = a then b sharing «guest»", "?guest"),
    ("missing_variable", "graph pattern x { stage a { .k -> «\"d\"» } }", '= "d"'),
    ("missing_value", "graph pattern x { stage a { .k = «}» }", "?x"),
    ("unclosed_string", "graph pattern x { stage a { .k = «\"»d } }", 'close it with "'),
    ("unclosed_bracket", "graph pattern x «{» stage a { .k = 3 }", "`}`"),
    ("unknown_character", "graph pattern x { stage a { .k = «$»b } }", "?x"),
    ("in_without_list", "graph pattern x { stage a { .k in «3» } }", "in (3)"),
    ("chained_comparison", "graph pattern x { stage a { .k > 1 «<» 2 } }", "between 1 and 5"),
    ("unknown_keyword", "graph pattern x { «stag» a { .kind } }", "`stage`"),
    ("unknown_keyword", "graph pattern x { stage a {.k} «unles» after a {.k} }", "`unless`"),
    ("unknown_relation", "graph pattern x { stage a {.k} stage b {.k} a «befor» b }", "`before`"),
    ("property_in_expression", "graph pattern x { stage a {.k} where ?a«.»mood = 3 }", "?a.mood -> ?mood"),
    ("bad_deadline", "graph pattern x { stage a {.k} deadline «5m» }", "deadline 5 ticks"),
    ("bad_deadline", "graph pattern x { stage a {.k} deadline 5 «}»", "deadline 5 ticks"),
    ("missing_duration", "graph pattern x { stage a {.k} within «}»", "within 30m"),
    ("bad_duration", "graph pattern x { stage a {.k} within «5» }", "5s"),
    ("bad_duration", "graph pattern x { stage a {.k} stage b {.k} a before b by 1m..«5» }", "5s"),
    ("bad_duration", "graph pattern x { stage a {.k} within «5y» }", "units"),
    ("bad_meta", "graph pattern x { stage a {.k} meta a: «?b» }", "severity"),
    ("said_twice", "graph pattern x { stage a {.k} within 5m «within 6m» }", "keep one"),
    ("wrong_arrow", "graph pattern x = a «->» b", "then"),
    ("missing_then", "graph pattern x = a «b»", "then"),
    ("missing_part", "graph pattern x = a then«»", "{ stage"),
    ("bad_count", "graph pattern x = a *«»", "* 2..4"),
    ("mixed_choice", "graph pattern x = a | b «xor» c", "parentheses"),
    ("unknown_pattern", "graph pattern x = «y»", "same text"),
    ("unknown_pattern", "graph pattern order {stage a {.k}} graph pattern x = «ordr» * 2", "`order`"),
    ("pattern_cycle", "graph pattern x = y graph pattern y = «x»", "* 2.."),
    ("pattern_cycle", "graph pattern x = «x» * 2", "* 2.."),
    ("duplicate_name", "graph pattern x {stage a {.k}} graph pattern «x» {stage a {.k}}", "rename"),
    ("nothing_to_share", "graph pattern x = {stage a {.k}} | {stage b {.k}} «sharing ?y»", "`then`"),
    ("shares_all", "graph pattern x = {stage a {.k}} * 2 «sharing all»", "?x, ?y"),
    ("name_without_use", "graph pattern x = {stage a {.k}} as «y» | {stage b {.k}}", "leave `as` out"),
    ("bound_of_part", "graph pattern x = «{stage a {.k} within 5m}» * 2", "after the composition"),
    ("bound_of_part", "graph pattern y {stage a {.k} deadline 5 ticks} graph pattern x = «y» * 2", "private"),
    # What can be read, but means nothing.
    ("no_stage", "graph pattern x «{ }»", "stage enter"),
    ("no_stage", "graph pattern x «{ concurrent { } stage a {.k} }»", "stage enter"),
    ("duplicate_name", "graph pattern x { stage a {.k} stage «a» {.k} }", "rename"),
    ("reserved_name", "graph pattern x { stage «a» {.k -> ?unless} }", "another name"),
    ("empty_stage", "graph pattern x { stage «a» { not .k } }", ".kind"),
    ("empty_stage", "graph pattern x { stage «a» { } }", ".kind"),
    ("empty_unless", "graph pattern x { stage a {.k} «unless» { not .k } }", ".kind"),
    ("unknown_name", "graph pattern x { stage a { .kind = «enter» } }", '"enter" or ?enter'),
    ("unknown_name", "graph pattern x { stage a { .kind[«valu» > 3] } }", "?valu"),
    ("unknown_name", "graph pattern x { stage a { .kind } where «value» > 3 }", "-> ?x"),
    ("no_events", "graph pattern x { stage a { .kind = «count(b)» } }", "?x"),
    ("no_events", "graph pattern x { stage a { .kind -> ?b } where «match_id()» = ?b }", "?x"),
    ("unknown_function", "graph pattern x { stage a { .kind = «lowr(\"a\")» } }", "`lower`"),
    ("unbound_variable", "graph pattern x { stage a { «.kind = ?gust» , .who -> ?guest } }", "`guest`"),
    ("unbound_variable", "graph pattern x { stage a { «?b.kind» , .k } }", "?a"),
    ("unbound_variable", "graph pattern x { stage a {.k} let «?y» = ?z }", "?a"),
    ("unbound_variable", "graph pattern x { stage a {.k} where «?z = 1» }", "?a"),
    ("unbound_variable", "graph pattern x = «{stage a {.k -> ?guest}} * 2» sharing ?gust", "`guest`"),
    ("unknown_stage", "graph pattern x { stage enter {.k} «unless» after entr {.k} }", "`enter`"),
    ("unknown_stage", "graph pattern x { stage a {.k} «a before b» }", "there are a"),
    ("window_backwards", "graph pattern x { stage a {.k} stage b {.k} «unless» between b and a {.k} }", "a and b"),
    ("no_gap", "graph pattern x { stage a {.k} stage b {.k} «a meets b by 5m..» }", "leave the bounds out"),
    ("bad_repeat", "graph pattern x = «{stage a {.k}} * 0..»", "the least is 1"),
    ("bad_repeat", "graph pattern x = «{stage a {.k}} * 3..2»", "the least is 1"),
    ("inner_exclusive", "graph pattern x = («{stage a {.k}} xor {stage b {.k}}») * 2", "|"),
]  # fmt: skip


def read(text: str) -> None:
    for pattern in parse_graph_patterns(text, "late.graph"):
        ReadyPattern(pattern)


@pytest.mark.parametrize(("code", "marked", "hint"), MISTAKES, ids=[m[1][:70] or "empty" for m in MISTAKES])
def test_mistake(code: str, marked: str, hint: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(CepheidError) as caught:
        read(text)
    mistake = caught.value
    assert mistake.code == code, str(mistake)
    assert hint in (mistake.hint or ""), str(mistake)
    if "«" in marked:
        assert mistake.place is not None, str(mistake)
        assert mistake.place.source == "late.graph"
        start = mistake.place.column - 1
        wanted = marked.index("«")
        assert (start, text[start : mistake.place.end_column - 1].strip()) == (
            wanted,
            marked[wanted + 1 : marked.index("»")].strip(),
        ), str(mistake)
