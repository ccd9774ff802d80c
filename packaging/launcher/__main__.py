"""`python -m foregate`."""

from foregate.cli import main

main()
