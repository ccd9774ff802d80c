"""Adds a server to a client's YAML file or removes it, leaving all other characters unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from yaml import CollectionNode, MappingNode, Node

from gateway_project.foundation.yaml_text import compose, parse

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_INDENT_STEP: Final = 2


def read_servers(text: str, key: str) -> Mapping[str, Any]:
    """Return the servers in a text; none if it is empty.

    Raises:
        ValueError: If the text is not YAML or its servers are not a mapping.
    """
    entries = _parse_document(text).get(key)
    if not isinstance(entries, dict | None):
        raise ValueError(f"{key} is not a mapping")  # noqa: TRY004 - one error type for callers
    return entries or {}


def _parse_document(text: str) -> dict[Any, Any]:
    document = parse(text)
    if not isinstance(document, dict):
        raise ValueError("is not a mapping")  # noqa: TRY004 - one error type for callers
    return document


def put_server(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    r"""Return a text with a server added, or its entry replaced.

    Args:
        text: The file, without byte order mark.
        key: Key of the mapping that holds the servers.
        name: The server's name.
        entry: What to write for it.

    Raises:
        ValueError: If the text cannot be read or changed safely; the message says why.

    Example:
        >>> print(put_server("extensions:\n  a: {}  # mine\n", "extensions", "b", {"c": 1}))
        extensions:
          a: {}  # mine
          b:
            c: 1
        <BLANKLINE>
    """
    expected = {**read_servers(text, key), name: dict(entry)}
    changed = _put_entry(text, key, name, entry)
    return _require_change(text, changed, key, expected, "add")


def remove_server(text: str, key: str, name: str) -> str:
    """Return a text without a server; a mapping that held only it becomes `{}`.

    Raises:
        ValueError: If the text cannot be read or changed safely, or has no such server.
    """
    existing = read_servers(text, key)
    if name not in existing:
        raise ValueError(f"has no server {name!r}")
    expected = {other: value for other, value in existing.items() if other != name}
    return _require_change(text, _remove_entry(text, key, name), key, expected, "remove")


def _require_change(
    text: str, changed: str, key: str, expected: Mapping[str, Any], verb: str
) -> str:
    """Return the changed text if only the servers changed, and to what is expected."""
    try:
        is_expected = parse(changed) == {**_parse_document(text), key: expected}
    except ValueError:
        is_expected = False
    if not is_expected:
        raise ValueError(f"cannot be changed safely; {verb} the entry manually")
    return changed


def _find_pair(node: Node | None, key: str) -> tuple[Node, Node] | None:
    pairs = node.value if isinstance(node, MappingNode) else []
    return next((pair for pair in pairs if pair[0].value == key), None)


def _put_entry(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    node = compose(text)
    root = node if isinstance(node, MappingNode) else None
    holder = _find_pair(root, key)
    if holder is None:
        column = root.start_mark.column if root and not root.flow_style else 0
        if root is not None and root.flow_style:
            return _add_to_flow(text, root, key, {name: entry})
        end = _skip_comments(text, _find_end(root), column) if root else len(text)
        return _insert_lines(text, end, {key: {name: entry}}, column, newline)
    key_node, servers = holder
    column = key_node.start_mark.column
    if not isinstance(servers, MappingNode):
        return _fill_empty(text, servers, {name: entry}, column, newline)
    if servers.flow_style:
        return _add_to_flow(text, servers, name, entry)
    inner = servers.value[0][0].start_mark.column
    if own := _find_pair(servers, name):
        start, end = own[0].start_mark.index, _find_end(own[1])
        written = _write_block({name: entry}, inner, newline)
        tail = newline if text[:end].endswith("\n") else ""
        return text[:start] + written.strip() + tail + text[end:]
    end = _skip_comments(text, _find_end(servers), max(inner, column + 1))
    return _insert_lines(text, end, {name: entry}, inner, newline)


def _fill_empty(
    text: str, servers: Node, value: Mapping[str, Any], column: int, newline: str
) -> str:
    """Write a block in place of nothing, below the line of its key."""
    before, rest = text[: servers.start_mark.index].rstrip(" "), text[servers.end_mark.index :]
    return _insert_lines(before + rest, len(before), value, column + _INDENT_STEP, newline)


def _add_to_flow(text: str, mapping: Node, key: str, value: Any) -> str:
    """Add a member after all others of a mapping in braces, or replace one."""
    if own := _find_pair(mapping, key):
        start, end = own[1].start_mark.index, own[1].end_mark.index
        return text[:start] + _write_flow(value) + text[end:]
    member = f"{json.dumps(key, ensure_ascii=False)}: {_write_flow(value)}"
    if not mapping.value:
        end = mapping.start_mark.index + 1
        return text[:end] + member + text[end:]
    end = mapping.value[-1][1].end_mark.index
    return f"{text[:end]}, {member}{text[end:]}"


def _remove_entry(text: str, key: str, name: str) -> str:
    holder = _find_pair(compose(text), key)
    assert holder is not None  # noqa: S101 - it has the server
    key_node, servers = holder
    assert isinstance(servers, MappingNode)  # noqa: S101 - as above
    names = [pair[0].value for pair in servers.value]
    index = names.index(name)
    own_key, own_value = servers.value[index]
    start, end = own_key.start_mark.index, _find_end(own_value)
    if servers.flow_style:
        if index + 1 < len(names):
            end = servers.value[index + 1][0].start_mark.index
        elif index:
            start = servers.value[index - 1][1].end_mark.index
        return text[:start] + text[end:]
    start = text.rfind("\n", 0, start) + 1
    changed = text[:start] + text[_find_next_line(text, end) :]
    if len(names) == 1:
        colon = text.index(":", key_node.end_mark.index) + 1
        changed = changed[:colon] + " {}" + changed[colon:]
    return changed


def _find_end(node: Node) -> int:
    """Return where the last value of a node ends; the node's own end is past comments."""
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        key, last = node.value[-1] if isinstance(node, MappingNode) else (node, node.value[-1])
        # An alias is the node it refers to, which ends earlier.
        node = key if last.start_mark.index < key.start_mark.index else last
    end: int = node.end_mark.index
    return end


