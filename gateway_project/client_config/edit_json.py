"""Puts a server into a client's JSON file and takes it out, all other characters untouched."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway_project.client_config import jsonc
from gateway_project.client_config.jsonc import Member, Members

_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/[ \t]*)*(?://[^\r\n]*)?")
_INDENT = re.compile(r"(?:\A|\n)([ \t]*)\Z")


@dataclass(frozen=True, kw_only=True)
class _Style:
    """How the file is laid out: its line ends, and one step of indentation."""

    newline: str
    step: str


def servers(text: str, key: str) -> Mapping[str, Any]:
    """Return the servers that stand in a text; none in an empty one.

    Raises:
        ValueError: If it is no JSON object, or its servers are none.
    """
    found = _document(text).get(key, {})
    if not isinstance(found, dict):
        raise ValueError(f"{key} is no object")  # noqa: TRY004 - one kind for the caller
    return found


def _document(text: str) -> Mapping[str, Any]:
    if jsonc.skip(text, 0) == len(text):
        return {}
    document = jsonc.loads(text)
    if not isinstance(document, dict):
        raise ValueError("is no JSON object")  # noqa: TRY004 - one kind for the caller
    return document


def put(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with a server added, or its entry replaced.

    Args:
        text: The file, without byte order mark.
        key: Member that holds the servers.
        name: The server's name.
        entry: What to write for it.

    Raises:
        ValueError: If the text cannot be read or changed safely; says why.

    Example:
        >>> print(put('{"mcpServers": {"a": {}}} // mine', "mcpServers", "b", {"c": 1}))
        {"mcpServers": {"a": {}, "b": {"c": 1}}} // mine
    """
    expected = {**servers(text, key), name: dict(entry)}
    start = jsonc.skip(text, 0)
    if start == len(text):
        changed = _first(text, key, name, entry)
    else:
        changed = _put(text, jsonc.read_members(text, start), key, name, entry)
    if jsonc.loads(changed) != {**_document(text), key: expected}:
        raise ValueError("cannot be changed safely; add the entry by hand")
    return changed


def take(text: str, key: str, name: str) -> str:
    """Return a text without a server; what is left of an object that it was alone in is `{}`.

    Raises:
        ValueError: If the text cannot be read or changed safely, or has no such server.
    """
    expected = {other: value for other, value in servers(text, key).items() if other != name}
    holder = jsonc.read_members(text, jsonc.skip(text, 0)).named(key)
    members = jsonc.read_members(text, holder.value_start) if holder else None
    if members is None or members.named(name) is None:
        raise ValueError(f"has no server {name!r}")
    changed = _take(text, members, name)
    if jsonc.loads(changed) != {**_document(text), key: expected}:
        raise ValueError("cannot be changed safely; remove the entry by hand")
    return changed


def _first(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Write the object into a text that has none, behind its comments."""
    style = _Style(newline=_newline(text), step="  ")
    between = style.newline if text and not text.endswith("\n") else ""
    return f"{text}{between}{_rendered({key: {name: entry}}, '', style)}{style.newline}"


def _put(text: str, root: Members, key: str, name: str, entry: Mapping[str, Any]) -> str:
    style = _Style(newline=_newline(text), step=_step(text, root))
    holder = root.named(key)
    if holder is None:
        return _add(text, root, key, {name: entry}, style)
    members = jsonc.read_members(text, holder.value_start)
    standing = members.named(name)
    if standing is None:
        return _add(text, members, name, entry, style)
    lines = "\n" in text[standing.value_start : standing.value_end]
    value = (
        _rendered(entry, _indent(text, standing.start), style)
        if lines
        else json.dumps(entry, ensure_ascii=False)
    )
    return text[: standing.value_start] + value + text[standing.value_end :]


def _add(text: str, members: Members, key: str, value: Any, style: _Style) -> str:
    """Add a member behind all others, laid out as they are."""
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
    member = f"{indent}{json.dumps(key)}: {_rendered(value, indent, style)}"
    rest = _REST_OF_LINE.match(text, tail)
    end = rest.end() if rest else tail
    added = style.newline + member + ("," if last.comma_end else "")
    return text[: last.value_end] + comma + text[last.value_end : end] + added + text[end:]


def _add_to_empty(text: str, members: Members, key: str, value: Any, style: _Style) -> str:
    outer = _line_indent(text, members.opening)
    indent = outer + style.step
    inner = text[members.opening + 1 : members.closing]
    kept = inner.rstrip(" \t\r\n")
    rest = inner[len(kept) :] if "\n" in inner[len(kept) :] else style.newline + outer
    member = f"{indent}{json.dumps(key)}: {_rendered(value, indent, style)}"
    return (
        text[: members.opening + 1]
        + kept
        + style.newline
        + member
        + rest
        + text[members.closing :]
    )


def _take(text: str, members: Members, name: str) -> str:
    index = next(i for i, item in enumerate(members.items) if item.key == name)
    item = members.items[index]
    start, end = _extent(text, item)
    if index and index == len(members.items) - 1 and item.comma_end is None:
        before = members.items[index - 1]
        assert before.comma_end is not None  # noqa: S101 - another member follows it
        kept = text[before.comma_end : start]
        return text[: before.comma_end - 1] + kept + text[end:]
    changed = text[:start] + text[end:]
    closing = members.closing - (end - start)
    if not changed[members.opening + 1 : closing].strip(" \t\r\n"):
        return changed[: members.opening + 1] + changed[closing:]
    return changed


def _extent(text: str, item: Member) -> tuple[int, int]:
    """Return what goes with a member: its comma, and its line if it has one of its own."""
    start, end = item.start, item.comma_end or item.value_end
    while start and text[start - 1] in " \t":
        start -= 1
    if text[:start].endswith("\n"):
        start -= 2 if text[:start].endswith("\r\n") else 1
    return start, end


def _rendered(value: Any, indent: str, style: _Style) -> str:
    written = json.dumps(value, ensure_ascii=False, indent=style.step)
    return written.replace("\n", style.newline + indent)


def _newline(text: str) -> str:
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _step(text: str, root: Members) -> str:
    """Return one step of indentation: that of the outermost members."""
    for item in root.items:
        if (found := _INDENT.search(text, 0, item.start)) and found[1]:
            return found[1]
    return "  "


def _indent(text: str, position: int) -> str:
    found = _INDENT.search(text, 0, position)
    return found[1] if found else _line_indent(text, position)


def _line_indent(text: str, position: int) -> str:
    """Return the whitespace at the beginning of the line that an offset stands in."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]
