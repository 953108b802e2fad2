"""The command line."""

from cepheid.cli.app import main

__all__ = ["main"]
