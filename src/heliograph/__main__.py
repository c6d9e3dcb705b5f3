"""`python -m heliograph` is the command line."""

from heliograph.cli.main import main

main()
