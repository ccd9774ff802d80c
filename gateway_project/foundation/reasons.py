"""One-line summaries of errors, for log lines and messages."""

from __future__ import annotations

from typing import Final

MAX_SUMMARY_CHARS: Final = 500
"""Longest summary; PostgreSQL repeats a rejected value in its message, a whole vector too."""


def summarize_error(error: BaseException) -> str:
    r"""Return the first non-empty line of an error's message, or else the name of its class.

    It is cut at `MAX_SUMMARY_CHARS`. Drivers put hints and positions on the lines after it.

    Example:
        >>> (summarize_error(ValueError("\n no such column\nLINE 1: …")),
        ...  summarize_error(ValueError()))
        ('no such column', 'ValueError')
    """
    lines = (line.strip() for line in str(error).splitlines())
    summary = next(filter(None, lines), type(error).__name__)
    return summary if len(summary) <= MAX_SUMMARY_CHARS else f"{summary[:MAX_SUMMARY_CHARS]}…"
