"""`python -m cepheid` is the command line."""

from cepheid.cli.app import main

main(prog_name="cepheid")
