"""The rules of a text: parsed by pySigma, each with its document, referenced ones before those that refer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError, SigmaRuleLocation, SigmaRuleNotFoundError
from sigma.rule import SigmaRule, SigmaRuleBase

from cepheid.errors import PatternMistake, SyntaxMistake
from cepheid.sigma.documents import Document, read_documents
from cepheid.sigma.mistakes import explained
from cepheid.sigma.naming import Labels

Rule = SigmaRule | SigmaCorrelationRule


@dataclass(frozen=True)
class Rules:
    """All rules of a text in an order in which each stands after those it refers to."""

    rules: tuple[Rule, ...]
    documents: dict[int, Document]  # by the rule's id()
    labels: dict[int, str]  # what the rule's stream is called
    collection: SigmaCollection

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def document(self, rule: SigmaRuleBase) -> Document:
        return self.documents[id(rule)]

    def label(self, rule: SigmaRuleBase) -> str:
        return self.labels[id(rule)]

    def is_wanted(self, rule: SigmaRuleBase) -> bool:
        """Not if a correlation refers to it, unless that one says `generate: true`."""
        return any(rule is shown for shown in self.collection.get_output_rules())

    def named(self, reference: str) -> Rule:
        return self.collection[reference]


def read_rules(text: str, source: str, labels: Labels) -> Rules:
    documents = read_documents(text, source)
    collection = _collected(documents)
    # A location's line is the number of its document: pySigma hands it on to every rule.
    of_rule = {id(rule): documents[_index(rule)] for rule in collection.rules}
    _no_name_twice(collection, of_rule)
    for rule in collection.rules:
        if isinstance(rule, SigmaCorrelationRule):
            _resolve(rule, collection, of_rule[id(rule)])
    ordered = _referenced_first(collection, of_rule)
    named = {id(rule): labels.fresh(_label(rule)) for rule in ordered}
    return Rules(ordered, of_rule, named, collection)


def _collected(documents: list[Document]) -> SigmaCollection:
    """pySigma reads document by document, so that it is known in which one it finds a mistake."""
    parsed: list[Any] = []
    context: list[dict[str, Any]] = []  # `action: global` speaks for all documents after it
    for index, document in enumerate(documents):
        _known_action(document)
        where = SigmaRuleLocation(Path(document.source), index)
        try:
            read = SigmaCollection.from_dicts(
                [dict(data) for data in (*context, document.data)],
                source=where,
                collect_filters=True,
                resolve_references=False,
            )
        except SigmaError as problem:
            raise explained(problem, document) from None
        except (AttributeError, TypeError, ValueError, KeyError) as surprise:
            raise _surprised(surprise, document) from None
        if "action" in document.data and not read.rules:
            context = [document.data] if document.data["action"] == "global" else []
        for rule in (*read.rules, *read.filters):
            rule.source = where
            parsed.append(rule)
    return SigmaCollection(parsed, resolve_references=False)


def _known_action(document: Document) -> None:
    if document.data.get("action") == "repeat":
        raise SyntaxMistake(
            "`action: repeat` is no longer part of Sigma",
            code="sigma",
            place=document.place("action"),
            hint="write the whole rule",
        )


def _surprised(surprise: Exception, document: Document) -> SyntaxMistake:
    """A form pySigma does not look out for, such as a list where a map should be."""
    return SyntaxMistake(
        f"pySigma cannot read this rule ({type(surprise).__name__}: {surprise})",
        code="sigma",
        place=document.place(),
        hint="compare its form with the Sigma specification: maps, lists and texts where they belong",
    )


def _index(rule: SigmaRuleBase) -> int:
    assert rule.source is not None
    return rule.source.line or 0


def _no_name_twice(collection: SigmaCollection, documents: dict[int, Document]) -> None:
    for key in ("name", "id"):
        seen: set[Any] = set()
        for rule in collection.rules:
            said = getattr(rule, key)
            if said is not None and said in seen:
                raise PatternMistake(
                    f"two rules have the {key} {said}",
                    code="duplicate_name",
                    place=documents[id(rule)].place(key),
                    hint="a correlation could not tell which one it refers to: rename one of them",
                )
            seen.add(said)


def _resolve(rule: SigmaCorrelationRule, collection: SigmaCollection, document: Document) -> None:
    try:
        rule.resolve_rule_references(collection)
    except SigmaRuleNotFoundError as problem:
        raise explained(problem, document, list(collection.names_to_rules)) from None


def _referenced_first(collection: SigmaCollection, documents: dict[int, Document]) -> tuple[Rule, ...]:
    """Each rule after those it refers to; a circle is refused."""
    ordered: list[Rule] = []

    def visit(rule: Any, path: list[Any]) -> None:
        if any(rule is p for p in path):
            raise PatternMistake(
                f"this correlation refers to itself ({' -> '.join(_label(r) for r in [*path, rule])})",
                code="sigma_circle",
                place=documents[id(rule)].place("correlation", "rules"),
                hint="leave out one of the references",
            )
        if any(rule is done for done in ordered):
            return
        if isinstance(rule, SigmaCorrelationRule):
            for reference in rule.referenced_rules:
                visit(reference.rule, [*path, rule])
        ordered.append(rule)

    for rule in collection.rules:
        visit(rule, [])
    return tuple(ordered)


def _label(rule: Any) -> str:
    return str(rule.name or rule.title or rule.id or "rule")
