"""Compares two texts word by word, for a person who judges a change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

from gateway_project.foundation import canonical
from tools.definition import Definition

MAX_WORDS: Final = 3_000
"""Words of both texts that are compared one by one; longer texts are compared by line."""
CONTEXT_WORDS: Final = 16
"""Words shown before and after a change; what is unchanged between is left out."""
_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
GAP: Final = " … "


class DiffPart(NamedTuple):
    """A piece of a comparison.

    Attributes:
        kind: `same`, `removed` from the older text, or `added` in the newer one.
        text: The piece.
    """

    kind: Literal["same", "removed", "added"]
    text: str


def diff_words(before: str, after: str) -> tuple[DiffPart, ...]:
    """Return what differs between two texts, in the order of the newer one.

    Example:
        >>> [tuple(part) for part in diff_words("Reads one file.", "Reads any file.")]
        [('same', 'Reads '), ('removed', 'one'), ('added', 'any'), ('same', ' file.')]
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) + len(new) > MAX_WORDS:
        old, new = _LINE.findall(before), _LINE.findall(after)
    if len(old) + len(new) > MAX_WORDS:
        return (DiffPart("removed", before), DiffPart("added", after))
    return tuple(_shorten_unchanged(list(_iterate_parts(old, new))))


def diff_place(before: Definition, after: Definition, pointer: str) -> tuple[DiffPart, ...]:
    """Return how the value at a place differs between two definitions.

    Args:
        before: The older definition.
        after: The newer one.
        pointer: JSON pointer of the place; it may be missing in either.
    """
    return diff_words(_write_place(before, pointer), _write_place(after, pointer))


def _write_place(definition: Definition, pointer: str) -> str:
    try:
        value: Any = canonical.resolve_pointer(definition.as_document(), pointer)
    except canonical.PointerError:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, default=str)


def _iterate_parts(old: list[str], new: list[str]) -> Iterator[DiffPart]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield DiffPart("same", "".join(new[new_start:new_end]))
            continue
        if old_start < old_end:
            yield DiffPart("removed", "".join(old[old_start:old_end]))
        if new_start < new_end:
            yield DiffPart("added", "".join(new[new_start:new_end]))


def _shorten_unchanged(parts: list[DiffPart]) -> Iterator[DiffPart]:
    last = len(parts) - 1
    for place, part in enumerate(parts):
        words = _WORD.findall(part.text)
        keeps_start, keeps_end = place > 0, place < last
        kept = CONTEXT_WORDS * (keeps_start + keeps_end)
        if part.kind != "same" or len(words) <= kept + CONTEXT_WORDS or not kept:
            yield part
            continue
        start = "".join(words[:CONTEXT_WORDS]) if keeps_start else ""
        end = "".join(words[-CONTEXT_WORDS:]) if keeps_end else ""
        yield DiffPart("same", f"{start}{GAP}{end}")
