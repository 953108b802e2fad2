"""The YAML of Sigma rules: plain data for pySigma, and places in the text for what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from cepheid.errors import Place, SyntaxMistake


@dataclass(frozen=True)
class Document:
    """One YAML document: what it says, and where in the text it says it."""

    data: Any
    node: yaml.Node
    text: str
    source: str

    def place(self, *path: str) -> Place:
        """The place of what a path of keys leads to, as far as it leads; a map or a list is its key's place."""
        node, found = self.node, self._first_line()
        for name in path:
            entry = _entry(node, name)
            if entry is None:
                break
            key, node = entry
            found = key if isinstance(node, yaml.CollectionNode) else node
        return self._place(found)

    def key(self, *path: str) -> Place:
        """The place of the last key of a path itself."""
        *before, last = path
        node: yaml.Node | None = self.node
        for name in before:
            entry = None if node is None else _entry(node, name)
            node = entry[1] if entry else None
        entry = None if node is None else _entry(node, last)
        return self._place(entry[0]) if entry else self.place(*before)

    def item(self, name: str, modifier: str | None = None) -> Place:
        """The place of the detection of a field (`""`: of keywords), one with the modifier if it is named."""
        for key in _keys_below(self._below("detection")):
            field, *modifiers = key.value.split("|")
            if field == name and (modifier is None or modifier in modifiers):
                return self._place(key)
        return self.place("detection")

    def modifier(self, name: str) -> Place:
        """The place of the first key that has a modifier."""
        for key in _keys_below(self._below("detection")):
            if name in key.value.split("|")[1:]:
                return self._place(key)
        return self.place("detection")

    def word(self, word: str, *path: str) -> Place:
        """The place of a word, or of an item of a list, in what a path leads to."""
        for node in _scalars_below(self._below(*path)):
            if node.value == word:
                return self._place(node)
        for node in _scalars_below(self._below(*path)):
            if word in node.value:
                return self._place(node).find(_word_pattern(word))
        return self.place(*path)

    def _below(self, *path: str) -> yaml.Node:
        node = self.node
        for name in path:
            entry = _entry(node, name)
            if entry is None:
                return node
            node = entry[1]
        return node

    def _first_line(self) -> yaml.Node:
        if isinstance(self.node, yaml.MappingNode) and self.node.value:
            return self.node.value[0][0]  # type: ignore[no-any-return]
        return self.node

    def _place(self, node: yaml.Node) -> Place:
        start, end = node.start_mark, node.end_mark
        if end.line > start.line:  # a block of text: its first line is enough
            first = self.text.split("\n")[start.line]
            return Place(
                start.line + 1, start.column + 1, start.line + 1, len(first) + 1, self.text, self.source
            )
        return Place(start.line + 1, start.column + 1, end.line + 1, end.column + 1, self.text, self.source)


def read_documents(text: str, source: str) -> list[Document]:
    """The documents of a text; empty ones, such as after a last `---`, are left out."""
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        data = list(yaml.safe_load_all(text))
    except yaml.YAMLError as problem:
        raise _bad_yaml(problem, text, source) from None
    read = [Document(d, n, text, source) for d, n in zip(data, nodes, strict=True) if d is not None]
    for document in read:
        _check_shape(document)
    if not read:
        raise SyntaxMistake(
            "there is no Sigma rule in the text",
            code="sigma_empty",
            place=Place(1, 1, 1, 2, text, source),
            hint="a rule has a title, a logsource and a detection, or a correlation",
        )
    return read


def _check_shape(document: Document) -> None:
    if not isinstance(document.data, dict):
        raise SyntaxMistake(
            "a Sigma rule is a map of keys such as title, logsource and detection",
            code="sigma_form",
            place=document.place(),
            hint="write `title: ...` and so on; several rules in one text are separated by `---`",
        )
    for name in ("title", "name", "id", "level", "status", "description"):
        if not isinstance(document.data.get(name, ""), str):
            raise SyntaxMistake(
                f"the {name} of a rule is text",
                code="sigma_form",
                place=document.place(name),
                hint="put it into quotes" if name != "id" else "an id is a UUID, such as uuidgen makes",
            )
    for key in _doubled_keys(document.node):
        raise SyntaxMistake(
            f"`{key.value}` stands here twice, and YAML would forget the first",
            code="sigma_duplicate_key",
            place=document._place(key),
            hint="put the values into one list, or into a second map that the condition names too",
        )


def _bad_yaml(problem: yaml.YAMLError, text: str, source: str) -> SyntaxMistake:
    mark = getattr(problem, "problem_mark", None)
    said = getattr(problem, "problem", None) or "it cannot be read"
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    return SyntaxMistake(
        f"this is not YAML: {said}",
        code="sigma_yaml",
        place=Place(line, column, line, column + 1, text, source),
        hint="indent with blanks; put text with `: `, `#`, `*` or `%` at its start into quotes",
    )


def _entry(node: yaml.Node, name: str) -> tuple[yaml.ScalarNode, yaml.Node] | None:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode) and key.value == name:
            return key, value
    return None


def _nodes_below(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield from _nodes_below(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes_below(item)


def _keys_below(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    for found in _nodes_below(node):
        if isinstance(found, yaml.MappingNode):
            yield from (key for key, _ in found.value if isinstance(key, yaml.ScalarNode))


def _scalars_below(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    yield from (found for found in _nodes_below(node) if isinstance(found, yaml.ScalarNode))


def _doubled_keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    for found in _nodes_below(node):
        seen: set[str] = set()
        for key, _ in found.value if isinstance(found, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    yield key
                seen.add(key.value)


def _word_pattern(word: str) -> str:
    import re

    return rf"(?<![\w-]){re.escape(word)}(?![\w-])"
