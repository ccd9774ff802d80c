"""Seeded dangerous operations; admins can add, change and disable them."""

from __future__ import annotations

from tools.danger import Danger, DangerPattern
from tools.word_lists import load_word_lists


def operations() -> tuple[DangerPattern, ...]:
    """Return the seeded operations, each pattern once."""
    return tuple(
        DangerPattern(pattern=pattern.strip(), danger=Danger(danger), reason=reason.strip())
        for heading, text in load_word_lists("dangerous_operations").items()
        for danger, _, reason in [heading.partition(":")]
        for pattern in text.split(",")
    )
