"""The expressions of a clause: what they ask of rows becomes terms, what is done with the terms stays SQL.

A part that looks at one row alone is left to the database, which makes a column of it before rows are matched; so it
may be any SQL. A measure around its terms is left to the database too, after matching. Only a condition that compares
rows must be understood here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.row_aggregates import KEEPS_NULLS, OF_TWO, SUMMED, kept_names
from cepheid.pattern.row_terms import AggregateCall, At, Condition, MatchNumber, Over, RowTerm, Variables
from cepheid.sql_lang.aggregate_calls import CallParts, call_parts, is_call
from cepheid.sql_lang.aggregate_names import AggregateNames
from cepheid.sql_lang.clause import SqlText
from cepheid.sql_lang.marking import aggregate_name, marked, own_name, shown
from cepheid.sql_lang.scalar import Tree, literal, to_expr

# What an aggregate may ask of a row of the match beside its columns.
LABEL, NUMBER = "__label", "__number"


@dataclass
class Terms:
    """What the expressions of a clause ask for. Each column and each term has one name."""

    database: AggregateNames
    variables: Mapping[
        str, frozenset[str]
    ]  # primary ones and subsets, each with the primary variables it stands for
    columns: dict[str, str] = field(default_factory=dict)  # SQL over one row -> the name of its column
    names: dict[RowTerm, str] = field(default_factory=dict)
    tables: frozenset[str] | None = None  # of a window: what its SELECT calls its tables, in upper case

    @property
    def dialect(self) -> str:
        return self.database.dialect

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
        text = marked(value.text, self.dialect, self._is_aggregate)
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
        self._check_functions(found, value)
        return found

    def _is_aggregate(self, name: str) -> bool:
        return name in kept_names(self.dialect) or self.database.is_aggregate(name)

    def _check_functions(self, tree: Tree, value: SqlText) -> None:
        """Those the parser does not know: the database must."""
        for node in tree.find_all(exp.Anonymous):
            name = str(node.this).lower()
            if own_name(node) or aggregate_name(node) or self.database.is_function(name):
                continue
            raise PatternMistake(
                f"there is no function `{node.this}`",
                code="unknown_function",
                place=value.place.find(rf"(?i)\b{re.escape(name)}(?=\s*\()"),
                hint=nearest(name, set(self.database.all_names())),
            )


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
        if own_name(node) or is_call(node):
            return self._asked(node, final=False)
        if isinstance(node, exp.Column):
            return self._value(node, final=False)
        if self.own is not None and self._is_of_this_row(node):
            return At(column=self.terms.column(node), variables=frozenset({self.own}))
        return None

    def _is_of_this_row(self, node: Tree) -> bool:
        """In a condition: nothing but columns of the row that is asked, which the database can compute."""
        columns = list(node.find_all(exp.Column))
        if not columns or any(_is_ours(n) for n in node.walk()):
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
        if inner in ("FIRST", "LAST") or is_call(inside) or inner == "CLASSIFIER":
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
        elif inner == "CLASSIFIER":
            term = At(final, None, self._variable_argument(inside))
        else:
            term = self._value(inside, final)
        if not isinstance(term, At):
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
        if any(_is_ours(n) for n in node.walk()):
            raise self._mistake(
                f"`{shown(node)}` cannot stand here",
                "bad_navigation",
                "only PREV and NEXT may hold FIRST or LAST",
            )
        return At(final, self.terms.column(node), self._common_variables(node))

    # Aggregates.

    def _aggregate(self, node: Tree, final: bool) -> Over:
        parts = call_parts(node)
        if kept_names(self.terms.dialect).get(parts.name) == "count":
            parts = _counted(parts)
        variables = self._variables_of_call(parts)
        function = self._kept(parts)
        if self.own is not None and not function:
            raise self._not_kept(parts)
        column, by = self._kept_columns(parts) if function else (None, None)
        call = None if self.own is not None or function in SUMMED else self._call(parts)
        distinct = parts.distinct and function not in ("min", "max")
        return Over(final, function, column, variables, distinct, by, call)

    def _kept(self, parts: CallParts) -> str:
        """The function by its name here; empty if only the database can do it."""
        function = kept_names(self.terms.dialect).get(parts.name, "")
        wanted = 2 if function in OF_TWO else 1
        possible = parts.plain and len(parts.arguments) == wanted and not parts.name.startswith("__")
        if any(own_name(n) for tree in parts.trees for n in tree.walk()):
            possible = False  # CLASSIFIER and MATCH_NUMBER are no columns
        if parts.filter is not None and function in KEEPS_NULLS:
            possible = False
        if parts.star is not None and function != "count":
            possible = False
        return function if possible else ""

    def _kept_columns(self, parts: CallParts) -> tuple[str | None, str | None]:
        """A row that FILTER leaves out has null there, which counts for nothing."""
        *first, last = parts.arguments
        if parts.star is not None:
            if parts.filter is None:
                return None, None
            last = exp.Literal.number(1)
        if parts.filter is not None:
            last = exp.Case(ifs=[exp.If(this=parts.filter.copy(), true=last.copy())])
        columns = [self.terms.column(tree) for tree in (*first, last)]
        return (columns[0], columns[1]) if first else (columns[0], None)

    def _call(self, parts: CallParts) -> AggregateCall:
        used: dict[str, None] = {}
        known = self.terms.database.is_aggregate(parts.name)
        star = parts.star is not None
        return AggregateCall(
            parts.name if known else kept_names(self.terms.dialect)[parts.name],
            ("*",) if star else tuple(self._argument(a, used) for a in parts.arguments),
            parts.distinct,
            ", ".join(self._ordered(o, used) for o in parts.order),
            ", ".join(self._ordered(o, used) for o in parts.within),
            "" if parts.filter is None else self._argument(parts.filter, used),
            parts.nulls,
            tuple(used),
            self.place.find(rf"(?i)\b{re.escape(parts.name)}(?=\s*\()"),
        )

    def _argument(self, tree: Tree, used: dict[str, None]) -> str:
        """SQL over columns. What has none stays, for databases want some arguments to be constant."""

        def column(part: Tree) -> Tree:
            if own_name(part):
                name = LABEL if own_name(part) == "CLASSIFIER" else NUMBER
            elif isinstance(part, exp.Column):
                name = self.terms.column(part)
            else:
                return part
            used[name] = None
            return exp.column(exp.to_identifier(name))

        whole = isinstance(tree, exp.Kwarg) or any(own_name(n) for n in tree.walk())
        if whole or not tree.find(exp.Column):
            return str(tree.transform(column).sql(dialect=self.terms.dialect))
        name = self.terms.column(tree)
        used[name] = None
        return name

    def _ordered(self, tree: Tree, used: dict[str, None]) -> str:
        if not isinstance(tree, exp.Ordered):
            return self._argument(tree, used)
        changed = tree.copy()
        changed.set("this", exp.column(exp.to_identifier(self._argument(tree.this, used))))
        return str(changed.sql(dialect=self.terms.dialect))

    def _variables_of_call(self, parts: CallParts) -> Variables:
        """Those whose rows it is over."""
        for tree in parts.trees:
            inside = next((n for n in tree.walk() if is_call(n) or own_name(n) not in _OF_A_ROW), None)
            if inside is not None:
                raise self._mistake(
                    f"`{shown(inside)}` cannot stand in an aggregate",
                    "bad_navigation",
                    "an aggregate holds values of its rows, CLASSIFIER() and MATCH_NUMBER()",
                )
        sets = {found for tree in parts.trees for found in self._sets(tree)}
        if len(sets) > 1:
            raise self._mixed(f"{parts.name}(..)")
        return next(iter(sets), None)

    def _sets(self, tree: Tree) -> Iterator[Variables]:
        for node in tree.walk():
            inside = node.find_ancestor(exp.Anonymous)
            if own_name(node) == "CLASSIFIER":
                yield self._variable_argument(node)
            elif isinstance(node, exp.Column) and not (inside and own_name(inside)):
                yield self._variables(node)

    def _not_kept(self, parts: CallParts) -> PatternMistake:
        kept = sorted(kept_names(self.terms.dialect))
        with_more = parts.name in kept
        return self._mistake(
            f"the aggregate `{parts.name}` cannot stand in DEFINE{' with all that it has here' if with_more else ''}",
            "not_in_define",
            "there it must be kept row by row: "
            + (
                "give it plain arguments of one variable"
                if with_more
                else f"there are {', '.join(kept)}; in MEASURES it may stand"
            ),
        )

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
            raise self._mixed(shown(node))
        return next(iter(sets), None)

    def _mixed(self, what: str) -> PatternMistake:
        return self._mistake(
            f"`{what}` mixes rows of several variables",
            "mixed_variables",
            "what FIRST, LAST, PREV, NEXT or an aggregate holds must be of one variable",
        )

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


def _counted(parts: CallParts) -> CallParts:
    """`count_if(x)` counts the rows where it is so."""
    if parts.name == "count" or len(parts.arguments) != 1 or parts.distinct:
        return parts
    where = exp.Case(ifs=[exp.If(this=parts.arguments[0].copy(), true=exp.Literal.number(1))])
    return replace(parts, name="count", arguments=(where,))


_OF_A_ROW = ("", "CLASSIFIER", "MATCH_NUMBER")


def _is_ours(node: Tree) -> bool:
    return bool(own_name(node) or aggregate_name(node))


def _first_line(problem: SqlglotError) -> str:
    return str(problem).split("\n", 1)[0]


def _dotted(parts: list[Tree]) -> Tree:
    found: Tree = exp.column(parts[0])
    for part in parts[1:]:
        found = exp.Dot(this=found, expression=part)
    return found
