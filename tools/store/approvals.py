"""Loads unapproved tools, and stores people's decisions about tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Subquery

from tools import ids
from tools.definition import Definition
from tools.definition_changes import DefinitionChange, find_changes
from tools.models import Server, Tool, ToolDefinition
from tools.store import definitions

UNAPPROVED_STATES = (Tool.State.PENDING, Tool.State.QUARANTINED)


@dataclass(frozen=True, kw_only=True)
class UnapprovedTool:
    """A tool whose listed definition is not approved.

    Attributes:
        pk: Primary key.
        tool: Canonical id.
        state: `pending` if it was never approved, `quarantined` if it changed since.
        approved: The approved definition; None if there is none.
        listed: The definition that its server lists now.
        listed_hash: Hash of that.
        findings: Findings of the scan of its texts.
        changes: Differences from the approved definition; empty if there is none.
        versions: Number of stored definitions: the latest, and the approved ones.
        unstable_places: JSON pointers to the places that differ between its server's listings, if
            all of them are ignorable; else empty.
    """

    pk: int
    tool: str
    state: str
    approved: Definition | None
    listed: Definition
    listed_hash: str
    findings: tuple[Mapping[str, str], ...]
    changes: tuple[DefinitionChange, ...] = ()
    versions: int = 1
    unstable_places: tuple[str, ...] = ()


def load_unapproved(
    *, server: str | None = None, tools: Collection[int] | None = None
) -> tuple[UnapprovedTool, ...]:
    """Return the tools awaiting approval, by id; two queries.

    Args:
        server: Only those of this server.
        tools: Only those with these primary keys.
    """
    stored = ToolDefinition.objects.filter(tool=OuterRef("pk")).order_by().values("tool")
    counted = Subquery(stored.annotate(number=Count("pk")).values("number"))
    unapproved = Tool.objects.filter(state__in=UNAPPROVED_STATES, listed__isnull=False)
    unapproved = unapproved.annotate(stored_versions=counted)
    if server is not None:
        unapproved = unapproved.filter(server__name=server)
    if tools is not None:
        unapproved = unapproved.filter(pk__in=tools)
    found = list(unapproved.select_related("server", "definition", "listed"))
    versions = definitions.load_versions({tool.pk: tool for tool in found})
    ordered = sorted(found, key=lambda tool: (tool.server.name, tool.name))
    return tuple(
        _make_unapproved(tool, versions[tool.pk], tool.stored_versions) for tool in ordered
    )


def _make_unapproved(row: Any, versions: Sequence[Definition], stored: int) -> UnapprovedTool:
    approved = definitions.to_definition(row, row.definition) if row.definition else None
    listed = definitions.to_definition(row, row.listed)
    changes = () if approved is None else find_changes(approved, listed)
    return UnapprovedTool(
        pk=row.pk,
        tool=ids.join_id(row.server.name, row.name),
        state=row.state,
        approved=approved,
        listed=listed,
        listed_hash=row.listed.hash,
        findings=tuple(row.listed.findings),
        changes=changes,
        versions=stored,
        unstable_places=_find_unstable_places(changes, listed, versions),
    )


def _find_unstable_places(
    changes: Sequence[DefinitionChange], listed: Definition, versions: Iterable[Definition]
) -> tuple[str, ...]:
    """Return where listings differ; versions with other differences too are skipped."""
    if not changes or not all(change.is_ignorable for change in changes):
        return ()
    places = {change.pointer for change in changes}
    for version in versions:
        differ = find_changes(version, listed)
        if all(change.is_ignorable for change in differ):
            places |= {change.pointer for change in differ}
    return tuple(sorted(places))


def unapproved_rows(awaiting: Iterable[UnapprovedTool]) -> list[Tool]:
    """Return the rows of unapproved tools."""
    return list(Tool.objects.filter(pk__in=[item.pk for item in awaiting]))


def load_ignored_places(tools: Iterable[Tool]) -> dict[str, list[str]]:
    """Return the ignored places of tools, by tool id."""
    found = Tool.objects.filter(pk__in=[tool.pk for tool in tools]).select_related("server")
    return {ids.join_id(tool.server.name, tool.name): tool.ignored_places for tool in found}


def clear_ignored_places(tools: Iterable[Tool]) -> tuple[str, ...]:
    """Clear the ignored places of tools; return the ids of the changed ones."""
    found = Tool.objects.filter(pk__in=[tool.pk for tool in tools]).exclude(ignored_places=[])
    changed = list(found.select_related("server").order_by("server__name", "name"))
    Tool.objects.filter(pk__in=[tool.pk for tool in changed]).update(ignored_places=[])
    return tuple(ids.join_id(tool.server.name, tool.name) for tool in changed)


def server_exists(name: str) -> bool:
    """Whether a server of that name is registered."""
    return Server.objects.filter(name=name).exists()


def ids_with_findings(*, severe: bool) -> list[str]:
    """Return the ids of usable tools with findings in their approved texts.

    Args:
        severe: Only those with a severe finding.
    """
    used = Tool.objects.filter(state=Tool.State.ACTIVE, enabled=True, server__enabled=True)
    used = used.exclude(definition__findings=[]).select_related("server", "definition")
    if severe:
        used = used.filter(definition__findings__contains=[{"severity": "severe"}])
    return [ids.join_id(tool.server.name, tool.name) for tool in used.order_by("pk")]
