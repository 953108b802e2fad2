"""`cepheid lsp`."""

from __future__ import annotations

import click


@click.command()
def lsp() -> None:
    """Serve an editor: mistakes, hints, completions and definitions, over standard input and output."""
    from cepheid.cli.lsp import run_server

    run_server()
