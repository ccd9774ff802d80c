"""Stored definitions of tools, and their comparison with listed ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Exists, F, OuterRef, Q, Window
from django.db.models.functions import RowNumber

from tools import definition_changes, scan
from tools.definition import Definition, make_storable
from tools.models import Tool, ToolDefinition

MAX_VERSIONS: Final = 20
"""Latest versions of a tool that are kept in addition to approved ones: a server with new texts at
each start would add a row of up to 512 kB each time."""


@dataclass(frozen=True, kw_only=True)
class StoredVersion:
    """A version of a tool's definition.

    Attributes:
        definition: What its server listed.
        hash: Of the definition.
        listed_at: When its server first listed it.
        approved_at: When it was approved; None: never.
        approved_by: Who approved it; empty: nobody, or the first discovery.
        is_pinned: Whether callers see this version.
        is_listed: Whether the server lists this version now.
        findings: Findings of the scan of its texts.
    """

    definition: Definition
    hash: str
    listed_at: datetime
    approved_at: datetime | None
    approved_by: str
    is_pinned: bool
    is_listed: bool
    findings: tuple[Mapping[str, str], ...]


def load_history(tool: int) -> tuple[StoredVersion, ...]:
    """Return the stored versions of a tool, newest first, at most `MAX_VERSIONS`; one query."""
    rows = ToolDefinition.objects.filter(tool=tool).select_related("tool", "approved_by")
    return tuple(
        StoredVersion(
            definition=to_definition(row.tool, row),
            hash=row.hash,
            listed_at=row.listed_at,
            approved_at=row.approved_at,
            approved_by=row.approved_by.get_username() if row.approved_by else "",
            is_pinned=row.tool.definition_id == row.pk,
            is_listed=row.tool.listed_id == row.pk,
            findings=tuple(row.findings),
        )
        for row in rows.order_by("-listed_at", "-pk")[:MAX_VERSIONS]
    )


def load_versions(tools: Mapping[int, Tool]) -> dict[int, list[Definition]]:
    """Return the latest versions of tools, newest first, by primary key; one query."""
    versions: dict[int, list[Definition]] = {pk: [] for pk in tools}
    rows = ToolDefinition.objects.filter(tool__in=versions).annotate(age=_version_rank())
    for row in rows.filter(age__lte=MAX_VERSIONS).order_by("age"):
        versions[row.tool_id].append(to_definition(tools[row.tool_id], row))
    return versions


def delete_old_versions(tools: Collection[int]) -> None:
    """Delete old versions of tools that were never approved; one query."""
    in_use = Tool.objects.filter(Q(definition=OuterRef("pk")) | Q(listed=OuterRef("pk")))
    unapproved = ToolDefinition.objects.filter(tool__in=tools, approved_at__isnull=True)
    old = (
        unapproved.filter(~Exists(in_use))
        .annotate(age=_version_rank())
        .filter(age__gt=MAX_VERSIONS)
    )
    ToolDefinition.objects.filter(pk__in=old.values("pk")).delete()


def _version_rank() -> Window:
    """Return a window that numbers the versions of each tool, newest first."""
    newest_first = [F("listed_at").desc(), F("pk").desc()]
    return Window(RowNumber(), partition_by=["tool_id"], order_by=newest_first)


def to_definition(tool: Tool, row: ToolDefinition) -> Definition:
    """Convert a stored definition."""
    return Definition(
        name=tool.name,
        title=row.title,
        description=row.description,
        input_schema=row.input_schema,
        output_schema=row.output_schema,
        annotations=row.annotations,
        extras=row.extras,
    )


def adopt_extras(
    tools: Iterable[Tool], listed: Mapping[str, Definition], *, foreign: frozenset[str]
) -> tuple[str, ...]:
    """Add to pins made before the extras counted those that they are listed with.

    Args:
        tools: Listed tools that are as they were pinned, as far as the pin tells.
        listed: Listed definitions by name.
        foreign: Names of other servers' tools, for the scan.

    Returns:
        Names of tools whose extras a person should review first; their pins stay as they are.
    """
    adopted, refused = [], []
    for tool in tools:
        row, item = tool.definition, listed[tool.name]
        if row is None:
            continue
        if item.extras:
            pinned = to_definition(tool, row)
            if definition_changes.adds_severe_finding(pinned, item, foreign=foreign):
                refused.append(tool.name)
                continue
            row.findings = make_storable(scan.scan_definition(item, foreign=foreign))
        row.extras = make_storable(dict(item.extras or {}))
        adopted.append(tool)
    if adopted:
        rows = [tool.definition for tool in adopted if tool.definition]
        ToolDefinition.objects.bulk_update(rows, ["extras", "findings"])
        # As they are, since other processes learn of changes by this table.
        Tool.objects.filter(pk__in=[tool.pk for tool in adopted]).update(
            definition=F("definition")
        )
    return tuple(refused)


def find_accepted_definitions(
    tools: Iterable[Tool], listed: Mapping[str, Definition], *, foreign: frozenset[str]
) -> list[ToolDefinition]:
    """Return the pinned definitions from which listed ones differ in ignored places only.

    Args:
        tools: Listed tools, with their pinned definitions loaded.
        listed: Listed definitions by name.
        foreign: Names of other servers' tools, for the scan of new texts.
    """
    return [
        tool.definition
        for tool in tools
        if tool.definition is not None
        and definition_changes.is_accepted(
            to_definition(tool, tool.definition),
            listed[tool.name],
            tool.ignored_places,
            foreign=foreign,
        )
    ]


def load_changed_places(tools: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Return where tools differ from their approved definition, by primary key; one query."""
    rows = Tool.objects.filter(
        pk__in=tools, definition__isnull=False, listed__isnull=False
    ).select_related("definition", "listed")
    return {
        tool.pk: definition_changes.find_changed_places(
            to_definition(tool, tool.definition), to_definition(tool, tool.listed)
        )
        for tool in rows
        if tool.definition and tool.listed
    }
