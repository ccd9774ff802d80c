"""Sections of a configuration document: what an entry of each may hold, and what reads it.

No message repeats a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from execution.speculation.limits import MAX_CALLS_PER_MINUTE
from gateway_project.foundation.endpoint import GROUP_NAME_PATTERN
from gateway_project.webhook_events import SELECTABLE_EVENTS
from graph.relations import RelationKind
from tools import ids
from tools.danger import Danger

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


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of an entry.

    Attributes:
        read: Reads it.
        default: Its value if it is missing; `REQUIRED`: it must be there.
        refers_to: Section that has an entry of this name; empty: it is no name.
    """

    read: Reader
    default: Any = None
    refers_to: str = ""


REQUIRED: Final = object()


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the document.

    Attributes:
        word: What its entries are called.
        fields: Fields by name.
        name: Reads the name of an entry of an object; unused in lists.
        key: Fields that identify an entry of a list, which are read likewise; empty: the section
            is an object of entries by name.
        names: Section that has an entry of each name of an object; empty: the names are its own.
    """

    word: str
    fields: Mapping[str, Field]
    name: Reader = field(default_factory=lambda: text(100, required=True))
    key: Mapping[str, Field] = field(default_factory=dict)
    names: str = ""


_CLASSES: Final = tuple(level.value for level in Danger)
_TEXT: Final = text()
_NO: Final = Field(read=flag, default=False)
_YES: Final = Field(read=flag, default=True)
_EMPTY: Final = Field(read=_TEXT, default="")
_SECONDS: Final = Field(read=nullable(number(0, 1e6, above=True)))
_TEAM: Final = Field(read=nullable(text(100, required=True)), refers_to="teams")

SECTIONS: Final[Mapping[str, Section]] = {
    "teams": Section(
        word="team",
        fields={
            "approve_from": Field(
                read=choice(*reversed(_CLASSES)), default=Danger.DANGEROUS.value
            ),
            "requires_second_person": _NO,
        },
    ),
    "categories": Section(word="category", fields={"description": _EMPTY}),
    "servers": Section(
        word="server",
        name=server_name,
        fields={
            "transport": Field(read=choice("stdio", "http", "sse"), default="stdio"),
            "command": _EMPTY,
            "args": Field(read=text_list, default=[]),
            "cwd": _EMPTY,
            "url": _EMPTY,
            "env": Field(read=secret_texts, default={}),
            "headers": Field(read=secret_texts, default={}),
            "private_network": _NO,
            "authorization": Field(read=choice("none", "oauth", "oauth_per_user"), default="none"),
            "oauth_client_id": _EMPTY,
            "oauth_client_secret": Field(read=seal_or_text, default=""),
            "oauth_scopes": _EMPTY,
            "session": Field(read=choice("shared", "per_caller"), default="shared"),
            "idle_stop_s": Field(read=nullable(number(0, 1e6))),
            "connect_timeout_s": _SECONDS,
            "call_timeout_s": _SECONDS,
            "include_tools": Field(read=nullable(text_list)),
            "exclude_tools": Field(read=text_list, default=[]),
            "enabled": _YES,
            "trusted": _NO,
            "unprefixed": _NO,
            "price_per_call": Field(read=nullable(price(12, 6))),
            "team": _TEAM,
            "description": _EMPTY,
        },
    ),
    "tools": Section(
        word="tool",
        name=tool_id,
        fields={
            "enabled": _YES,
            "pinned": _NO,
            "category": Field(read=nullable(text(100, required=True)), refers_to="categories"),
            "danger": Field(read=choice("", *_CLASSES), default=""),
            "approval": Field(read=choice("", "always", "never"), default=""),
            "repeatable": Field(read=nullable(flag)),
        },
    ),
    "tool_groups": Section(
        word="tool group",
        name=group_name,
        fields={
            "team": _TEAM,
            "description": Field(read=text(500), default=""),
            "servers": Field(read=set_of(server_name), default=[]),
            "categories": Field(read=name_set, default=[]),
            "tools": Field(read=set_of(tool_id), default=[]),
        },
    ),
    "webhooks": Section(
        word="webhook",
        fields={
            "team": _TEAM,
            "url": Field(read=text(2_000, required=True), default=REQUIRED),
            "events": Field(
                read=set_of(choice(*(event.value for event in SELECTABLE_EVENTS))),
                default=REQUIRED,
            ),
            "enabled": _YES,
        },
    ),
    "dangerous_operations": Section(
        word="dangerous operation",
        fields={
            "danger": Field(read=choice(*_CLASSES[1:]), default=Danger.DANGEROUS.value),
            "reason": _EMPTY,
            "enabled": _YES,
        },
    ),
    "relations": Section(
        word="relation",
        key={
            "source": Field(read=tool_id, default=REQUIRED),
            "kind": Field(read=choice(*(kind.value for kind in RelationKind)), default=REQUIRED),
            "target": Field(read=tool_id, default=REQUIRED),
        },
        fields={
            "required": _YES,
            "rejected": _NO,
            "confidence": Field(read=number(0, 1), default=1.0),
            "reason": _EMPTY,
            "version": Field(read=text(100), default=""),
            "deprecated_at": Field(read=nullable(day)),
            "fields": Field(read=data_flows, default=[]),
        },
    ),
    "budgets": Section(
        word="budget of",
        name=server_name,
        names="servers",
        fields={
            "waste": Field(read=number(0, 1), default=REQUIRED),
            "calls_per_minute": Field(
                read=whole_number(0, MAX_CALLS_PER_MINUTE), default=REQUIRED
            ),
            "dollars_per_day": Field(read=price(10, 4), default=REQUIRED),
        },
    ),
    "users": Section(
        word="user",
        name=text(150, required=True),
        fields={"roles": Field(read=name_set, default=REQUIRED)},
    ),
    "grants": Section(
        word="grant",
        key={
            "tool": Field(read=tool_id, default=REQUIRED),
            "team": Field(read=text(100), default="", refers_to="teams"),
        },
        fields={
            "definition": Field(read=definition_hash, default=REQUIRED),
            "closed_world": _NO,
            "note": Field(read=text(1_000), default=""),
        },
    ),
}
"""Sections in the order in which they are written and applied."""
