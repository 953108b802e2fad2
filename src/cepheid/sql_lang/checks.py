"""What a clause may not say, as far as it can be known without the types of columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import factorial

from cepheid.errors import PatternMistake, Place, nearest
from cepheid.pattern.row_pattern import (
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    has_one_way,
    variables_of,
    walk_rows,
)
from cepheid.sql_lang.clause import Clause, Name, Rows, SqlText
from cepheid.sql_lang.scan import SPARK, Dialect, Token, scan

MOST_PERMUTED = 8
BIGGEST = 100_000


def check_clause(clause: Clause, dialect: Dialect = SPARK) -> None:
    """Raises the first mistake there is, by the place of the section."""
    variables = variables_of(clause.pattern)
    _check_measures(clause, dialect)
    _check_rows(clause)
    _check_skip(clause, variables)
    _check_size(clause.pattern)
    _check_subsets(clause, variables)
    _check_definitions(clause, variables, dialect)


def pattern_size(node: RowNode) -> int:
    """How many variables the pattern has with all its bounds written out."""
    parts = sum(pattern_size(child) for child in node.children())
    if isinstance(node, Quantified):
        return parts * max(node.least, node.most or 0, 1)
    if isinstance(node, Permutation):
        # Without choices what may still come depends only on which parts are left: each part stands once for each
        # set of others. Otherwise all orders are written out.
        orders = all(has_one_way(part) for part in node.parts)
        return parts * (2 ** (len(node.parts) - 1) if orders else factorial(len(node.parts)))
    return parts or 1


def _mistake(code: str, message: str, place: Place | None, hint: str | None = None) -> PatternMistake:
    return PatternMistake(message, code=code, place=place, hint=hint)


def _check_measures(clause: Clause, dialect: Dialect) -> None:
    for measure in clause.measures:
        _no_query(measure.value, "a measure", dialect)
    twice = _repeated(measure.name for measure in clause.measures)
    if twice is not None:
        raise _mistake(
            "duplicate_measure",
            f"there are two measures called `{twice.written or twice.name}`",
            twice.place,
            "rename one of them",
        )


def _check_rows(clause: Clause) -> None:
    if clause.rows is not Rows.ALL_WITH_UNMATCHED:
        return
    exclusion = next((n for n in walk_rows(clause.pattern) if isinstance(n, Exclusion)), None)
    if exclusion is not None:
        raise _mistake(
            "exclusion_with_unmatched",
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS cannot go with an exclusion `{- -}`",
            exclusion.place,
            "leave out WITH UNMATCHED ROWS, or the signs `{-` and `-}`",
        )


def _check_skip(clause: Clause, variables: tuple[str, ...]) -> None:
    target = clause.skip.variable
    if target is None:
        return
    known = [*variables, *(subset.name.name for subset in clause.subsets)]
    if target.name not in known:
        raise _unknown(target, "SKIP TO", known, "is no variable of the pattern and no SUBSET")


def _check_size(pattern: RowNode) -> None:
    for node in walk_rows(pattern):
        if isinstance(node, Permutation) and len(node.parts) > MOST_PERMUTED:
            raise _mistake(
                "pattern_too_big",
                f"PERMUTE has {len(node.parts)} parts; it may have {MOST_PERMUTED}",
                node.place,
                "PERMUTE stands for all orders of its parts: write those that are needed, with `|` between them",
            )
    size = pattern_size(pattern)
    if size > BIGGEST:
        raise _mistake(
            "pattern_too_big",
            f"with its bounds written out the pattern has {size} parts; it may have {BIGGEST}",
            _biggest(pattern).place,
            "take lower bounds, or `*` and `+`",
        )


def _biggest(node: RowNode) -> RowNode:
    """The innermost part that is too big by itself."""
    inner = next((child for child in node.children() if pattern_size(child) > BIGGEST), None)
    return node if inner is None else _biggest(inner)


def _check_subsets(clause: Clause, variables: tuple[str, ...]) -> None:
    for subset in clause.subsets:
        if subset.name.name in variables:
            raise _mistake(
                "subset_is_variable",
                f"`{subset.name.name}` is a variable of the pattern already",
                subset.name.place,
                "give the SUBSET another name",
            )
        _check_members(subset.members, variables)
    twice = _repeated(subset.name for subset in clause.subsets)
    if twice is not None:
        raise _mistake(
            "duplicate_subset",
            f"there are two SUBSETs called `{twice.name}`",
            twice.place,
            "rename one of them",
        )


def _check_members(members: tuple[Name, ...], variables: tuple[str, ...]) -> None:
    for member in members:
        if member.name not in variables:
            raise _unknown(member, "SUBSET", variables, "is no variable of the pattern")
    twice = _repeated(members)
    if twice is not None:
        raise _mistake(
            "duplicate_member", f"`{twice.name}` stands twice in the SUBSET", twice.place, "leave one out"
        )


def _check_definitions(clause: Clause, variables: tuple[str, ...], dialect: Dialect) -> None:
    subsets = {subset.name.name for subset in clause.subsets}
    for definition in clause.define:
        variable = definition.variable
        if variable.name in subsets:
            raise _mistake(
                "subset_defined",
                f"`{variable.name}` is a SUBSET: it has no condition of its own",
                variable.place,
                "define the variables it is made of",
            )
        if variable.name not in variables:
            raise _unknown(variable, "DEFINE", variables, "is no variable of the pattern")
        _no_query(definition.condition, "a condition", dialect)
    twice = _repeated(definition.variable for definition in clause.define)
    if twice is not None:
        raise _mistake(
            "duplicate_variable",
            f"`{twice.name}` is defined twice",
            twice.place,
            "write one condition, with AND or OR between the two",
        )


def _unknown(name: Name, section: str, known: Iterable[str], what: str) -> PatternMistake:
    names = tuple(known)
    same = next((n for n in names if n.upper() == name.name.upper()), None)
    hint = nearest(name.name, names) or f"the pattern has {', '.join(names) or 'no variables'}"
    if same is not None:
        hint = f"names in quotes keep their case, others are read in upper case: the pattern has `{same}`"
    return _mistake("unknown_variable", f"in {section}, `{name.name}` {what}", name.place, hint)


def _repeated(names: Iterable[Name]) -> Name | None:
    """The first name that stood before already."""
    seen: set[str] = set()
    for name in names:
        if name.name in seen:
            return name
        seen.add(name.name)
    return None


def _no_query(value: SqlText, where: str, dialect: Dialect) -> None:
    tokens = scan(value.text, dialect)
    for i, token in enumerate(tokens):
        if token.word not in _QUERIES or (i and tokens[i - 1].is_sign(".")):
            continue
        opens = i > 0 and tokens[i - 1].is_sign("(")
        calls = i + 1 < len(tokens) and tokens[i + 1].is_sign("(")
        if (token.word == "MATCH_RECOGNIZE" and calls) or (token.word != "MATCH_RECOGNIZE" and opens):
            what = "another MATCH_RECOGNIZE" if token.word == "MATCH_RECOGNIZE" else "a subquery"
            raise _mistake(
                "query_in_clause",
                f"in {where} {what} cannot stand",
                _place_in(value, token),
                "join what it needs to the table before MATCH_RECOGNIZE",
            )


_QUERIES = {"SELECT", "WITH", "MATCH_RECOGNIZE"}


def _place_in(value: SqlText, token: Token) -> Place:
    before = value.text[: token.start]
    line = value.place.line + before.count("\n")
    column = len(before) - before.rfind("\n") if "\n" in before else value.place.column + len(before)
    return replace(value.place, line=line, column=column, end_line=line, end_column=column + len(token.text))
