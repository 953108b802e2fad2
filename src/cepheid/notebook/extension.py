"""`%load_ext cepheid`: the cell magic `%%cepheid`."""

from __future__ import annotations

from typing import Any

from cepheid.engines.shown_table import ShownTable
from cepheid.errors import CepheidError
from cepheid.notebook.cell import run_cell
from cepheid.notebook.options import read_options


def load_ipython_extension(shell: Any) -> None:
    """For IPython and Jupyter: the cell magic `%%cepheid`, and results that show themselves.

    Args:
        shell: The shell that loads it. `%load_ext cepheid` calls this.
    """

    def cepheid(line: str, cell: str) -> None:
        _run(shell, line, cell)

    shell.register_magic_function(cepheid, magic_kind="cell", magic_name="cepheid")


def _run(shell: Any, line: str, cell: str) -> None:
    from IPython.display import display

    try:
        options = read_options(line)
        answer = run_cell(options, cell, shell.user_ns)
        shown = ShownTable.of(answer, options.limit)
    except CepheidError as mistake:
        raise _without_stack(mistake, str(mistake)) from None
    except Exception as problem:
        if not type(problem).__module__.startswith("pyspark."):
            raise
        raise _without_stack(problem, str(problem).split("\n\nJVM stacktrace")[0]) from None
    if options.output:
        shell.push({options.output: answer})
    if shown is not None:
        display(shown)  # type: ignore[no-untyped-call, unused-ignore]


def _without_stack(problem: Exception, said: str) -> Exception:
    """IPython asks an error how it wants to be shown."""
    problem._render_traceback_ = lambda: said.split("\n")  # type: ignore[attr-defined]
    return problem
