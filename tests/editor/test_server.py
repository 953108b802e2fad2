"""The language server over its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from lsp_client import Client

from cepheid.cli import main

pytest.importorskip("pygls", reason="needs the extra lsp")

from lsprotocol.types import PositionEncodingKind
from pygls.workspace import PositionCodec, TextDocument

from cepheid.editor.server import Text

RULES = """\
event Order   { id: int, total: float, note: string }
event Payment { order_id: int, amount: float }

pattern Paid = Order as o -> Payment[order_id == o.id] as p within 1h
stream Settled = Paid .stnm() .emit(order: o.id, paid: p.amount)
stream Twice = Settled as a -> Settled as b within 1h partition by order
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    opened = Client()
    yield opened
    assert opened.close() == 0


def place(text: str, wanted: str, nth: int = 0) -> tuple[int, int]:
    """The line and column of the nth occurrence."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(wanted, at + 1)
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)


def marked(text: str, found: dict[str, Any]) -> str:
    """What a range underlines (in one line)."""
    start, end = found["range"]["start"], found["range"]["end"]
    assert start["line"] == end["line"]
    return text.split("\n")[start["line"]][start["character"] : end["character"]]


def labels(found: Any) -> list[str]:
    return [item["label"] for item in found["items"]]


def test_it_says_what_it_can(client: Client) -> None:
    said = client.capabilities
    assert said["hoverProvider"]
    assert said["definitionProvider"]
    assert said["documentSymbolProvider"]
    assert "." in said["completionProvider"]["triggerCharacters"]


def test_right_text_has_no_mistakes(client: Client) -> None:
    assert [f for f in client.open(RULES) if f["severity"] == 1] == []


def test_a_mistake_with_its_range_and_hint(client: Client) -> None:
    text = RULES.replace("p.amount)", "p.amout)")
    (found,) = client.open(text)
    assert (found["severity"], found["code"], found["source"]) == (1, "unknown_field", "cepheid")
    assert marked(text, found) == "p.amout"
    assert "did you mean `amount`?" in found["message"]


def test_mistakes_of_several_declarations_at_once(client: Client) -> None:
    text = "stream A = X[v >]\nstream B = X as x -> Y as y within 5m partition by u .emit(z: w.v)\n"
    text += "stream C = X -> NOT Y\n"
    found = client.open(text)
    assert [(f["code"], marked(text, f)) for f in found] == [
        ("missing_value", "]"),
        ("unknown_alias", "w.v"),
        ("absence_without_bound", "NOT Y"),
    ]


def test_mistakes_go_when_they_are_mended(client: Client) -> None:
    assert client.open("stream S = A[") != []
    assert client.change("stream S = A[v > 1]", 2) == []


def test_changes_of_a_part(client: Client) -> None:
    client.open("stream S = A[v > 1]")
    change = {
        "range": {"start": {"line": 0, "character": 17}, "end": {"line": 0, "character": 18}},
        "text": "",
    }
    uri = "file:///rules.cep"
    client.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    )
    (found,) = client.wait_for("textDocument/publishDiagnostics")["diagnostics"]
    assert found["code"] == "missing_value"


def test_a_closed_document_has_no_mistakes(client: Client) -> None:
    uri = "file:///other.cep"
    assert client.open("A ->", uri) != []
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.wait_for("textDocument/publishDiagnostics") == {"uri": uri, "diagnostics": []}


def test_advice_is_a_warning(client: Client) -> None:
    text = "stream S = A as a -> all B as b -> C as c partition by user"
    found = client.open(text)
    assert [f["severity"] for f in found] == [2]
    assert "add .within(...)" in found[0]["message"]
    assert marked(text, found[0]) == "S"


def test_hover(client: Client) -> None:
    client.open(RULES)
    hover = client.ask("hover", *place(RULES, "within"))
    assert "At most so long" in hover["contents"]["value"]
    assert marked(RULES, hover) == "within"
    assert (
        "`amount: float` of `Payment`" in client.ask("hover", *place(RULES, "amount", 1))["contents"]["value"]
    )
    assert "one event of type `Order`" in client.ask("hover", *place(RULES, "o.id"))["contents"]["value"]
    assert "event Payment {" in client.ask("hover", *place(RULES, "Payment", 1))["contents"]["value"]
    assert "pattern Paid =" in client.ask("hover", *place(RULES, "Paid", 1))["contents"]["value"]
    assert ".stnm()" in client.ask("hover", *place(RULES, "stnm"))["contents"]["value"]
    assert client.ask("hover", *place(RULES, "1h")) is None


def test_definitions(client: Client) -> None:
    client.open(RULES)

    def leads(wanted: str, nth: int = 0) -> tuple[str, int]:
        found = client.ask("definition", *place(RULES, wanted, nth))
        return marked(RULES, found), found["range"]["start"]["line"]

    assert leads("o.id") == ("o", 3)
    assert leads("p.amount") == ("p", 3)
    assert leads("amount", 1) == ("amount", 1)
    assert leads("Payment", 1) == ("Payment", 1)
    assert leads("Paid", 1) == ("Paid", 3)
    assert leads("Settled", 1) == ("Settled", 4)
    assert client.ask("definition", *place(RULES, "within")) is None


def test_symbols(client: Client) -> None:
    client.open(RULES)
    found = client.request("textDocument/documentSymbol", {"textDocument": {"uri": "file:///rules.cep"}})
    assert [(s["name"], [c["name"] for c in s["children"]]) for s in found] == [
        ("Order", ["id", "total", "note"]),
        ("Payment", ["order_id", "amount"]),
        ("Paid", ["o", "p"]),
        ("Settled", []),
        ("Twice", ["a", "b"]),
    ]
    assert [marked(RULES, {"range": s["selectionRange"]}) for s in found][2] == "Paid"


def test_completion_in_an_unfinished_text(client: Client) -> None:
    text = RULES + "stream Big = Order[total > 100] as big -> Payment[order_id == big."
    assert client.open(text) != []
    line = text.count("\n")
    found = client.ask("completion", line, len(text.split("\n")[-1]))
    assert labels(found) == ["id", "total", "note", "time", "type"]
    assert found["items"][0]["detail"] == "int"


def test_places_are_counted_as_the_editor_counts(client: Client) -> None:
    """A character beyond the first 65,536 is two of UTF-16."""
    text = "stream S = A[note == '\U0001f511' and v >]"
    (found,) = client.open(text)
    assert found["range"]["start"]["character"] == text.index("]") + 1
    position = {"line": 0, "character": text.index("note") + 1}
    assert client.ask("hover", **position) is not None
    by_character = Text(
        TextDocument("file:///a.cep", text, position_codec=PositionCodec(PositionEncodingKind.Utf32))
    )
    start = text.index("]")
    assert by_character.range(start, start + 1).start.character == start
    assert by_character.offset(by_character.range(start, start).start) == start


def test_graph_patterns(client: Client) -> None:
    text = 'graph pattern late {\n  stage sent { .kind = "sent" }\n  stage paid { .kind = }\n}\n'
    (found,) = client.open(text, "file:///late.graph")
    assert found["range"]["start"]["line"] == 2
    uri = {"textDocument": {"uri": "file:///late.graph"}}
    (symbol,) = client.request("textDocument/documentSymbol", uri)
    assert (symbol["name"], [c["name"] for c in symbol["children"]]) == ("late", ["sent", "paid"])


def test_queries_in_the_manner_of_sql(client: Client) -> None:
    found = client.open("FROM PATTERN (e1=A -> e2=) SELECT e1.v", "file:///q.cep")
    assert [f["severity"] for f in found] == [1]


def test_without_pygls_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.cli.lsp.find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["lsp"])
    assert done.exit_code == 1
    assert "pip install 'cepheid[lsp]'" in done.stderr
