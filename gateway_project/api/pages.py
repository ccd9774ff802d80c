"""Pages of lists: by key, so that a page costs the same wherever it is."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, time, timedelta
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_date, parse_datetime
from rest_framework.request import Request

from gateway_project.api.problems import InvalidInput

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200
MAX_CURSOR_CHARS: Final = 1_000
MAX_DIGITS: Final = 6
"""Of a number in an address."""

T = TypeVar("T")
AnyRequest = HttpRequest | Request
"""Of a room, or of the API."""


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """Which page of a list is asked for.

    Attributes:
        limit: Maximum number of items.
        after: Key of the last item of the page before; empty: the first page.
    """

    limit: int
    after: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list.

    Attributes:
        items: In the list's order.
        next_key: Key from which the next page begins; None: this is the last.
    """

    items: Sequence[T]
    next_key: tuple[Any, ...] | None = None

    @property
    def next_cursor(self) -> str:
        """Cursor of the next page; empty: this is the last."""
        return encode_cursor(self.next_key) if self.next_key else ""

    def as_json(self, request: AnyRequest, make_item: Callable[[T], Any]) -> dict[str, Any]:
        """Return the body of the response, with the address of the next page."""
        return {
            "items": [make_item(item) for item in self.items],
            "next": _build_next_url(request, self.next_key) if self.next_key else None,
        }


def read_page_request(request: AnyRequest, *, key: Sequence[type] = (int,)) -> PageRequest:
    """Read `limit` and `cursor` of a request.

    Args:
        request: To read.
        key: Types of the parts of an item's key.

    Raises:
        InvalidInput: If one of them is invalid.
    """
    limit = read_number(request.GET, "limit", default=DEFAULT_LIMIT, most=MAX_LIMIT)
    cursor = request.GET.get("cursor", "")
    return PageRequest(limit=limit, after=_read_cursor(cursor, key) if cursor else ())


def read_number(given: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    """Read a whole number of an address, from 1 on.

    Raises:
        InvalidInput: If it is none.
    """
    text = given.get(name, str(default))
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else 0
    if not 1 <= number <= most:
        raise InvalidInput(f"{name}: a whole number from 1 to {most}")
    return number


def read_choice(
    given: Mapping[str, str], name: str, choices: Collection[str], *, default: str = ""
) -> str:
    """Read a word of an address that is the default or one of a few.

    Raises:
        InvalidInput: If it is another.
    """
    text = given.get(name, default)
    if text != default and text not in choices:
        raise InvalidInput(f"{name}: one of {', '.join(choices)}")
    return text


def read_flag(given: Mapping[str, str], name: str) -> bool | None:
    """Read a flag of an address; None: it is absent.

    Raises:
        InvalidInput: If it is another word.
    """
    text = given.get(name)
    if text not in (None, "true", "false"):
        raise InvalidInput(f"{name}: true or false")
    return None if text is None else text == "true"


def paginate_rows(
    request: AnyRequest, rows: QuerySet[Any], *, field: str = "pk", descending: bool = True
) -> Page[Any]:
    """Return a page of rows ordered by a unique field, newest first by default.

    Args:
        request: With `limit` and `cursor`.
        rows: Filtered rows; their order is replaced.
        field: A unique column of numbers or texts.
        descending: Whether the largest comes first.
    """
    column = rows.model._meta.pk if field == "pk" else rows.model._meta.get_field(field)
    kind = (
        int
        if "Integer" in column.get_internal_type() or "Auto" in column.get_internal_type()
        else str
    )
    wanted = read_page_request(request, key=(kind,))
    if wanted.after:
        comparison = "lt" if descending else "gt"
        rows = rows.filter(Q(**{f"{field}__{comparison}": wanted.after[0]}))
    found = list(rows.order_by(f"-{field}" if descending else field)[: wanted.limit + 1])
    return cut_page(found, wanted, key=lambda row: (_plain(getattr(row, field)),))


def paginate_sorted(
    request: AnyRequest, items: Iterable[T], *, key: Callable[[T], tuple[Any, ...]]
) -> Page[T]:
    """Return a page of items in memory, which are sorted by their unique keys of texts.

    Items are taken only as far as the page needs.
    """
    wanted = read_page_request(request, key=(str,))
    rest = (item for item in items if key(item) > wanted.after)
    return cut_page(list(islice(rest, wanted.limit + 1)), wanted, key=key)


def cut_page(
    found: Sequence[T], wanted: PageRequest, *, key: Callable[[T], tuple[Any, ...]]
) -> Page[T]:
    """Return a page of what was found for it: up to one item more than its limit."""
    items = found[: wanted.limit]
    return Page(items=items, next_key=key(items[-1]) if len(found) > wanted.limit else None)


def make_page_schema(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a page of such items."""
    return {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": item},
            "next": {
                "type": ["string", "null"],
                "format": "uri",
                "description": "Address of the next page; null: this is the last",
            },
        },
        "required": ["items", "next"],
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)


def encode_cursor(key: tuple[Any, ...]) -> str:
    """Return the cursor of the page that begins after an item."""
    content = json.dumps(key, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _build_next_url(request: AnyRequest, key: tuple[Any, ...]) -> str:
    query = request.GET.copy()
    query["cursor"] = encode_cursor(key)
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def _read_cursor(cursor: str, kinds: Sequence[type]) -> tuple[Any, ...]:
    error = InvalidInput("cursor: not one of this list; begin again without it")
    if len(cursor) > MAX_CURSOR_CHARS:
        raise error
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        key = json.loads(base64.b64decode(padded.encode(), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise error from None
    if not isinstance(key, list) or len(key) != len(kinds):
        raise error
    if any(type(part) is not kind for part, kind in zip(key, kinds, strict=True)):
        raise error
    return tuple(key)


def read_time(given: Mapping[str, str], name: str, *, is_end: bool = False) -> datetime | None:
    """Read a time of an address; None: it is absent or empty.

    Args:
        given: The address's parameters.
        name: The parameter: a time with its zone, or a day of UTC.
        is_end: Whether a day stands for its end instead of its beginning.

    Raises:
        InvalidInput: If it is neither.
    """
    text = given.get(name, "")
    if not text:
        return None
    try:
        day = parse_date(text)
        moment = parse_datetime(text) if day is None else None
        if day is not None:
            moment = datetime.combine(day + timedelta(days=is_end), time.min, UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment.tzinfo is None or not MINYEAR < moment.year < MAXYEAR:
        raise InvalidInput(f"{name}: a day, or a time with its zone: 2026-11-01T00:00:00Z")
    return moment
