"""Puts a server into a client's TOML file and takes it out, all other characters untouched."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def servers(text: str, key: str) -> Mapping[str, Any]:
    """Return the servers that stand in a text.

    Raises:
        ValueError: If it is no TOML, or its servers are no table.
    """
    found = tomllib.loads(text).get(key, {})
    if not isinstance(found, dict):
        raise ValueError(f"{key} is no table")  # noqa: TRY004 - one kind for the caller
    return found


def put(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with a server added at its end, or its entry replaced.

    Args:
        text: The file, without byte order mark.
        key: Table that holds the servers.
        name: The server's name.
        entry: What to write for it.

    Raises:
        ValueError: If the text cannot be read or changed safely; says why.

    Example:
        >>> print(put("model = 'x' # mine", "mcp_servers", "b", {"command": "c"}), end="")
        model = 'x' # mine
        <BLANKLINE>
        [mcp_servers.b]
        command = "c"
    """
    standing = servers(text, key)
    rest = take(text, key, name) if name in standing else text
    newline = "\r\n" if "\r\n" in text else "\n"
    between = newline if rest and not rest.endswith("\n") else ""
    between += newline if rest.strip() else ""
    changed = rest + between + block(key, name, entry).replace("\n", newline)
    if not _holds(changed, text, key, {**standing, name: dict(entry)}):
        raise ValueError(f"cannot be changed safely; write {key} as tables, or add it by hand")
    return changed


def take(text: str, key: str, name: str) -> str:
    """Return a text without a server.

    Raises:
        ValueError: If the text cannot be read or changed safely, or has no such server.
    """
    standing = servers(text, key)
    if name not in standing:
        raise ValueError(f"has no server {name!r}")
    expected = {other: value for other, value in standing.items() if other != name}
    for changed in (_without_tables(text, key, name), _without(text, key, name)):
        if _holds(changed, text, key, expected):
            return changed
    raise ValueError("cannot be changed safely; remove the entry by hand")


def _without_tables(text: str, key: str, name: str) -> str:
    """Cut out a server's own tables, line by line; comments behind them belong to what follows."""
    own = re.compile(rf"\s*\[\s*{_pattern(key)}\s*\.\s*{_pattern(name)}\s*[.\]]")
    kept: list[str] = []
    cut: list[str] = []
    cutting = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            kept += _loose_end(cut)
            cut, cutting = [], own.match(line) is not None
        (cut if cutting else kept).append(line)
    rest = _loose_end(cut)
    if not rest and kept and not kept[-1].strip():
        kept.pop()  # the line that stood between
    return "".join(kept + rest)


def _loose_end(cut: list[str]) -> list[str]:
    """Return the blank lines and comments that a piece ends with."""
    for index in range(len(cut) - 1, -1, -1):
        if cut[index].strip() and not cut[index].lstrip().startswith("#"):
            return cut[index + 1 :]
    return cut


def _pattern(word: str) -> str:
    return f"(?:{re.escape(word)}|{re.escape(_value(word))})"


def _without(text: str, key: str, name: str) -> str:
    """Take a server out wherever it stands; comments beside it may go along."""
    try:
        document = tomlkit.parse(text)
        if tomlkit.dumps(document) != text:
            return text
        holder: Any = document[key]
        del holder[name]
        return tomlkit.dumps(document)
    except TOMLKitError:
        return text


def block(key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Write a server as a table of its own."""
    lines = [f"[{_key(key)}.{_key(name)}]"]
    lines += [f"{_key(field)} = {_value(value)}" for field, value in entry.items()]
    return "\n".join(lines) + "\n"


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _value(text)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # JSON's texts, numbers and booleans are TOML's too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _holds(changed: str, text: str, key: str, expected: Mapping[str, Any]) -> bool:
    """Whether a change left everything as it was but the servers, which are as expected."""
    before = tomllib.loads(text)
    try:
        after = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        return False
    return after.pop(key, {}) == expected and after == {
        other: value for other, value in before.items() if other != key
    }
