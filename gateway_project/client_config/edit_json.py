"""Adds a server to a client's JSON file or removes it, leaving all other characters unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway_project.client_config import jsonc
from gateway_project.client_config.jsonc import JsonMember, JsonMembers

_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/[ \t]*)*(?://[^\r\n]*)?")
_INDENT = re.compile(r"(?:\A|\n)([ \t]*)\Z")


@dataclass(frozen=True, kw_only=True)
class _Style:
    """Layout of a file: its newline and one step of indentation."""

    newline: str
    indent_step: str


def read_servers(text: str, key: str) -> Mapping[str, Any]:
    """Return the servers in a text; none if it is empty.

    Raises:
        ValueError: If the text or its servers are not a JSON object.
    """
    entries = _parse_document(text).get(key, {})
    if not isinstance(entries, dict):
        raise ValueError(f"{key} is not an object")  # noqa: TRY004 - one error type for callers
    return entries


def _parse_document(text: str) -> Mapping[str, Any]:
    if jsonc.skip_trivia(text, 0) == len(text):
        return {}
    document = jsonc.loads(text)
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - one error type for callers
    return document


def put_server(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with a server added, or its entry replaced.

    Args:
        text: The file, without byte order mark.
        key: Member that holds the servers.
        name: The server's name.
        entry: What to write for it.

    Raises:
        ValueError: If the text cannot be read or changed safely; the message says why.

    Example:
        >>> print(put_server('{"mcpServers": {"a": {}}} // mine', "mcpServers", "b", {"c": 1}))
        {"mcpServers": {"a": {}, "b": {"c": 1}}} // mine
    """
    expected = {**read_servers(text, key), name: dict(entry)}
    start = jsonc.skip_trivia(text, 0)
    if start == len(text):
        changed = _write_first_object(text, key, name, entry)
    else:
        changed = _put_entry(text, jsonc.read_members(text, start), key, name, entry)
    if jsonc.loads(changed) != {**_parse_document(text), key: expected}:
        raise ValueError("cannot be changed safely; add the entry manually")
    return changed


def remove_server(text: str, key: str, name: str) -> str:
    """Return a text without a server; an object that held only it becomes `{}`.

    Raises:
        ValueError: If the text cannot be read or changed safely, or has no such server.
    """
    expected = {other: value for other, value in read_servers(text, key).items() if other != name}
    holder = jsonc.read_members(text, jsonc.skip_trivia(text, 0)).find_member(key)
    members = jsonc.read_members(text, holder.value_start) if holder else None
    if members is None or members.find_member(name) is None:
        raise ValueError(f"has no server {name!r}")
    changed = _remove_member(text, members, name)
    if jsonc.loads(changed) != {**_parse_document(text), key: expected}:
        raise ValueError("cannot be changed safely; remove the entry manually")
    return changed


def _write_first_object(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Append an object to a text that has only comments, or nothing."""
    style = _Style(newline=_detect_newline(text), indent_step="  ")
    between = style.newline if text and not text.endswith("\n") else ""
    return f"{text}{between}{_render_value({key: {name: entry}}, '', style)}{style.newline}"


def _put_entry(text: str, root: JsonMembers, key: str, name: str, entry: Mapping[str, Any]) -> str:
    style = _Style(newline=_detect_newline(text), indent_step=_detect_indent_step(text, root))
    holder = root.find_member(key)
    if holder is None:
        return _add_member(text, root, key, {name: entry}, style)
    members = jsonc.read_members(text, holder.value_start)
    existing = members.find_member(name)
    if existing is None:
        return _add_member(text, members, name, entry, style)
    is_multiline = "\n" in text[existing.value_start : existing.value_end]
    value = (
        _render_value(entry, _find_indent(text, existing.start), style)
        if is_multiline
        else json.dumps(entry, ensure_ascii=False)
    )
    return text[: existing.value_start] + value + text[existing.value_end :]


def _add_member(text: str, members: JsonMembers, key: str, value: Any, style: _Style) -> str:
    """Add a member after all others, in their layout."""
    if not members.items:
        return _add_to_empty(text, members, key, value, style)
    last = members.items[-1]
    tail = last.comma_end or last.value_end
    own_line = _INDENT.search(text, 0, last.start)
    comma = "" if last.comma_end else ","
    if own_line is None:
        member = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        added = f" {member}" + ("," if last.comma_end else "")
        return text[: last.value_end] + comma + text[last.value_end : tail] + added + text[tail:]
    indent = own_line[1]
    member = f"{indent}{json.dumps(key)}: {_render_value(value, indent, style)}"
    rest = _REST_OF_LINE.match(text, tail)
    end = rest.end() if rest else tail
    added = style.newline + member + ("," if last.comma_end else "")
    return text[: last.value_end] + comma + text[last.value_end : end] + added + text[end:]


def _add_to_empty(text: str, members: JsonMembers, key: str, value: Any, style: _Style) -> str:
    outer = _find_line_indent(text, members.opening)
    indent = outer + style.indent_step
    inner = text[members.opening + 1 : members.closing]
    body = inner.rstrip(" \t\r\n")
    rest = inner[len(body) :] if "\n" in inner[len(body) :] else style.newline + outer
    member = f"{indent}{json.dumps(key)}: {_render_value(value, indent, style)}"
    return (
        text[: members.opening + 1]
        + body
        + style.newline
        + member
        + rest
        + text[members.closing :]
    )


def _remove_member(text: str, members: JsonMembers, name: str) -> str:
    index = next(i for i, item in enumerate(members.items) if item.key == name)
    item = members.items[index]
    start, end = _find_extent(text, item)
    if index and index == len(members.items) - 1 and item.comma_end is None:
        before = members.items[index - 1]
        assert before.comma_end is not None  # noqa: S101 - another member follows it
        trivia = text[before.comma_end : start]
        return text[: before.comma_end - 1] + trivia + text[end:]
    changed = text[:start] + text[end:]
    closing = members.closing - (end - start)
    if not changed[members.opening + 1 : closing].strip(" \t\r\n"):
        return changed[: members.opening + 1] + changed[closing:]
    return changed


def _find_extent(text: str, item: JsonMember) -> tuple[int, int]:
    """Return the offsets of a member with its comma and, if it starts a line, its line break."""
    start, end = item.start, item.comma_end or item.value_end
    while start and text[start - 1] in " \t":
        start -= 1
    if text[:start].endswith("\n"):
        start -= 2 if text[:start].endswith("\r\n") else 1
    return start, end


def _render_value(value: Any, indent: str, style: _Style) -> str:
    written = json.dumps(value, ensure_ascii=False, indent=style.indent_step)
    return written.replace("\n", style.newline + indent)


def _detect_newline(text: str) -> str:
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _detect_indent_step(text: str, root: JsonMembers) -> str:
    """Return one step of indentation, taken from the outermost members."""
    for item in root.items:
        if (match := _INDENT.search(text, 0, item.start)) and match[1]:
            return match[1]
    return "  "


def _find_indent(text: str, position: int) -> str:
    match = _INDENT.search(text, 0, position)
    return match[1] if match else _find_line_indent(text, position)


def _find_line_indent(text: str, position: int) -> str:
    """Return the leading whitespace of the line that contains an offset."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]
