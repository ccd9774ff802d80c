"""Read-only admin pages of runs; the composition root adds pages for decisions."""

from execution.admin import parts, runs  # noqa: F401 - they register their pages
