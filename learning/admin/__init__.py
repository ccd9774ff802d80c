"""Admin pages of what is learned."""

from learning.admin import events, experience  # noqa: F401 - registers the pages
