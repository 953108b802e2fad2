"""The command line: `cepheid run`, `check`, `explain`, `demo`."""

from cepheid.cli.app import main

__all__ = ["main"]
