"""One-line summaries of errors, for log lines and messages."""

from __future__ import annotations


def summarize_error(error: BaseException) -> str:
    r"""Return the first non-empty line of an error's message, or else the name of its class.

    Drivers put hints and positions on the lines after it.

    Example:
        >>> (summarize_error(ValueError("\n no such column\nLINE 1: …")),
        ...  summarize_error(ValueError()))
        ('no such column', 'ValueError')
    """
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
