"""Tools of servers as clients see them listed: their pinned definitions under exposed names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import structlog
from mcp.shared.inbound import X_MCP_HEADER_KEY, find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types.methods import SERVER_RESULTS
from pydantic import TypeAdapter, ValidationError

from execution.call import SCOPE
from gateway_project import tool_card
from gateway_project.effects import Exposure
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema_normalise import normalise
from tools.catalogue import Catalogue, CatalogueTool

MAX_KEPT: Final = 20_000
_LATEST: Final = "2026-07-28"
_STRICTEST: Final = "2025-11-25"
"""Version whose clients refuse a whole list for one odd definition."""

Definition = dict[str, Any]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The tools of servers that a caller sees listed.

    Attributes:
        items: Definitions by name, as sent to clients of 2026-07-28.
        handshake_items: The same for clients of the era before.
    """

    items: Sequence[Definition] = ()
    handshake_items: Sequence[Definition] = ()


_NOTHING: Final = Shown()
_made: dict[tuple[str, str], tuple[Definition, Definition]] = {}
_unmirrored: set[tuple[str, str]] = set()
"""Whose schemas ask for no headers, so that they are gone through once and not for each call."""


def shown(catalogue: Catalogue, caller: Caller, exposure: Exposure) -> Shown:
    """Return what is listed beside the gateway's own tools.

    It is made once for each catalogue and each team, and depends on nothing else of the caller
    than whether tools may be called.
    """
    if exposure == "meta" or not caller.may(SCOPE):
        return _NOTHING
    key = ("shown", exposure, caller.team)
    found: Shown | None = catalogue.derived.get(key)
    if found is None:
        tools = [tool for tool in catalogue.visible(caller) if _is_shown(tool, exposure)]
        named = sorted((catalogue.exposed_name(tool.tool), tool) for tool in tools)
        made = [_definition(tool, name) for name, tool in named]
        found = Shown(
            items=[modern for modern, _ in made],
            handshake_items=[handshake for _, handshake in made],
        )
        catalogue.derived[key] = found
    return found


def find(
    catalogue: Catalogue, caller: Caller, exposure: Exposure, name: str
) -> CatalogueTool | None:
    """Return the tool that a client may call by its exposed name, usable or not."""
    if exposure == "meta":
        return None
    tool = catalogue.exposed(name, caller)
    return tool if tool is not None and _is_shown(tool, exposure) else None


def input_schema(
    catalogue: Catalogue, caller: Caller, exposure: Exposure, name: str
) -> Mapping[str, Any] | None:
    """Return the schema that judges the headers of a caller's call by an exposed name.

    None: the caller knows no such tool, or its listed schema has no arguments mirrored as headers.
    """
    tool = find(catalogue, caller, exposure, name)
    if tool is None or not tool.usable:
        return None
    key = (tool.definition_hash, name)
    if key in _unmirrored:
        return None
    schema: Mapping[str, Any] = _definition(tool, name)[0]["inputSchema"]
    if x_mcp_header_map(schema):
        return schema
    if tool.definition_hash:
        if len(_unmirrored) >= MAX_KEPT:
            _unmirrored.clear()
        _unmirrored.add(key)
    return None


def _is_shown(tool: CatalogueTool, exposure: Exposure) -> bool:
    return exposure == "full" or (exposure == "hybrid" and tool.pinned)


def _definition(tool: CatalogueTool, name: str) -> tuple[Definition, Definition]:
    """Return a definition for each era, made once for each pinned definition and name."""
    if not tool.definition_hash:
        return _make(tool, name)
    key = (tool.definition_hash, name)
    found = _made.get(key)
    if found is None:
        if len(_made) >= MAX_KEPT:
            _made.clear()
        found = _made[key] = _make(tool, name)
    return found


def _make(tool: CatalogueTool, name: str) -> tuple[Definition, Definition]:
    definition: Definition = {"name": name}
    if tool.title:
        definition["title"] = tool_card.clean(tool.title)
    if tool.description:
        definition["description"] = tool_card.clean(tool.description)
    definition["inputSchema"] = _input_schema(tool)
    if tool.output_schema is not None:
        definition["outputSchema"] = tool_card.clean_schema(tool.output_schema)
    if tool.annotations:
        definition["annotations"] = tool_card.clean_schema(tool.annotations)
    if _is_valid(definition, version=_STRICTEST):
        return definition, definition
    modern = _first_valid(definition, version=_LATEST)
    return modern, _first_valid(modern, version=_STRICTEST)


def _input_schema(tool: CatalogueTool) -> Any:
    schema = tool_card.clean_schema(tool.input_schema)
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    reason = find_invalid_x_mcp_header(schema)
    if reason is not None:
        log.warning("exposure.header_left_out", tool=tool.tool, reason=reason)
        schema = _without_headers(schema)
    return schema


def _first_valid(definition: Definition, *, version: str) -> Definition:
    """Return a definition that clients of a version accept, as near to the pinned as can be.

    Arguments and results are judged by the pinned schemas all the same.
    """
    return next(item for item in _candidates(definition) if _is_valid(item, version=version))


def _candidates(definition: Definition) -> Iterator[Definition]:
    yield definition
    loose = {key: definition[key] for key in definition if key != "outputSchema"}
    yield loose
    looser = {key: loose[key] for key in loose if key != "annotations"}
    yield looser
    yield {**looser, "inputSchema": normalise(looser["inputSchema"]).schema}
    yield {"name": definition["name"], "inputSchema": {"type": "object"}}


def _is_valid(definition: Definition, *, version: str) -> bool:
    try:
        _list_of(version).validate_python({**_LIST, "tools": [definition]}, by_name=False)
    except ValidationError:
        return False
    return True


@cache
def _list_of(version: str) -> TypeAdapter[Any]:
    surface: Any = SERVER_RESULTS["tools/list", version]
    return TypeAdapter(surface)


_LIST: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def _without_headers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_headers(item) for key, item in value.items() if key != X_MCP_HEADER_KEY
        }
    if isinstance(value, list):
        return [_without_headers(item) for item in value]
    return value
