"""Questions to whoever sits at the terminal."""

from __future__ import annotations

import io
import sys
import termios
from contextlib import suppress


def at_terminal() -> bool:
    """Whether somebody can be asked: a pipe is nobody."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(text: str) -> None:
    """Show a question; what was typed before is no answer to it, and is dropped."""
    sys.stderr.write(text)
    sys.stderr.flush()
    with suppress(termios.error, io.UnsupportedOperation):  # no terminal keeps nothing
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def answer(text: str) -> str:
    """Ask, and return the line that is typed then; empty if nobody types one."""
    ask(text)
    return sys.stdin.readline().strip()


def agreed(text: str) -> bool:
    """Ask, and say whether the answer is yes; anything else is no."""
    return answer(text).lower() in {"y", "yes"}