def _find_next_line(text: str, position: int) -> int:
    """Return the beginning of the line after a position; the position if it begins one."""
    if position == 0 or text[position - 1 : position] == "\n":
        return position
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _skip_comments(text: str, position: int, column: int) -> int:
    """Return the beginning of the line after a position and the comments that belong to it."""
    end = _find_next_line(text, position)
    while (line := text[end : _find_next_line(text, end + 1)]).lstrip(" ").startswith("#"):
        if len(line) - len(line.lstrip(" ")) < column:
            break
        end += len(line)
    return end


def _insert_lines(
    text: str, position: int, value: Mapping[str, Any], column: int, newline: str
) -> str:
    end = _find_next_line(text, position)
    before = text[:end] + (newline if end and text[end - 1] != "\n" else "")
    return before + _write_block(value, column, newline) + text[end:]


def write_block(value: Mapping[str, Any]) -> str:
    """Return a mapping as a block.

    Example:
        >>> print(write_block({"a": {"b": ["c"], "d": {}}}), end="")
        a:
          b: ["c"]
          d: {}
    """
    return _write_block(value, 0, "\n")


def _write_block(value: Mapping[str, Any], column: int, newline: str) -> str:
    lines: list[str] = []
    for key, item in value.items():
        lead = f"{' ' * column}{_write_key(key)}:"
        if isinstance(item, Mapping) and item:
            lines += [lead + newline, _write_block(item, column + _INDENT_STEP, newline)]
        else:
            lines.append(f"{lead} {_write_flow(item)}{newline}")
    return "".join(lines)


def _write_key(text: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(text) and text.lower() not in _RESERVED
    return text if is_plain else _write_flow(text)


def _write_flow(value: Any) -> str:
    # JSON is YAML, except for characters that YAML wants escaped.
    written = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in written)
