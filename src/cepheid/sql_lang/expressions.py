"""The expressions of a clause: what they ask of rows becomes terms, what is done with the terms stays SQL.

A part that looks at one row alone is left to the database, which makes a column of it before rows are matched; so it
may be any SQL. A measure around its terms is left to the database too, after matching. Only a condition that compares
rows must be understood here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.row_terms import At, Condition, MatchNumber, Over, RowTerm, Variables
from cepheid.sql_lang.clause import SqlText
from cepheid.sql_lang.scalar import Tree, literal, to_expr

# Names that no database knows as functions of its own, for those that mean something else in a row pattern.
_OWN = ("FIRST", "LAST", "PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "RUNNING", "FINAL")
_MARK = "__CEPHEID_"
_AGGREGATES: dict[type[Tree], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Median: "median",
    exp.ArrayAgg: "array_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.AnyValue: "any_value",
}


@dataclass
class Terms:
    """What the expressions of a clause ask for. Each column and each term has one name."""

    dialect: str
    variables: Mapping[
        str, frozenset[str]
    ]  # primary ones and subsets, each with the primary variables it stands for
    columns: dict[str, str] = field(default_factory=dict)  # SQL over one row -> the name of its column
    names: dict[RowTerm, str] = field(default_factory=dict)
    tables: frozenset[str] | None = None  # of a window: what its SELECT calls its tables, in upper case

    def column(self, node: Tree) -> str:
        """The column of an expression over one row, whose variables are left out."""
        plain = node.transform(lambda n: self._without_variable(n) if isinstance(n, exp.Column) else n)
        text = str(plain.sql(dialect=self.dialect))
        return self.columns.setdefault(text, f"__c{len(self.columns)}")

    def _without_variable(self, column: exp.Column) -> Tree:
        """`A.x` is `x`, and `A.s.f` is `s.f`."""
        parts = column.parts
        return (
            exp.column(parts[0])
            if len(parts) == 1
            else column
            if self.is_table(parts[0])
            else _dotted(parts[1:])
        )

    def is_table(self, name: Tree) -> bool:
        """In a window `t.x` is a column of the row as `x` is, unless the pattern has a variable T."""
        text = str(name.this)
        known = text if name.args.get("quoted") else text.upper()
        return self.tables is not None and text.upper() in self.tables and known not in self.variables

    def name(self, term: RowTerm) -> str:
        return self.names.setdefault(term, f"__t{len(self.names)}")

    # What stands in a clause.

    def measure(self, value: SqlText) -> str:
        """The SQL of a measure over the names of its terms."""
        tree = self._parsed(value)
        return str(_Reader(self, value.place, None).rewritten(tree).sql(dialect=self.dialect))

    def condition(self, value: SqlText, variable: str) -> Condition:
        reader = _Reader(self, value.place, variable)
        expr = to_expr(self._parsed(value), value.place, reader.term_name)
        return Condition(expr, reader.used)

    def _parsed(self, value: SqlText) -> Tree:
        text = marked(value.text, self.dialect)
        try:
            found = sqlglot.parse_one(text, read=self.dialect)
        except SqlglotError as problem:
            raise PatternMistake(
                f"this is no expression: {_first_line(problem)}", code="bad_expression", place=value.place
            ) from None
        inside = found.find(exp.Subquery, exp.Select, exp.Window)
        if inside is not None:
            what = "a window function" if isinstance(inside, exp.Window) else "a subquery"
            raise PatternMistake(
                f"{what} cannot stand in a row pattern",
                code="nested_query",
                place=value.place,
                hint="compute it in the table whose rows are matched",
            )
        return found


def marked(text: str, dialect: str) -> str:
    """With names of ours for the functions of row patterns; `FINAL f(x)` becomes a call too."""
    tokens = sqlglot.tokenize(text, read=dialect)
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(tokens):
        word = token.text.upper()
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if word not in _OWN or token.token_type.name in ("STRING", "IDENTIFIER") or _is_column(tokens, i):
            continue
        if word in ("RUNNING", "FINAL") and i + 2 < len(tokens) and tokens[i + 2].text == "(":
            close = _closing(tokens, i + 2)
            changes += [(token.start, token.end + 1, f"{_MARK}{word}("), (close + 1, close + 1, ")")]
        elif word not in ("RUNNING", "FINAL") and after == "(":
            changes.append((token.start, token.end + 1, _MARK + word))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _is_column(tokens: list[Any], at: int) -> bool:
    return at > 0 and tokens[at - 1].text == "."


def _closing(tokens: list[Any], opening: int) -> int:
    """Where the parenthesis ends."""
    depth = 0
    for token in tokens[opening:]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return int(token.end)
    return int(tokens[-1].end)


class _Reader:
    """Reads one expression. `own` is the variable whose condition it is; None in a measure."""

    def __init__(self, terms: Terms, place: Place, own: str | None) -> None:
        self.terms, self.place, self.own = terms, place, own
        self.used: dict[str, RowTerm] = {}

    # The two ways out.

    def rewritten(self, tree: Tree) -> Tree:
        """The same over columns of terms."""

        def changed(node: Tree) -> Tree:
            name = self.term_name(node)
            return node if name is None else exp.column(exp.to_identifier(name))

        return tree.transform(changed)

    def term_name(self, node: Tree) -> str | None:
        """The field that stands for a part, if it is a term."""
        term = self._term(node)
        if term is None:
            return None
        name = self.terms.name(term)
        self.used[name] = term
        return name

    def _term(self, node: Tree) -> RowTerm | None:
        if own_name(node) or type(node) in _AGGREGATES:
            return self._asked(node, final=False)
        if isinstance(node, exp.Column):
            return self._value(node, final=False)
        if self.own is not None and self._is_of_this_row(node):
            return At(column=self.terms.column(node), variables=frozenset({self.own}))
        return None

    def _is_of_this_row(self, node: Tree) -> bool:
        """In a condition: nothing but columns of the row that is asked, which the database can compute."""
        columns = list(node.find_all(exp.Column))
        if not columns or any(own_name(n) or type(n) in _AGGREGATES for n in node.walk()):
            return False
        sets = [self._variables(c) for c in columns]
        return all(s is None or (self.own in s) for s in sets)

    # Terms.

    def _asked(self, node: Tree, final: bool) -> RowTerm:
        name = own_name(node)
        if name in ("RUNNING", "FINAL"):
            return self._framed(node, name)
        if name in ("PREV", "NEXT"):
            return self._away(node, name, final)
        if name in ("FIRST", "LAST"):
            return self._first_or_last(node, name, final)
        if name == "CLASSIFIER":
            return At(final=final, column=None, variables=self._variable_argument(node))
        if name == "MATCH_NUMBER":
            if self.terms.tables is not None:
                raise self._mistake(
                    "in a window matches have no number", "match_number_in_window", "leave MATCH_NUMBER() out"
                )
            return MatchNumber()
        return self._aggregate(node, final)

    def _framed(self, node: Tree, name: str) -> RowTerm:
        if name == "FINAL" and self.own is not None:
            raise self._mistake(
                "FINAL cannot stand in DEFINE", "final_in_define", "the match is not known yet there"
            )
        (inside,) = node.expressions
        inner = own_name(inside)
        if inner in ("FIRST", "LAST") or type(inside) in _AGGREGATES or inner == "CLASSIFIER":
            return self._asked(inside, final=name == "FINAL")
        raise self._mistake(f"{name} needs FIRST, LAST or an aggregate after it", "bad_frame")

    def _away(self, node: Tree, name: str, final: bool) -> At:
        inside, offset = self._two(node, name, 1)
        inner = own_name(inside)
        if inner in ("PREV", "NEXT"):
            raise self._mistake(
                f"{inner} cannot stand in {name}", "bad_navigation", "add the offsets yourself"
            )
        if inner in ("RUNNING", "FINAL"):
            term = self._framed(inside, inner)
        elif inner in ("FIRST", "LAST"):
            term = self._first_or_last(inside, inner, final)
        else:
            term = self._value(inside, final)
        if not isinstance(term, At) or term.column is None:
            raise self._mistake(f"{name} needs a value of a row", "bad_navigation")
        return At(
            term.final,
            term.column,
            term.variables,
            term.first,
            term.offset,
            -offset if name == "PREV" else offset,
        )

    def _first_or_last(self, node: Tree, name: str, final: bool) -> At:
        inside, offset = self._two(node, name, 0)
        if own_name(inside) == "CLASSIFIER":
            return At(final, None, self._variable_argument(inside), name == "FIRST", offset)
        value = self._value(inside, final)
        return At(final, value.column, value.variables, name == "FIRST", offset)

    def _value(self, node: Tree, final: bool) -> At:
        """An expression over one row, at the last row of its variable."""
        if any(own_name(n) or type(n) in _AGGREGATES for n in node.walk()):
            raise self._mistake(
                f"`{_shown(node)}` cannot stand here",
                "bad_navigation",
                "only PREV and NEXT may hold FIRST or LAST",
            )
        return At(final, self.terms.column(node), self._common_variables(node))

    def _aggregate(self, node: Tree, final: bool) -> Over:
        name, inside, distinct = _AGGREGATES[type(node)], node.this, False
        if isinstance(inside, exp.Distinct):
            distinct = True
            (inside,) = inside.expressions
        if isinstance(inside, exp.Star):
            return Over(final, "count", None, None)
        if isinstance(inside, exp.Column) and isinstance(inside.this, exp.Star):
            return Over(final, "count", None, self._variables(inside))
        return Over(final, name, self._value(inside, final).column, self._common_variables(inside), distinct)

    # Names and numbers.

    def _two(self, node: Tree, name: str, usual: int) -> tuple[Tree, int]:
        if not 1 <= len(node.expressions) <= 2:
            raise self._mistake(f"{name} takes a value and perhaps an offset", "bad_navigation")
        if len(node.expressions) == 1:
            return node.expressions[0], usual
        offset = node.expressions[1]
        if not isinstance(offset, exp.Literal) or not isinstance(literal(offset), int):
            raise self._mistake(
                f"the offset of {name} must be a whole number", "bad_offset", "0, 1, 2 and so on"
            )
        return node.expressions[0], int(literal(offset))

    def _common_variables(self, node: Tree) -> Variables:
        sets = {self._variables(c): c for c in node.find_all(exp.Column)}
        if len(sets) > 1:
            raise self._mistake(
                f"`{_shown(node)}` mixes rows of several variables",
                "mixed_variables",
                "what FIRST, LAST, PREV, NEXT or an aggregate holds must be of one variable",
            )
        return next(iter(sets), None)

    def _variable_argument(self, node: Tree) -> Variables:
        if not node.expressions:
            return None
        (argument,) = node.expressions
        return self._known(argument.this if isinstance(argument, exp.Column) else argument)

    def _variables(self, column: exp.Column) -> Variables:
        if len(column.parts) == 1 or self.terms.is_table(column.parts[0]):
            return None
        return self._known(column.parts[0])

    def _known(self, name: Tree) -> frozenset[str]:
        text = str(name.this) if name.args.get("quoted") else str(name.this).upper()
        if text not in self.terms.variables:
            raise self._mistake(
                f"`{name.this}` is no variable of the pattern",
                "unknown_variable",
                nearest(text, list(self.terms.variables)) or f"it has {', '.join(self.terms.variables)}",
            )
        return self.terms.variables[text]

    def _mistake(self, message: str, code: str, hint: str | None = None) -> PatternMistake:
        return PatternMistake(message, code=code, place=self.place, hint=hint)


def own_name(node: Tree) -> str:
    """Of a call of a function of row patterns."""
    if isinstance(node, exp.Anonymous) and str(node.this).upper().startswith(_MARK):
        return str(node.this).upper().removeprefix(_MARK)
    return ""


def _shown(node: Tree) -> str:
    return str(node.sql()).replace(_MARK, "")


def _first_line(problem: SqlglotError) -> str:
    return str(problem).split("\n", 1)[0]


def _dotted(parts: list[Tree]) -> Tree:
    found: Tree = exp.column(parts[0])
    for part in parts[1:]:
        found = exp.Dot(this=found, expression=part)
    return found
