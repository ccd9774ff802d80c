"""Adds a server to a client's TOML file or removes it, leaving all other characters unchanged."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def read_servers(text: str, key: str) -> Mapping[str, Any]:
    """Return the servers in a text.

    Raises:
        ValueError: If the text is not TOML or its servers are not a table.
    """
    entries = tomllib.loads(text).get(key, {})
    if not isinstance(entries, dict):
        raise ValueError(f"{key} is not a table")  # noqa: TRY004 - one error type for callers
    return entries


def put_server(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with a server added at its end, or its entry replaced.

    Args:
        text: The file, without byte order mark.
        key: Table that holds the servers.
        name: The server's name.
        entry: What to write for it.

    Raises:
        ValueError: If the text cannot be read or changed safely; the message says why.

    Example:
        >>> print(put_server("model = 'x' # mine", "mcp_servers", "b", {"command": "c"}), end="")
        model = 'x' # mine
        <BLANKLINE>
        [mcp_servers.b]
        command = "c"
    """
    existing = read_servers(text, key)
    rest = remove_server(text, key, name) if name in existing else text
    newline = "\r\n" if "\r\n" in text else "\n"
    between = newline if rest and not rest.endswith("\n") else ""
    between += newline if rest.strip() else ""
    changed = rest + between + write_table(key, name, entry).replace("\n", newline)
    if not _is_expected_change(changed, text, key, {**existing, name: dict(entry)}):
        raise ValueError(f"cannot be changed safely; write {key} as tables, or add it manually")
    return changed


def remove_server(text: str, key: str, name: str) -> str:
    """Return a text without a server.

    Raises:
        ValueError: If the text cannot be read or changed safely, or has no such server.
    """
    existing = read_servers(text, key)
    if name not in existing:
        raise ValueError(f"has no server {name!r}")
    expected = {other: value for other, value in existing.items() if other != name}
    for changed in (_cut_tables(text, key, name), _cut_with_tomlkit(text, key, name)):
        if _is_expected_change(changed, text, key, expected):
            return changed
    raise ValueError("cannot be changed safely; remove the entry manually")


def _cut_tables(text: str, key: str, name: str) -> str:
    """Cut out a server's own tables, line by line; trailing comments belong to what follows."""
    own = re.compile(rf"\s*\[\s*{_make_key_pattern(key)}\s*\.\s*{_make_key_pattern(name)}\s*[.\]]")
    remaining: list[str] = []
    cut: list[str] = []
    cutting = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            remaining += _find_trailing_comments(cut)
            cut, cutting = [], own.match(line) is not None
        (cut if cutting else remaining).append(line)
    rest = _find_trailing_comments(cut)
    if not rest and remaining and not remaining[-1].strip():
        remaining.pop()  # the separating blank line
    return "".join(remaining + rest)


def _find_trailing_comments(cut: list[str]) -> list[str]:
    """Return the trailing blank lines and comments of a piece."""
    for index in range(len(cut) - 1, -1, -1):
        if cut[index].strip() and not cut[index].lstrip().startswith("#"):
            return cut[index + 1 :]
    return cut


def _make_key_pattern(word: str) -> str:
    return f"(?:{re.escape(word)}|{re.escape(_write_value(word))})"


def _cut_with_tomlkit(text: str, key: str, name: str) -> str:
    """Remove a server in any notation; adjacent comments may be lost."""
    try:
        document = tomlkit.parse(text)
        if tomlkit.dumps(document) != text:
            return text
        holder: Any = document[key]
        del holder[name]
        return tomlkit.dumps(document)
    except TOMLKitError:
        return text


def write_table(key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Write a server as a table of its own."""
    lines = [f"[{_write_key(key)}.{_write_key(name)}]"]
    lines += [f"{_write_key(field)} = {_write_value(value)}" for field, value in entry.items()]
    return "\n".join(lines) + "\n"


def _write_key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else _write_value(text)


def _write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_write_key(key)} = {_write_value(item)}" for key, item in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    # Strings, numbers and booleans of JSON are valid TOML, except for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_expected_change(changed: str, text: str, key: str, expected: Mapping[str, Any]) -> bool:
    """Whether only the servers changed, and to what is expected."""
    before = tomllib.loads(text)
    try:
        after = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        return False
    return after.pop(key, {}) == expected and after == {
        other: value for other, value in before.items() if other != key
    }
