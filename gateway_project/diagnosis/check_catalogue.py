"""Checks of the stored catalogue: approval, findings, names, schemas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gateway_project.diagnosis.finding import Finding, name_some
from gateway_project.foundation import schema
from gateway_project.foundation.schema import UnusableSchema
from tools.catalogue import Catalogue, CatalogueTool
from tools.store import approvals, catalogue, overview, pages

MIN_SHARED_TOOLS = 2
"""Least number of tools for which servers with equal tool names count as duplicates."""


def check_tools() -> Iterator[Finding]:
    """Check the stored tools; yield only problems."""
    summaries = overview.load_server_summaries()
    if not summaries:
        detail = "none is registered; `manage.py import_servers` shows where there are some"
        yield Finding(check="servers", verdict="warning", detail=detail)
        return
    waiting = sum(server.quarantined + server.pending for server in summaries)
    if waiting:
        detail = f"{waiting} tools wait for approval; review them with `manage.py approve_tools`"
        yield Finding(check="approval", verdict="warning", detail=detail)
    if waiting_pages := pages.count_waiting():
        detail = (
            f"pages or skills of {name_some(sorted(waiting_pages))} wait for approval, and are "
            "kept back meanwhile; review them with `manage.py approve_tools --server NAME`"
        )
        yield Finding(check="pages", verdict="warning", detail=detail)
    if suspicious := approvals.ids_with_findings(severe=True):
        detail = (
            f"texts of {name_some(suspicious)} have severe findings; review them in the console"
        )
        yield Finding(check="findings", verdict="warning", detail=detail)
    stored = catalogue.load_catalogue()
    usable = [tool for tool in stored.tools.values() if tool.is_usable]
    yield from _find_renamed_tools(stored, usable)
    yield from _find_duplicate_servers(usable)
    yield from _find_unusable_schemas(usable)


def _find_renamed_tools(stored: Catalogue, usable: list[CatalogueTool]) -> Iterator[Finding]:
    """Find tools of the server without prefix that are exposed under another name anyway."""
    unprefixed = {server.name for server in stored.servers.values() if server.unprefixed}
    renamed = [
        f"{tool.name} ({stored.exposed_name(tool.tool)})"
        for tool in usable
        if tool.server in unprefixed and stored.exposed_name(tool.tool) != tool.name
    ]
    if renamed:
        detail = f"taken or unusable as is, so exposed under other names: {name_some(renamed)}"
        yield Finding(check="names without prefix", verdict="warning", detail=detail)


def _find_duplicate_servers(usable: list[CatalogueTool]) -> Iterator[Finding]:
    names: defaultdict[str, set[str]] = defaultdict(set)
    for tool in usable:
        names[tool.server].add(tool.name)
    servers_by_tools: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for server, tool_names in names.items():
        servers_by_tools[frozenset(tool_names)].append(server)
    for shared, group in servers_by_tools.items():
        if len(group) > 1 and len(shared) >= MIN_SHARED_TOOLS:
            detail = f"{name_some(group)} offer the same tools; disable the duplicates"
            yield Finding(check="duplicate tools", verdict="warning", detail=detail)


def _find_unusable_schemas(usable: list[CatalogueTool]) -> Iterator[Finding]:
    broken = [tool.tool for tool in usable if not _has_usable_schema(tool)]
    if broken:
        detail = (
            f"{name_some(broken)} cannot be called: their schemas exceed the limits; tell "
            "their authors"
        )
        yield Finding(check="schemas", verdict="warning", detail=detail)


def _has_usable_schema(tool: CatalogueTool) -> bool:
    try:
        schema.check_schema(tool.input_schema)
    except UnusableSchema:
        return False
    return True
