"""Pages of long lists, with cursors that survive changes of the list."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, Final

from gateway_project.foundation.user_error import UserError

PAGE_SIZE: Final = 1_000


class InvalidCursor(UserError, ValueError):
    """A cursor was not issued by this gateway."""

    code = "invalid_cursor"

    def __init__(self) -> None:
        super().__init__("the cursor is invalid; list again without it")


def take_page(
    items: Sequence[dict[str, Any]], cursor: str | None, *, key: str, size: int = PAGE_SIZE
) -> tuple[Sequence[dict[str, Any]], str | None]:
    """Return a page and the cursor of the next one; None after the last.

    A cursor holds the key and the position of its page's last item: if the item is gone by then,
    the next page begins at its position.

    Args:
        items: The whole list.
        cursor: None for the first page.
        key: Field that identifies an item.
        size: Items per page.

    Raises:
        InvalidCursor: If the cursor cannot be decoded.

    Example:
        >>> first, cursor = take_page([{"n": "a"}, {"n": "b"}, {"n": "c"}], None, key="n", size=2)
        >>> take_page([{"n": "a"}, {"n": "b"}, {"n": "c"}], cursor, key="n", size=2)
        ([{'n': 'c'}], None)
    """
    start = 0 if cursor is None else _find_start(items, cursor, key)
    end = start + size
    if end >= len(items):
        return (items[start:] if start else items), None
    return items[start:end], _encode_cursor(end, items[end - 1][key])


def _encode_cursor(position: int, last: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([position, last]).encode()).decode()


def _find_start(items: Sequence[dict[str, Any]], cursor: str, key: str) -> int:
    try:
        position, last = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise InvalidCursor from None
    if not isinstance(position, int) or not isinstance(last, str) or position < 1:
        raise InvalidCursor
    if position <= len(items) and items[position - 1][key] == last:
        return position
    for number, item in enumerate(items, start=1):
        if item[key] == last:
            return number
    return position
