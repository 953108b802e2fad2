"""What is wrong with a rule: the code, the very words that are marked, and a hint that says what to write."""

from __future__ import annotations

import pytest

from cepheid.errors import CepheidError
from cepheid.lang.rules import parse_rules
from cepheid.rules.checking import check_rules

WHEN = "rule R { when { %s } then { } }"
TWO = "rule R { when { ?a: event A(); %s } then { } }"
THEN = "rule R { when { ?f: F(); ?a: event A(?v: level) } then { %s } }"
TYPED = "fact F(id string key, n int, state string) event A(eqpt string, level float) "

# A code, a text in which «» stands around what is marked, and words of the hint.
MISTAKES = [
    ("no_rules", "", "rule Late"),
    ("no_rules", "# nothing\n", "rule Late"),
    ("no_rules", "fact F(id int)", "rule Late"),
    ("not_a_rule", "«pattern» x = A", "beside the rules"),
    ("not_a_rule", "«when» { }", "rule Name"),
    ("unknown_keyword", "«rul» R { }", "`rule`"),
    ("unknown_keyword", "«fakt» F(id int)", "`fact`"),
    ("missing_name", "«rule» { when { } then { } }", "rule Name"),
    ("missing_name", "«fact» (id int)", "fact Name"),
    ("missing_braces", "rule R «when» { } then { }", "{ when"),
    ("unknown_keyword", "rule R «salience» 10 { when { } then { } }", "priority 10"),
    ("bad_priority", "rule R priority «high» { when { } then { } }", "priority -1"),
    ("bad_priority", "rule R priority «1.5» { when { } then { } }", "priority -1"),
    ("missing_when", "rule R { «if» { } then { } }", "when { ... }"),
    ("missing_when", "rule R { «?»e: F(); }", "when { ... }"),
    ("missing_then", "rule R { when { F() } «do» { } }", "then {"),
    ("missing_then", "rule R { when { F() } «=>» { } }", "then {"),
    ("missing_braces", "rule R { when «F»() then { } }", "when { ... }"),
    ("after_then", "rule R { when { F() } then { } «else» { } }", "new rule"),
    ("unclosed_bracket", "rule R «{» when { F() } then { }", "`}`"),
    ("unclosed_bracket", "rule R { when { F() } then «{» retract ?f;", "`}`"),
    ("unclosed_bracket", WHEN % "?f: F«(»state == ON; ?a: event A()", "`)`"),
    ("unclosed_bracket", WHEN % "?f: F«(»state == ON", "`)`"),
    ("unclosed_string", WHEN % "F(state == «\"»on)", 'close it with "'),
    ("extra_bracket", "rule R { when { F() } then { } } «}»", "leave it out"),
    # Declarations.
    ("missing_parentheses", "fact F «id» int", "fact F(id string key"),
    ("missing_comma", "fact F(id int «state» string)", "commas"),
    ("wrong_separator", "fact F(id int«;» state string)", "write ,"),
    ("missing_type", "fact F(id«,» state string)", "id string"),
    ("unknown_type", "fact F(id «strin») rule R { when { F() } then { } }", "`string`"),
    ("duplicate_field", "fact F(id int, «id» int) rule R { when { F() } then { } }", "leave one"),
    ("two_keys", "fact F(id int key, n int «key») rule R { when { F() } then { } }", "`id`"),
    ("duplicate_name", "fact F(id int) fact «F»(id int) rule R { when { F() } then { } }", "rename"),
    ("duplicate_name", "rule R { when { F() } then { } } rule «R» { when { F() } then { } }", "rename"),
    # Conditions.
    ("missing_semicolon", WHEN % "?f: F() «?»a: event A()", "ends with ;"),
    ("missing_semicolon", WHEN % "?f: F() «event» A()", "ends with ;"),
    ("wrong_separator", WHEN % "F()«,» event A()", "write ;"),
    ("wrong_separator", WHEN % "F() «and» event A()", "write ;"),
    ("or_of_conditions", WHEN % "F() «or» event A()", "two rules"),
    ("not_a_condition", WHEN % "«(»F())", "?x: Type"),
    ("not_a_condition", WHEN % "F(); «3» == 4", "inside the parentheses"),
    ("missing_colon", WHEN % "?f «F»()", "?f: F(...)"),
    ("missing_colon", WHEN % "?f «=» F()", "?f:"),
    ("test_alone", WHEN % "?f: F(); ?f«.»n == 3", "comes last"),
    ("test_alone", TWO % "?b: event B(); ?b «after»[1,5] ?a", "comes last"),
    ("unknown_character", WHEN % "«$»f: F()", "?f"),
    ("unknown_keyword", WHEN % "?a: «evnt» A()", "`event`"),
    ("unknown_keyword", WHEN % "«exists» F()", "not Type"),
    ("missing_parentheses", WHEN % "?f: F«;» A()", "F(), or"),
    ("missing_parentheses", WHEN % "?f: event A «}»", "A(), or"),
    ("missing_to", WHEN % "event change ?f: F(state == ON) «(»state == OFF)", "to (state == OFF)"),
    ("name_of_nothing", WHEN % "F(); not «?x:» G()", "?this"),
    ("missing_semicolon", WHEN % "F(state == ON «level» > 3)", "; or ,"),
    ("missing_semicolon", TWO % "event B(x == 1 «?»this after[1,5] ?a)", "; or ,"),
    ("missing_operator", WHEN % "F(state «ON»)", "comparison"),
    ("missing_value", WHEN % "F(state == «)»", "a number or a text"),
    ("chained_comparison", WHEN % "F(1 < n «<» 5)", "1 < n and n < 5"),
    ("wrong_comparison", WHEN % "F(n «===» 5)", "=="),
    ("in_without_list", WHEN % "F(n in «5»)", "in (5)"),
    ("bound_and_tested", WHEN % "F(?s: state «==» ON)", "?name: state; state == ON"),
    ("missing_mark", WHEN % "F(s«:» state)", "?s:"),
    ("missing_mark", TWO % "?b: event B(«b» after[1,5] ?a)", "?b after"),
    ("missing_mark", TWO % "event B(?this after[1,5] «a»)", "?a"),
    ("missing_variable", TWO % "event B(«after»[1,5] ?a)", "?this after"),
    ("missing_variable", TWO % "event B(?this after[1,5]«)»", "?a"),
    ("missing_bounds", TWO % "event B(?this after «?»a)", "after[0, inf]"),
    ("bad_bound", TWO % "event B(?this after[5«]» ?a)", "after[1, 5]"),
    ("bad_bound", TWO % "event B(?this after[«,»5] ?a)", "after[1, 5]"),
    ("bad_bound", TWO % "event B(?this after[«inf»,5] ?a)", "-inf"),
    ("bad_bound", TWO % "event B(?this after[1,«-inf»] ?a)", "inf"),
    ("bad_bound", TWO % "event B(?this after[«0.5»,1] ?a)", "0.5s"),
    ("bad_duration", TWO % "event B(?this after[0,«5y»] ?a)", "units"),
    ("window_backwards", TWO % "event B(?this after[«5»,1] ?a)", "first"),
    ("unknown_relation", TWO % "event B(?this «aftr»[1,5] ?a)", "`after`"),
    ("unknown_relation", TWO % "event B(?this «during» ?a)", "after[m, M]"),
    # Actions.
    ("unknown_action", THEN % "«insert» X()", "assert new"),
    ("unknown_action", THEN % "«assrt» X()", "`assert`"),
    ("unknown_action", THEN % "«3»", "assert, modify"),
    ("missing_name", THEN % "«emit» (?a)", "emit Name"),
    ("missing_parentheses", THEN % "assert new X«;»", "X(?x)"),
    ("missing_semicolon", THEN % "retract ?a «emit» X(?a)", "ends with ;"),
    ("wrong_separator", THEN % "retract ?a«,» emit X(?a)", "write ;"),
    ("missing_mark", THEN % "retract «a»", "?a"),
    ("missing_mark", THEN % "modify «f» { n = 1 }", "?f"),
    ("missing_variable", THEN % "retract«;»", "retract ?x"),
    ("missing_braces", THEN % "modify ?f «(»n = 1)", "modify ?f {"),
    ("wrong_equals", THEN % "modify ?f { n «==» 1 }", "n = ..."),
    ("field_of_object", THEN % "modify ?f { f«.»n = 1 }", "n = ..."),
    ("missing_semicolon", THEN % "modify ?f { n = 1 «state» = ON }", "separated by ;"),
    ("wrong_separator", THEN % "emit X(a = 1«;» b = 2)", "write ,"),
    ("unnamed_argument", THEN % "emit X(«?a.level»)", "field = ..."),
    ("unnamed_argument", THEN % "emit X(n = 1, «?a»)", "field = ..."),
    ("duplicate_field", THEN % "emit X(n = 1, «n = 2»)", "keep one"),
    ("duplicate_field", THEN % "modify ?f { n = 1; «n = 2» }", "keep one"),
    ("too_many_arguments", TYPED + THEN % "assert event A(?f, 1, «2»)", "eqpt, level"),
    # What can be read, but means nothing.
    ("no_condition", "rule «R» { when { } then { } }", "not negated"),
    ("no_condition", "rule «R» { when { not F() } then { } }", "not negated"),
    ("unbound_variable", WHEN % "?e: F(); event A(eqpt == «?f»)", "?e"),
    ("unbound_variable", WHEN % "?equipment: F(); event A(eqpt == «?equipmnt»)", "`equipment`"),
    ("unbound_variable", WHEN % "event A(eqpt == «?f»); ?f: F()", "before it"),
    ("unbound_variable", WHEN % "?f: F(«?f».n == 1)".replace("«?f».n", "«?f.n»"), "?this"),
    ("unbound_variable", THEN % "«retract ?g»", "?f"),
    ("unbound_variable", THEN % "emit X(x = «?this.n»)", "by its variable"),
    ("unbound_variable", WHEN % "F(); not G(?s: n); event A(x == «?s»)", "before it"),
    ("reserved_name", WHEN % "«?this: F()»", "another name"),
    ("duplicate_variable", WHEN % "?f: F(); «?f: event A()»", "rename"),
    ("duplicate_variable", WHEN % "?f: F(«?s: n», ?s: m)".replace("«?s: n», ?s: m", "?s: n, «?s: m»"), "rename"),
    ("not_an_event", WHEN % "?f: F(); event A(«?this after[1,5] ?f»)", "change"),
    ("not_an_event", TWO % "F(«?this after[1,5] ?a»)", "change"),
    ("not_an_event", "rule R { when { ?a: event A(?v: n); event B(«?this after[1,5] ?v») } then { } }", "two events"),
    ("not_an_event", WHEN % "?f: F(); event A(«timeof(?f)» > 3)", "event change"),
    ("not_an_event", TWO % "F(at < «timeof(?this)»)", "event change"),
    ("not_an_event", TWO % "not F(at < «timeof(?this)»)", "event change"),
    ("not_an_event", WHEN % "F(?t: «timeof(?this)»)", "event change"),
    ("not_an_event", WHEN % "event change F(«timeof(?this)» > 3) to ()", "event change"),
    ("not_an_event", THEN % "emit X(t = «timeof(?f)»)", "name an event"),
    ("not_an_event", THEN % "emit X(t = «timeof(?v)»)", "name an event"),
    ("not_an_event", THEN % "modify ?f { t = 1 + «timeof(?f)» }", "name an event"),
    ("not_an_event",
     "rule R { when { event change ?f: F() to () } then { emit X(t = «timeof(?f)»); } }", "name an event"),
    ("unbound_variable", TWO % "?b: event B(«timeof(?b)» > 3)", "?this"),
    ("unbound_variable", TWO % "event B(«timeof(?c)» > 3)", "?a"),
    ("unbound_variable", THEN % "emit X(t = «timeof(?this)»)", "by its variable"),
    ("wrong_arguments", TWO % "event B(«timeof(a)» > 3)", "timeof(?a)"),
    ("wrong_arguments", TWO % "event B(«timeof(?a.level)» > 3)", "timeof(?a)"),
    ("wrong_arguments", TWO % "event B(«timeof()» > 3)", "timeof(?a)"),
    ("wrong_arguments", TWO % "event B(«timeof(?this, ?a)» > 3)", "timeof(?a)"),
    ("no_fields", TWO % "event B(«timeof(?a).hour» > 3)", "first(b).f"),
    ("unknown_function", TWO % "event B(«timof(?a)» > 3)", "`timeof`"),
    ("no_window", TWO % "«not event B(timeof(?this) > timeof(?a))»", "?this after"),
    ("same_event", WHEN % "event A(«?this after[1,5] ?this»)", "two events"),
    ("no_window", TWO % "«not event B(eqpt == ?a.eqpt)»", "?this after"),
    ("no_window", TWO % "?b: event B(); «not event C(?a after[1,2] ?b)»", "?this"),
    ("constant_test", WHEN % "F(«STATE == \"on\"»)", "back quotes"),
    ("constant_test", WHEN % "F(«1 == 2»)", "compare a field"),
    ("no_match", WHEN % "F(«count(b)» == 1)", "fields, variables"),
    ("no_match", THEN % "emit X(id = «match_id()»)", "fields, variables"),
    ("unknown_function", WHEN % "F(«lowr(state)» == \"a\")", "`lower`"),
    ("which_object", THEN % "emit X(n = «level»)", "?a.level"),
    ("which_object", THEN % "emit X(n = «f»)", "?f"),
    ("modify_event", THEN % "«modify ?a { n = 1 }»", "assert a new one"),
    ("modify_event", THEN % "«modify ?v { n = 1 }»", "name the fact"),
    ("modify_event", "rule R { when { ?c: event change F() to () } then { «modify ?c { n = 1 }» } }", "modify ?f"),
    ("empty_modify", THEN % "«modify ?f { }»", "field = value"),
    ("retract_value", THEN % "«retract ?v»", "object"),
    ("retract_value", "rule R { when { ?c: event change F() to () } then { «retract ?c» } }", "the fact itself"),
    # With declared types.
    ("unknown_object_type", TYPED + WHEN % "?f: «G»()", "fact G(...)"),
    ("unknown_object_type", "fact Equipment(id int key) " + WHEN % "?f: «Equipmnt»()", "`Equipment`"),
    ("wrong_kind", TYPED + WHEN % "?a: «A»()", "event A(...)"),
    ("wrong_kind", TYPED + WHEN % "?a: event «F»()", "write F(...)"),
    ("unknown_field", TYPED + WHEN % "F(«stat» == ON)", "`state`"),
    ("unknown_field", TYPED + WHEN % "?f: F(); event A(eqpt == «?f.ids»)", "`id`"),
    ("unknown_field", TYPED + THEN % "emit X(x = «?a.levle»)", "`level`"),
    ("unknown_field", TYPED + "rule R { when { ?f: F() } then { modify ?f { «stat = ON» } } }", "`state`"),
    ("unknown_field", TYPED + THEN % "assert event A(«eqp = 1»)", "`eqpt`"),
    ("type_clash", TYPED + WHEN % "F(«n == \"a\"»)", "int(x)"),
    ("type_clash", TYPED + WHEN % "F(«n == ON»)", "int(x)"),
    ("type_clash", TYPED + WHEN % "?f: F(); event A(«level == ?f»)", "float(x)"),
    ("type_clash", TYPED + "rule R { when { ?f: F() } then { modify ?f { n = «n / 2» } } }", "int(x)"),
    ("not_a_condition", TYPED + WHEN % "F(«n»)", "n != 0"),
    ("modify_key", TYPED + "rule R { when { ?f: F() } then { modify ?f { «id = \"x\"» } } }", "retract"),
    ("missing_key", TYPED + "rule R { when { ?f: F() } then { «assert new F(n = 1)» } }", "id = ..."),
]  # fmt: skip


def read(text: str) -> None:
    check_rules(parse_rules(text, "late.rules"))


def test_events_have_a_time() -> None:
    read(TYPED + "rule R { when { ?a: event A(time > ?this.level) } then { emit X(at = ?a.time); } }")


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
        assert mistake.place.source == "late.rules"
        start = mistake.place.column - 1
        wanted = marked.index("«")
        assert (start, text[start : mistake.place.end_column - 1].strip()) == (
            wanted,
            marked[wanted + 1 : marked.index("»")].strip(),
        ), str(mistake)
