"""Write the definitions of the tools that the everyday wishes name.

    python -m benchmarks.everyday_tools TOUCAN REGISTRY FOLDER

TOUCAN is a clone of `TheAgentArk/Toucan` at a1976dea, REGISTRY one of `docker/mcp-registry` at
818bf169, and FOLDER/everyday_NAME/tools.jsonl is written for each set of benchmarks/everyday, in
the shape that `manage.py evaluate` reads. Tools that neither names (those of installed packages)
are counted and left out.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.bind_everyday import WISHES

Tool = dict[str, Any]

CUT_CHARS: Final = 30
"""Some sets cut the names of servers at this length."""
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})


def main() -> None:
    """Write a file for each set, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("toucan", type=Path)
    parser.add_argument("registry", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    known = gather_tools([*read_toucan(arguments.toucan), *read_registry(arguments.registry)])
    for wishes in sorted(WISHES.glob("*.jsonl")):
        named = sorted(find_named_tools(wishes))
        found = {name: known[name] for name in named if name in known}
        target = arguments.folder / f"everyday_{wishes.stem}" / "tools.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w", encoding="utf-8") as file:
            for name, tool in found.items():
                file.write(json.dumps({"id": name, **tool}, ensure_ascii=False) + "\n")
        print(f"{wishes.stem}: {len(found)} of {len(named)} tools", flush=True)


def find_named_tools(wishes: Path) -> set[str]:
    """Return the ids (`server/tool`) that a file of wishes names."""
    keys = ("tools", "also", "forbidden")
    rows = [json.loads(line) for line in wishes.read_text("utf-8").splitlines()]
    lists = [row.get(key, ()) for row in rows for key in keys]
    return {tool for one in lists for tool in one} | {row["tool"] for row in rows if "tool" in row}


def gather_tools(servers: list[tuple[list[str], list[Tool]]]) -> dict[str, Tool]:
    """Return the tools of all servers by `server/tool`, for each name that a server goes by.

    Of several definitions the first with a schema of its own counts.
    """
    known: dict[str, Tool] = {}
    crawled: dict[str, Tool] = {}
    for names, tools in servers:
        for tool in tools:
            kept = known if isinstance(_find_schema(tool), Mapping) else crawled
            for name in names:
                kept.setdefault(f"{name}/{tool['name']}", _convert(tool))
    return crawled | known


def read_toucan(folder: Path) -> Iterator[tuple[list[str], list[Tool]]]:
    """Yield the names and tools of each server of Toucan: as it answered, then as crawled."""
    for path in sorted((folder / "mcp_servers").glob("*.json")):
        metadata = json.loads(path.read_text("utf-8"))["metadata"]
        crawled = metadata.get("server_info_crawled") or {}
        author = crawled.get("author") or ""
        name = _slug(metadata["server_name"])
        names = [name, name[:CUT_CHARS], _slug(author), _slug(author.rpartition("/")[2])]
        for source in (metadata.get("remote_server_response") or {}, crawled):
            yield [*filter(None, dict.fromkeys(names))], source.get("tools") or []


def read_registry(folder: Path) -> Iterator[tuple[list[str], list[Tool]]]:
    """Yield the name and the tools of each server of Docker's registry that lists them."""
    for path in sorted((folder / "servers").glob("*/tools.json")):
        yield [path.parent.name], json.loads(path.read_text("utf-8"))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _find_schema(tool: Mapping[str, Any]) -> Any:
    return tool.get("input_schema") or tool.get("inputSchema")


def _convert(tool: Mapping[str, Any]) -> Tool:
    """Return a definition with a JSON Schema, made of the list of parameters if need be."""
    schema = _find_schema(tool)
    if not isinstance(schema, Mapping):
        listed = tool.get("parameters") or tool.get("arguments") or []
        schema = {
            "type": "object",
            "properties": {one["name"]: dict(_describe(one)) for one in listed},
            "required": [
                one["name"] for one in listed if one.get("required", not one.get("optional"))
            ],
        }
    return {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "input_schema": dict(schema),
    }


def _describe(parameter: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    kind = str(parameter.get("type", "")).lower()
    if kind in _TYPES:
        yield "type", kind
    if about := parameter.get("description") or parameter.get("desc"):
        yield "description", about


if __name__ == "__main__":
    main()
