"""Admin pages of runs, to look at; what people decide is registered by the composition root."""

from execution.admin import parts, runs  # noqa: F401 - they register their pages
