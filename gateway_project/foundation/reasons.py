"""What an error says, short enough for a log line or for somebody's eyes."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error that says anything, or else what kind it is of.

    Drivers put hints and positions on the lines after it.

    Example:
        >>> first_line(ValueError("\n no such column\nLINE 1: …")), first_line(ValueError())
        ('no such column', 'ValueError')
    """
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
