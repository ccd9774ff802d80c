"""The console of commands; it reveals hidden characters in text from outside."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console  # noqa: TID251 - the only import of it
from rich.segment import Segment
from rich.text import Text

from tools.hidden_text import reveal_hidden

PIPED_WIDTH: Final = 140
"""Columns without a terminal: wide enough for most tables."""


class Terminal(Console):
    """A console that writes out invisible characters.

    All names and texts of servers pass through here last, in tables and sentences alike.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        # No emoji: a name such as a:eyes:b must stay as it is.
        super().__init__(stderr=stderr, width=width, highlight=False, soft_wrap=True, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Parse markup; revealed characters count when a table is measured."""
        return super().render_str(reveal_hidden(text), **options)

    def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
        """Render like rich, with hidden characters written out."""
        for segment in super().render(*args, **kwargs):
            text, style, control = segment
            yield segment if control else Segment(reveal_hidden(text), style)


def open_terminal(*, stderr: bool = False, piped_width: int = PIPED_WIDTH) -> Terminal:
    """Return a console as wide as the terminal, or of a fixed width without one."""
    stream = sys.stderr if stderr else sys.stdout
    return Terminal(stderr=stderr, width=None if stream.isatty() else piped_width)
