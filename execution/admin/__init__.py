"""Read-only admin pages of runs; the composition root adds pages for decisions."""

from execution.admin import budgets, parts, runs, speculations  # noqa: F401 - pages
