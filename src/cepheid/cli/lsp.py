"""`cepheid lsp`: the language server that editors start."""

from __future__ import annotations

from importlib.util import find_spec

from cepheid.errors import SetupMistake


def run_server() -> None:
    if find_spec("pygls") is None:
        raise SetupMistake(
            "the language server speaks through pygls, which is not installed",
            code="no_pygls",
            hint="pip install 'cepheid[lsp]'",
        )
    from cepheid.editor.server import serve

    serve()
