"""Maps names of types as servers write them to the types of JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

_SPELLINGS: Final = {
    "object": ("dict", "dictionary", "map", "mapping", "hash", "json", "jsonobject", "struct"),
    "array": ("list", "tuple", "set", "sequence", "arr", "vector", "frozenset", "iterable"),
    "string": ("str", "text", "char", "varchar", "path", "file", "filepath", "bytes", "base64"),
    "number": ("float", "double", "decimal", "num", "real", "float32", "float64"),
    "integer": ("int", "long", "short", "int32", "int64", "uint", "uint32", "uint64", "bigint"),
    "boolean": ("bool",),
    "null": ("none", "nil", "nonetype", "void", "undefined"),
}
_NAMES: Final[Mapping[str, str]] = {
    **{name: name for name in TYPES},
    **{name: target for target, names in _SPELLINGS.items() for name in names},
}
_PLAIN_FORMATS: Final = ("date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
_FORMATS: Final[Mapping[str, str]] = {
    **{name: name for name in (*_PLAIN_FORMATS, "date-time", "uri", "uri-reference")},
    "datetime": "date-time",
    "timestamp": "date-time",
    "url": "uri",
}
_HEAD: Final = re.compile(r"[a-z][a-z0-9_-]*")


class TypeName(NamedTuple):
    """The meaning of a type name.

    Attributes:
        types: Types of JSON Schema, in the order named; empty if anything is accepted.
        format: Format it implies, empty if none.
    """

    types: tuple[str, ...] = ()
    format: str = ""


def read_type_name(name: object) -> TypeName:
    """Interpret a type name: JSON's, a programming language's, a format, or a union of these.

    Example:
        >>> (read_type_name("Dict[str, Any]").types, read_type_name("Optional[int]").types,
        ...  read_type_name("url").format)
        (('object',), ('integer', 'null'), 'uri')
        >>> read_type_name("zonk")
        TypeName(types=(), format='')
    """
    if name is None:
        return TypeName(types=("null",))
    if not isinstance(name, str):
        return TypeName()
    if name in TYPES:
        return TypeName(types=(name,))
    text = name.strip().lower().removeprefix("typing.")
    parts = _split_union(text)
    return (
        _read_single(text)
        if parts is None
        else _join_union([_read_single(part) for part in parts])
    )


def _split_union(text: str) -> list[str] | None:
    """Split Optional[x], Union[x, y] and x | y; None if the text is not a union."""
    if text.startswith("optional["):
        return [text.removeprefix("optional[").removesuffix("]"), "null"]
    if text.startswith("union["):
        return re.split(r",(?![^\[]*\])", text.removeprefix("union[").removesuffix("]"))
    return text.split("|") if "|" in text else None


def _read_single(text: str) -> TypeName:
    head = _HEAD.match(text.strip())
    word = head.group() if head else ""
    if word in _FORMATS:
        return TypeName(types=("string",), format=_FORMATS[word])
    if word in _NAMES:
        return TypeName(types=(_NAMES[word],))
    return TypeName()


def _join_union(parts: list[TypeName]) -> TypeName:
    if not all(part.types for part in parts):
        return TypeName()
    types = dict.fromkeys(name for part in parts for name in part.types)
    formats = {part.format for part in parts if part.types == ("string",)}
    return TypeName(types=tuple(types), format=formats.pop() if len(formats) == 1 else "")
