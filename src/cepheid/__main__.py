"""`python -m cepheid`: the command line."""

from cepheid.cli import main

main()
