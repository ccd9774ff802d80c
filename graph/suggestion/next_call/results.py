"""Read the values in a result, with the place where each was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graph.suggestion.next_call.shapes import make_value_key

MAX_LEAVES = 300
"""Values of one result that are read."""
MAX_VISITED = 2_000
MAX_DEPTH = 8
MIN_ALIKE = 3
"""Keys from which an object of objects with the same fields counts as a map."""
MAX_TOKENS = 12
"""Ids that are read out of one text."""

_FIELD: Final = re.compile(
    r"[A-Za-z_$][A-Za-z_$\-]{0,40}\d?|@(?:id|type|value|context|graph|language)"
)
"""Names of fields as programs write them. Others are data: `Ann Lee` and `@ann` are people."""
_TOKEN: Final = re.compile(r"[#@]?[A-Za-z0-9][\w.@/\-]*[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value in a result.

    Attributes:
        path: Where it is, with `*` for the items of lists and `{key}` for keys that are data.
        items: Position in each list or map on the way.
        value: The value.
    """

    path: str
    items: tuple[int, ...]
    value: Any


def read_leaves(result: Any) -> list[Leaf]:
    """Return the values of a result, in its order; at most `MAX_LEAVES`.

    A list of scalars is a value itself, beside its items.

    Example:
        >>> [(leaf.path, leaf.items, leaf.value) for leaf in read_leaves({"ids": [7]})]
        [('/ids', (), [7]), ('/ids/*', (0,), 7)]
    """
    leaves: list[Leaf] = []
    for visited, leaf in enumerate(_iterate_leaves(result, "", (), 0)):
        if visited >= MAX_VISITED or len(leaves) >= MAX_LEAVES:
            break
        if make_value_key(leaf.value) is not None:
            leaves.append(leaf)
    return leaves


def _iterate_leaves(value: Any, path: str, items: tuple[int, ...], depth: int) -> Iterator[Leaf]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from _iterate_object(value, path, items, depth)
    elif isinstance(value, list):
        yield Leaf(path, items, value)
        for index, item in enumerate(value):
            yield from _iterate_leaves(item, f"{path}/*", (*items, index), depth + 1)
    else:
        yield Leaf(path, items, value)
        if isinstance(value, str) and " " in value:
            yield from _iterate_tokens(value, path, items)


def _iterate_object(
    value: Mapping[str, Any], path: str, items: tuple[int, ...], depth: int
) -> Iterator[Leaf]:
    is_map = _is_map(value)
    for index, (key, field) in enumerate(value.items()):
        if is_map or not _FIELD.fullmatch(key):
            yield Leaf(f"{path}/{{key}}!", (*items, index), key)
            yield from _iterate_leaves(field, f"{path}/{{key}}", (*items, index), depth + 1)
        else:
            yield from _iterate_leaves(field, f"{path}/{key}", items, depth + 1)


def _is_map(value: Mapping[str, Any]) -> bool:
    """Return whether an object has ids for keys: its values are objects of one form."""
    fields: Sequence[Any] = list(value.values())
    if len(fields) < MIN_ALIKE:
        return False
    if all(isinstance(field, Mapping) for field in fields):
        return len({frozenset(field) for field in fields}) == 1
    return all(isinstance(f, str) and f.isdigit() and len(f) > 4 for f in fields)


def _iterate_tokens(text: str, path: str, items: tuple[int, ...]) -> Iterator[Leaf]:
    """Yield what looks like an id in a text."""
    found = 0
    for match in _TOKEN.finditer(text[:2_000]):
        token = match.group()
        if any(character.isdigit() or character in "_." for character in token):
            yield Leaf(f"{path}~", (*items, found), token)
            found += 1
            if found == MAX_TOKENS:
                return
