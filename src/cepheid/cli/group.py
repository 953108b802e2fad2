"""The group of all commands: what is said when one of them fails."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from typing import Any

import click

from cepheid.errors import CepheidError


class Commands(click.Group):
    """Says what went wrong in one message. Exits with 1 for a user's mistake, 130 after Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)
        except BrokenPipeError:  # a reader such as `head` has seen enough
            _close_stdout()
            ctx.exit(0)
        except CepheidError as mistake:
            if ctx.params.get("debug"):
                traceback.print_exc()
            click.echo(f"error: {mistake}", err=True)
            ctx.exit(1)
        except Exception as surprise:
            if ctx.params.get("debug"):
                traceback.print_exc()
            click.echo(_surprised(surprise), err=True)
            ctx.exit(1)


def _surprised(surprise: Exception) -> str:
    if isinstance(surprise, OSError):
        return f"error: {surprise}"
    return (
        f"error: this should not have happened ({type(surprise).__name__}: {surprise}). "
        f"Please report it with the output of `cepheid --debug ...`"
    )


def _close_stdout() -> None:
    """So that Python does not complain once more when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
