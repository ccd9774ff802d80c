"""Long lists in pages, with cursors that survive a change of the list."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, Final

PAGE: Final = 1_000


class InvalidCursor(ValueError):
    """A cursor that this gateway did not give."""

    code = "invalid_cursor"

    def __init__(self) -> None:
        super().__init__("the cursor is not one that was given; list anew without it")


def page(
    items: Sequence[dict[str, Any]], cursor: str | None, *, key: str, size: int = PAGE
) -> tuple[Sequence[dict[str, Any]], str | None]:
    """Return a page and the cursor of the next; None at the end.

    A cursor names the last item of its page and where that stood: if the item is gone by then,
    the next page begins where it stood.

    Args:
        items: The whole list.
        cursor: None: the first page.
        key: Field that tells the items apart.
        size: Items of a page.

    Raises:
        InvalidCursor: If it cannot be read.

    Example:
        >>> first, cursor = page([{"n": "a"}, {"n": "b"}, {"n": "c"}], None, key="n", size=2)
        >>> page([{"n": "a"}, {"n": "b"}, {"n": "c"}], cursor, key="n", size=2)
        ([{'n': 'c'}], None)
    """
    start = 0 if cursor is None else _after(items, cursor, key)
    end = start + size
    if end >= len(items):
        return (items[start:] if start else items), None
    return items[start:end], _cursor(end, items[end - 1][key])


def _cursor(stood: int, last: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([stood, last]).encode()).decode()


def _after(items: Sequence[dict[str, Any]], cursor: str, key: str) -> int:
    try:
        stood, last = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise InvalidCursor from None
    if not isinstance(stood, int) or not isinstance(last, str) or stood < 1:
        raise InvalidCursor
    if stood <= len(items) and items[stood - 1][key] == last:
        return stood
    for number, item in enumerate(items, start=1):
        if item[key] == last:
            return number
    return stood
