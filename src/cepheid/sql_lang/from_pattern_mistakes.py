"""What is wrong with a FROM PATTERN query that cannot be read: rules of its own, then the language's."""

from __future__ import annotations

from collections.abc import Iterable

from lark.exceptions import UnexpectedInput

from cepheid.errors import Place, SyntaxMistake
from cepheid.lang import mistakes_in_conditions as conditions
from cepheid.lang import mistakes_in_form as form
from cepheid.lang import mistakes_in_patterns as patterns
from cepheid.lang.mistakes import Rule, explain_by
from cepheid.sql_lang import from_pattern_clauses as clauses
from cepheid.sql_lang import from_pattern_frame as frame


def explain_from_pattern(
    problem: UnexpectedInput, text: str, place: Place, allowed: Iterable[str]
) -> SyntaxMistake:
    """The mistake behind a surprise; the first rule that knows it answers."""
    return explain_by(_RULES, clauses.KEYWORDS, problem, text, place, allowed)


_RULES: tuple[Rule, ...] = (
    form.unclosed_text,
    frame.wrong_mode,
    frame.no_parentheses,
    frame.empty_parentheses,
    form.extra_bracket,
    frame.unclosed,
    frame.no_semicolon,
    frame.new_query,
    clauses.empty_clause,
    form.unclosed_bracket,
    conditions.other_signs,
    patterns.wrong_arrow,
    conditions.chained_comparison,
    conditions.other_words,
    patterns.bad_count,
    clauses.after_keyword,
    patterns.missing_after_keyword,
    patterns.bad_unit,
    clauses.star_in_call,
    clauses.misplaced_clause,
    conditions.missing_value,
    patterns.missing_step,
    frame.name_after_type,
    clauses.keyword_typo,
    clauses.column_without_as,
    patterns.missing_within,
    frame.wrong_sign,
    frame.no_arrow,
    clauses.nothing_more,
    conditions.bad_arguments,
    conditions.missing_operator,
    conditions.unknown_character,
)
