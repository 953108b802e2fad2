"""`cepheid`: the program and its commands."""

from __future__ import annotations

import click

from cepheid import __version__
from cepheid.cli.commands.check import check, explain
from cepheid.cli.commands.demo import demo
from cepheid.cli.commands.forecast import forecast_report, forecast_train
from cepheid.cli.commands.graph import graph_
from cepheid.cli.commands.inquire import debug_, why_not_
from cepheid.cli.commands.lsp import lsp
from cepheid.cli.commands.report import report_
from cepheid.cli.commands.rules import rules_
from cepheid.cli.commands.run import run
from cepheid.cli.commands.sql import sql_
from cepheid.cli.commands.watch import watch_
from cepheid.cli.group import Commands
from cepheid.cli.sigma import sigma

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
COMMANDS = (
    run,
    check,
    explain,
    why_not_,
    debug_,
    report_,
    watch_,
    sql_,
    forecast_train,
    forecast_report,
    graph_,
    rules_,
    demo,
    sigma,
    lsp,
)


@click.group(cls=Commands, context_settings=HELP)
@click.version_option(__version__, "--version", prog_name="cepheid")
@click.option("--debug", is_flag=True, envvar="CEPHEID_DEBUG", help="Show where an error comes from.")
def main(debug: bool) -> None:
    """Find patterns in events: sequences, repetitions, things that did not happen in time."""


for command in COMMANDS:
    main.add_command(command)
