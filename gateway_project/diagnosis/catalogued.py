"""Checks of the stored catalogue: approval, findings, names, schemas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gateway_project.diagnosis.finding import Finding, some
from gateway_project.foundation import schema
from gateway_project.foundation.schema import SchemaUnusable
from tools.catalogue import Catalogue, CatalogueTool
from tools.store import approvals, catalogue, overview

SAME_TOOLS = 2
"""Names that two servers must share, all of theirs, to be taken for the same server twice."""


def tools() -> Iterator[Finding]:
    """Check the stored tools; nothing is yielded for what is right."""
    known = overview.servers()
    if not known:
        detail = "none is registered; `manage.py import_servers` shows where there are some"
        yield Finding(check="servers", verdict="warning", detail=detail)
        return
    waiting = sum(server.quarantined + server.pending for server in known)
    if waiting:
        detail = f"{waiting} tools wait for approval; look at them with `manage.py approve_tools`"
        yield Finding(check="approval", verdict="warning", detail=detail)
    if suspicious := approvals.with_findings(severe=True):
        detail = f"texts of {some(suspicious)} hold severe findings; look at them in the console"
        yield Finding(check="findings", verdict="warning", detail=detail)
    stored = catalogue.load()
    usable = [tool for tool in stored.tools.values() if tool.usable]
    yield from _renamed(stored, usable)
    yield from _doubled(usable)
    yield from _unusable(usable)


def _renamed(stored: Catalogue, usable: list[CatalogueTool]) -> Iterator[Finding]:
    """Find tools of the server without prefix that clients know by another name all the same."""
    bare = {server.name for server in stored.servers.values() if server.unprefixed}
    renamed = [
        f"{tool.name} ({stored.exposed_name(tool.tool)})"
        for tool in usable
        if tool.server in bare and stored.exposed_name(tool.tool) != tool.name
    ]
    if renamed:
        detail = f"taken or unusable as they are, so exposed by other names: {some(renamed)}"
        yield Finding(check="names without prefix", verdict="warning", detail=detail)


def _doubled(usable: list[CatalogueTool]) -> Iterator[Finding]:
    names: defaultdict[str, set[str]] = defaultdict(set)
    for tool in usable:
        names[tool.server].add(tool.name)
    alike: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for server, offered in names.items():
        alike[frozenset(offered)].append(server)
    for shared, group in alike.items():
        if len(group) > 1 and len(shared) >= SAME_TOOLS:
            detail = f"{some(group)} offer the same tools; switch off what is there twice"
            yield Finding(check="double tools", verdict="warning", detail=detail)


def _unusable(usable: list[CatalogueTool]) -> Iterator[Finding]:
    broken = [tool.tool for tool in usable if not _can_be_checked(tool)]
    if broken:
        detail = f"{some(broken)} cannot be called: their schemas are out of bounds; tell authors"
        yield Finding(check="schemas", verdict="warning", detail=detail)


def _can_be_checked(tool: CatalogueTool) -> bool:
    try:
        schema.check(tool.input_schema)
    except SchemaUnusable:
        return False
    return True
