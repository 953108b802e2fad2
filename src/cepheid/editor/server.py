"""The language server: what this room knows, told over the Language Server Protocol. Only this file imports pygls."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from cepheid import __version__
from cepheid.editor.completing import Item, completions
from cepheid.editor.declared import Declared, read_declared
from cepheid.editor.defining import definition_at
from cepheid.editor.diagnostics import Problem, problems
from cepheid.editor.hovering import hover_at
from cepheid.editor.outlining import Symbol, outline

_KINDS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "function": lsp.CompletionItemKind.Function,
    "operator": lsp.CompletionItemKind.Method,
    "alias": lsp.CompletionItemKind.Variable,
    "field": lsp.CompletionItemKind.Field,
    "event": lsp.CompletionItemKind.Struct,
    "stream": lsp.CompletionItemKind.Interface,
    "pattern": lsp.CompletionItemKind.Class,
    "graph pattern": lsp.CompletionItemKind.Class,
    "type": lsp.CompletionItemKind.TypeParameter,
    "value": lsp.CompletionItemKind.EnumMember,
}
_SYMBOLS = {
    "event": lsp.SymbolKind.Struct,
    "pattern": lsp.SymbolKind.Class,
    "graph pattern": lsp.SymbolKind.Class,
    "stream": lsp.SymbolKind.Interface,
    "field": lsp.SymbolKind.Field,
    "step": lsp.SymbolKind.Variable,
    "stage": lsp.SymbolKind.Event,
}


class Text:
    """An open document: offsets in it are places of the protocol, and the other way round."""

    def __init__(self, document: TextDocument) -> None:
        self.text = document.source
        self._codec = document.position_codec
        self._lines = self.text.split("\n")

    def declared(self) -> Declared:
        return read_declared(self.text)

    def offset(self, position: lsp.Position) -> int:
        if position.line >= len(self._lines):
            return len(self.text)
        at = self._codec.position_from_client_units(self._lines, position)
        return sum(len(line) + 1 for line in self._lines[: at.line]) + min(
            at.character, len(self._lines[at.line])
        )

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self._position(start), self._position(end))

    def _position(self, offset: int) -> lsp.Position:
        line = self.text.count("\n", 0, offset)
        column = offset - (self.text.rfind("\n", 0, offset) + 1)
        return self._codec.position_to_client_units(self._lines, lsp.Position(line, column))


def make_server() -> LanguageServer:
    server = LanguageServer("cepheid", __version__)

    def opened(uri: str) -> Text:
        return Text(server.workspace.get_text_document(uri))

    def publish(uri: str, version: int | None) -> None:
        text = opened(uri)
        found = [_diagnostic(text, problem) for problem in problems(text.text)]
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        text = opened(params.text_document.uri)
        found = hover_at(text.declared(), text.offset(params.position))
        if found is None:
            return None
        told = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text)
        return lsp.Hover(told, text.range(found.start, found.end))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "["]))
    def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
        text = opened(params.text_document.uri)
        found = completions(text.declared(), text.offset(params.position))
        return lsp.CompletionList(False, [_completion(item) for item in found])

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        text = opened(params.text_document.uri)
        word = definition_at(text.declared(), text.offset(params.position))
        return (
            None if word is None else lsp.Location(params.text_document.uri, text.range(word.start, word.end))
        )

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        text = opened(params.text_document.uri)
        return [_symbol(text, symbol) for symbol in outline(text.declared())]

    return server


def _diagnostic(text: Text, problem: Problem) -> lsp.Diagnostic:
    message = problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}"
    severity = lsp.DiagnosticSeverity.Warning if problem.warning else lsp.DiagnosticSeverity.Error
    return lsp.Diagnostic(
        text.range(problem.start, problem.end), message, severity, problem.code, source="cepheid"
    )


def _completion(item: Item) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        item.label,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=item.told or None,
        insert_text=item.insert,
    )


def _symbol(text: Text, symbol: Symbol) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        symbol.name,
        _SYMBOLS[symbol.kind],
        text.range(symbol.start, symbol.end),
        text.range(symbol.word.start, symbol.word.end),
        children=[_symbol(text, child) for child in symbol.children],
    )


def serve() -> None:
    """Speak the protocol over standard input and output until the editor says goodbye."""
    make_server().start_io()
