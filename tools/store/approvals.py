"""Tools that wait for a person, and what a person decides of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tools import ids
from tools.definition import Definition
from tools.models import Server, Tool

WAITING = (Tool.State.PENDING, Tool.State.QUARANTINED)


@dataclass(frozen=True, kw_only=True)
class Awaiting:
    """A tool whose definition nobody has approved.

    Attributes:
        pk: Primary key.
        tool: Canonical id.
        state: `pending` if it was never approved, `quarantined` if it changed since.
        approved: Definition as approved; None if there is none.
        listed: Definition as its server lists it now.
        listed_hash: Hash of that.
        findings: What a scan of its texts found.
    """

    pk: int
    tool: str
    state: str
    approved: Definition | None
    listed: Definition
    listed_hash: str
    findings: tuple[Mapping[str, str], ...]


def queue(*, server: str | None = None) -> tuple[Awaiting, ...]:
    """Return the tools that wait for approval, by id; one query.

    Args:
        server: Only this server's.
    """
    rows = Tool.objects.filter(state__in=WAITING, listed__isnull=False)
    if server is not None:
        rows = rows.filter(server__name=server)
    rows = rows.select_related("server", "definition", "listed")
    return tuple(_awaiting(row) for row in rows.order_by("server__name", "name"))


def _awaiting(row: Any) -> Awaiting:
    return Awaiting(
        pk=row.pk,
        tool=ids.join(row.server.name, row.name),
        state=row.state,
        approved=_said(row, row.definition) if row.definition else None,
        listed=_said(row, row.listed),
        listed_hash=row.listed.hash,
        findings=tuple(row.listed.findings),
    )


def _said(tool: Tool, row: Any) -> Definition:
    return Definition(
        name=tool.name,
        title=row.title,
        description=row.description,
        input_schema=row.input_schema,
        output_schema=row.output_schema,
        annotations=row.annotations,
    )


def rows(awaiting: Iterable[Awaiting]) -> list[Tool]:
    """Return the rows of tools that wait."""
    return list(Tool.objects.filter(pk__in=[item.pk for item in awaiting]))


def is_server(name: str) -> bool:
    """Whether a server of that name is registered."""
    return Server.objects.filter(name=name).exists()


def set_pinned(tools: Iterable[Tool], *, pinned: bool) -> tuple[str, ...]:
    """Pin or unpin tools; return the ids of those that were not so before."""
    found = Tool.objects.filter(pk__in=[tool.pk for tool in tools]).exclude(pinned=pinned)
    changed = list(found.select_related("server").order_by("server__name", "name"))
    Tool.objects.filter(pk__in=[tool.pk for tool in changed]).update(pinned=pinned)
    return tuple(ids.join(tool.server.name, tool.name) for tool in changed)


def with_findings(*, severe: bool) -> list[str]:
    """Return the ids of tools in use whose approved texts hold findings.

    Args:
        severe: Only those with a severe one.
    """
    used = Tool.objects.filter(state=Tool.State.ACTIVE, enabled=True, server__enabled=True)
    used = used.exclude(definition__findings=[]).select_related("server", "definition")
    if severe:
        used = used.filter(definition__findings__contains=[{"severity": "severe"}])
    return [ids.join(tool.server.name, tool.name) for tool in used.order_by("pk")]
