"""Readers of single values of a configuration document; none repeats the value in its message."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from gateway_project.foundation.endpoint import GROUP_NAME_PATTERN
from tools import ids

MAX_TEXT: Final = 1_000_000
MAX_ITEMS: Final = 10_000
"""Items of a list or an object within an entry."""
KEPT: Final[Mapping[str, str]] = {"sealed": "kept"}
"""In place of a secret: what is stored stays."""

Reader = Callable[[Any], Any]
"""Returns a value in its canonical form; raises `Unfit`."""

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HASH: Final = re.compile("[0-9a-f]{64}")


class Unfit(ValueError):
    """A value that does not fit; the message says what does, without repeating the value.

    Attributes:
        path: JSON Pointer from the value to what does not fit; empty: the value itself.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


def escape_step(step: str | int) -> str:
    """Return a step of a JSON Pointer.

    Example:
        >>> escape_step("a/b~c")
        '/a~1b~0c'

    References:
        RFC 6901, JavaScript Object Notation (JSON) Pointer.
    """
    return "/" + str(step).replace("~", "~0").replace("/", "~1")


def flag(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Unfit("must be true or false")
    return value


def text(longest: int = MAX_TEXT, *, required: bool = False) -> Reader:
    """Return a reader of texts."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise Unfit("must be a string")
        if len(value) > longest:
            raise Unfit(f"must have at most {longest:,} characters")
        if _UNSTORABLE.search(value):
            raise Unfit("has a character that cannot be stored (NUL or an unpaired surrogate)")
        if required and not value.strip():
            raise Unfit("must not be empty")
        return value

    return read


def nullable(read: Reader) -> Reader:
    """Return a reader that takes null too."""
    return lambda value: None if value is None else read(value)


def choice(*known: str) -> Reader:
    """Return a reader of one of a few words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise Unfit(f"must be one of {', '.join(word or '(empty)' for word in known)}")
        return value

    return read


def number(lowest: float, highest: float, *, above: bool = False) -> Reader:
    """Return a reader of numbers within bounds; `above` leaves out the lowest."""

    def read(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not lowest <= value <= highest or (above and value == lowest):
            raise Unfit(
                f"must be a number {'above' if above else 'from'} {lowest:g} to {highest:g}"
            )
        return int(value) if value == int(value) else float(value)

    return read


def whole_number(lowest: int, highest: int) -> Reader:
    """Return a reader of integers within bounds."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unfit("must be a whole number")
        if not lowest <= value <= highest:
            raise Unfit(f"must be from {lowest:,} to {highest:,}")
        return value

    return read


def price(digits: int, places: int) -> Reader:
    """Return a reader of US dollars, a string or a number; the canonical form is a string.

    Example:
        >>> price(12, 6)("0.0100"), price(12, 6)(2)
        ('0.01', '2')
    """
    limit = 10 ** (digits - places)

    def read(value: Any) -> str:
        problem = Unfit(f"must be US dollars below {limit:,} with at most {places} decimals")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number and not (isinstance(value, str) and len(value) <= digits + places):
            raise problem
        if is_number and not 0 <= value < limit:
            raise problem
        try:
            dollars = Decimal(repr(value) if is_number else value)
        except InvalidOperation:
            raise problem from None
        if not dollars.is_finite() or not 0 <= dollars < limit:
            raise problem
        if dollars != round(dollars, places):
            raise problem
        canonical = format(dollars, "f")
        canonical = canonical.rstrip("0").rstrip(".") if "." in canonical else canonical
        return canonical.removeprefix("-") or "0"

    return read


def text_list(value: Any) -> list[str]:
    """Read a list of texts."""
    read = text()
    return [_read_at(read, item, position) for position, item in enumerate(_list(value))]


def seal_or_text(value: Any) -> Any:
    """Read a secret: a text, `${NAME}` in it included, or `KEPT`."""
    if isinstance(value, dict):
        if value != KEPT:
            raise Unfit('must be a string, or {"sealed": "kept"} to keep what is stored')
        return dict(KEPT)
    return text()(value)


def secret_texts(value: Any) -> dict[str, Any]:
    """Read an object of secrets by name."""
    if not isinstance(value, dict):
        raise Unfit("must be an object")
    if len(value) > MAX_ITEMS:
        raise Unfit(f"must have at most {MAX_ITEMS:,} names")
    read_name = text(1_000, required=True)
    read: dict[str, Any] = {}
    for name in value:
        if "=" in _read_at(read_name, name, name):
            raise Unfit("a name must not contain an equals sign", escape_step(name))
        read[name] = _read_at(seal_or_text, value[name], name)
    return dict(sorted(read.items()))


def day(value: Any) -> str:
    """Read a date such as 2026-11-24."""
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise Unfit("must be a date such as 2026-11-24") from None


def definition_hash(value: Any) -> str:
    """Read the hash of a definition."""
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise Unfit("must be the hash of a definition, 64 hexadecimal digits")
    return value


def set_of(read: Reader) -> Reader:
    """Return a reader of lists whose order does not matter; the canonical one is sorted."""

    def read_set(value: Any) -> list[str]:
        items = enumerate(_list(value))
        return sorted({_read_at(read, item, position) for position, item in items})

    return read_set


def name_set(value: Any) -> list[str]:
    """Read a list of names whose order does not matter."""
    names: list[str] = set_of(text(100, required=True))(value)
    return names


def group_name(value: Any) -> str:
    """Read the name of a tool group."""
    if not isinstance(value, str) or not re.fullmatch(GROUP_NAME_PATTERN, value):
        raise Unfit("must be lower-case letters, digits, hyphens and underscores, 64 at most")
    return value


def data_flows(value: Any) -> list[dict[str, str]]:
    """Read which output feeds which input, each as JSON Pointers."""
    flows = []
    for position, item in enumerate(_list(value)):
        step = escape_step(position)
        if not isinstance(item, dict) or not item:
            raise Unfit("must be an object with input, and output if it is known", step)
        if unknown := closed(item, ("input", "output")):
            raise Unfit("unknown; there are input and output", step + escape_step(unknown[0]))
        flow = {}
        for name in sorted(item):
            try:
                flow[name] = text(2_000)(item[name])
            except Unfit as error:
                raise Unfit(str(error), step + escape_step(name)) from None
        flows.append(flow)
    return flows


def server_name(value: Any) -> str:
    """Read the name of a server."""
    name: str = text(100, required=True)(value)
    if ids.SEPARATOR in name or _CONTROL.search(name) or name != name.strip():
        raise Unfit("the name of a server has no colon, control character or outer space")
    return name


def tool_id(value: Any) -> str:
    """Read the id of a tool."""
    name: str = text(10_000, required=True)(value)
    try:
        ids.split_id(name)
    except ids.MalformedToolId:
        raise Unfit("must be the id of a tool, server:tool") from None
    return name


def closed(value: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Return the names that are not known, in order."""
    return [name for name in value if name not in known]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unfit("must be a list")
    if len(value) > MAX_ITEMS:
        raise Unfit(f"must have at most {MAX_ITEMS:,} items")
    return value


def _read_at(read: Reader, value: Any, step: str | int) -> Any:
    try:
        return read(value)
    except Unfit as error:
        raise Unfit(str(error), escape_step(step) + error.path) from None
