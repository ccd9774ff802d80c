"""A server with the skills of a folder (SEP-2640), read anew for each request.

Each folder with a SKILL.md is a skill; `listed.txt` beside them names those that are listed, by
default all. Started with the folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from typing import Any

import yaml
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
    Tool,
)

ROOT = Path(sys.argv[1])
EXTENSION = "io.modelcontextprotocol/skills"
CACHE = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}


def uri_of(path: Path) -> str:
    return f"skill://{path.relative_to(ROOT).as_posix()}"


def describe(folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    head = (folder / "SKILL.md").read_text().split("---\n")[1]
    return {
        "uri": uri_of(folder / "SKILL.md"),
        "frontmatter": yaml.safe_load(head),
        "resources": [
            {
                "uri": uri_of(path),
                "digest": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
                "size": path.stat().st_size,
            }
            for path in files
        ],
    }


def skills() -> dict[str, dict[str, Any]]:
    folders = (path.parent for path in sorted(ROOT.rglob("SKILL.md")))
    return {entry["uri"]: entry for entry in map(describe, folders)}


async def list_skills(_: Any, __: PaginatedRequestParams) -> dict[str, Any]:
    names = ROOT / "listed.txt"
    listed = names.read_text().split() if names.exists() else None
    entries = [one for uri, one in skills().items() if listed is None or uri in listed]
    return {**CACHE, "skills": entries}


async def get_skill(_: Any, params: ReadResourceRequestParams) -> dict[str, Any]:
    entry = skills().get(str(params.uri))
    if entry is None:
        raise MCPError(INVALID_PARAMS, f"No skill is served at {params.uri}")
    return {**CACHE, "skill": entry}


async def read(_: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
    uri = str(params.uri)
    path = ROOT / uri.removeprefix("skill://")
    if uri == "note://plain":
        text = "of no skill"
    elif path.is_file():
        text = path.read_bytes().decode()
    else:
        raise MCPError(INVALID_PARAMS, f"no resource {uri}")
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text)])


async def list_resources(_: Any, __: PaginatedRequestParams | None) -> ListResourcesResult:
    own = [
        Resource(uri=uri, mime_type="text/markdown", **skill["frontmatter"])
        for uri, skill in skills().items()
    ]
    return ListResourcesResult(resources=[*own, Resource(uri="note://plain", name="plain")])


async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="noop", input_schema={"type": "object"})])


server: Server[Any] = Server(
    "skilled",
    on_list_resources=list_resources,
    on_read_resource=read,
    on_list_tools=list_tools,
)
server.extensions = {EXTENSION: {}}
server.add_request_handler("skills/list", PaginatedRequestParams, list_skills)
server.add_request_handler("skills/get", ReadResourceRequestParams, get_skill)


async def main() -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


asyncio.run(main())
