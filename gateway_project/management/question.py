"""Ask the user at the terminal."""

from __future__ import annotations

import io
import sys
import termios
from contextlib import suppress


def is_terminal() -> bool:
    """Whether a user can be asked: stdin and stderr are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def show_question(text: str) -> None:
    """Print a question, and discard input typed before it."""
    sys.stderr.write(text)
    sys.stderr.flush()
    with suppress(termios.error, io.UnsupportedOperation):  # no terminal, so no buffered input
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def read_answer(text: str) -> str:
    """Ask, and return the line typed in answer; empty at end of input."""
    show_question(text)
    return sys.stdin.readline().strip()


def confirm(text: str) -> bool:
    """Ask, and return whether the answer is yes; anything else counts as no."""
    return read_answer(text).lower() in {"y", "yes"}
