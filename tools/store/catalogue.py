"""The stored catalogue: recording what servers list, loading it as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from tools import definition, embedding_text, ids, token_count
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import Danger, Matcher, classify
from tools.definition import Definition
from tools.models import Server, Tool, ToolDefinition
from tools.store import danger, servers


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What recording a listing changed, by tool name.

    Attributes:
        added: Seen for the first time.
        changed: Quarantined, since their definition differs from the pinned one.
        restored: Back to their pinned definition, or listed again.
        removed: No longer listed.
        unchanged: Number of the rest.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0


def record_listing(
    server_name: str,
    listed: Sequence[Definition],
    *,
    at: datetime,
    approve_new: bool,
    complete: bool = True,
    description: str = "",
) -> Recorded:
    """Store what a server lists now; pin what is new, quarantine what changed.

    Args:
        server_name: A registered server.
        listed: Its tools; of two with one name the first counts.
        at: Time of the listing.
        approve_new: Whether tools seen for the first time may be used at once.
        complete: Whether this is all the server has; else what is missing is not taken as gone.
        description: What the server says of itself.

    Raises:
        Server.DoesNotExist: If it is not registered any more.
    """
    by_name: dict[str, Definition] = {}
    for item in listed:
        by_name.setdefault(definition.storable(item.name), item)
    with transaction.atomic():
        server = Server.objects.select_for_update().get(name=server_name)
        known = {
            tool.name: tool
            for tool in Tool.objects.filter(server=server).select_related("definition")
        }
        before = {name: tool.state for name, tool in known.items()}
        tools = known | _create_tools(server, by_name.keys() - known.keys(), at=at)
        rows = _store_definitions(tools, by_name, launch=servers.launch_hash(server), at=at)
        present = [tools[name] for name in by_name]
        _settle(present, rows, at=at, auto=approve_new)
        gone = _mark_removed(known, by_name) if complete else ()
        server.discovered_at = at
        server.description = definition.storable(description) or server.description
        server.save(update_fields=["discovered_at", "description"])
    return _recorded(before, {tool.name: tool.state for tool in present}, gone)


def _recorded(
    before: Mapping[str, str], after: Mapping[str, str], gone: tuple[str, ...]
) -> Recorded:
    differ = [name for name in after if name in before and before[name] != after[name]]
    changed = tuple(name for name in differ if after[name] == Tool.State.QUARANTINED)
    return Recorded(
        added=tuple(name for name in after if name not in before),
        changed=changed,
        restored=tuple(name for name in differ if name not in changed),
        removed=gone,
        unchanged=sum(before.get(name) == state for name, state in after.items()),
    )


def _create_tools(server: Server, names: Iterable[str], *, at: datetime) -> dict[str, Tool]:
    """Insert tools that were never seen; pending, since an active tool must be defined."""
    created = Tool.objects.bulk_create(
        Tool(
            server=server,
            name=name,
            state=Tool.State.PENDING,
            first_seen_at=at,
            last_seen_at=at,
        )
        for name in sorted(names)
    )
    return {tool.name: tool for tool in created}


def _store_definitions(
    tools: Mapping[str, Tool], listed: Mapping[str, Definition], *, launch: str, at: datetime
) -> dict[int, ToolDefinition]:
    """Return the row of each listed definition by tool, inserting those not seen before."""
    hashes = {tools[name].pk: item.hash for name, item in listed.items()}
    stored = {
        (row.tool_id, row.hash): row
        for row in ToolDefinition.objects.filter(
            tool__in=hashes.keys(), hash__in=set(hashes.values())
        )
    }
    missing = [
        _definition_row(tools[name], item, hashes[tools[name].pk], launch=launch, at=at)
        for name, item in listed.items()
        if (tools[name].pk, hashes[tools[name].pk]) not in stored
    ]
    for row in ToolDefinition.objects.bulk_create(missing):
        stored[row.tool_id, row.hash] = row
    return {pk: stored[pk, digest] for pk, digest in hashes.items()}


def _definition_row(
    tool: Tool, listed: Definition, listed_hash: str, *, launch: str, at: datetime
) -> ToolDefinition:
    output = listed.output_schema
    return ToolDefinition(
        tool=tool,
        hash=listed_hash,
        launch_hash=launch,
        text_hash=embedding_text.text_hash(embedding_text.compose(listed)),
        title=definition.storable(listed.title),
        description=definition.storable(listed.description),
        input_schema=definition.storable(dict(listed.input_schema)),
        output_schema=None if output is None else definition.storable(dict(output)),
        annotations=definition.storable(dict(listed.annotations)),
        token_count=token_count.count_definition(
            listed.name, listed.description, listed.input_schema
        ),
        listed_at=at,
    )


def _settle(
    tools: Sequence[Tool], rows: Mapping[int, ToolDefinition], *, at: datetime, auto: bool
) -> None:
    """Bring each listed tool to the state its definition earns; pin what is new."""
    pinned = []
    for tool in tools:
        row = rows[tool.pk]
        tool.state = definition.next_state(
            state=None if tool.definition is None and tool.first_seen_at == at else tool.state,
            known_hash=tool.definition.hash if tool.definition else None,
            new_hash=row.hash,
            auto=auto,
        )
        tool.last_seen_at = at
        if tool.state == Tool.State.ACTIVE and tool.definition is None:
            tool.definition, row.approved_at = row, at
            pinned.append(row)
    ToolDefinition.objects.bulk_update(pinned, ["approved_at"])
    Tool.objects.bulk_update(tools, ["state", "last_seen_at", "definition"])


def _mark_removed(known: Mapping[str, Tool], listed: Mapping[str, Definition]) -> tuple[str, ...]:
    gone = [
        tool
        for name, tool in known.items()
        if name not in listed and tool.state != Tool.State.REMOVED
    ]
    Tool.objects.filter(pk__in=[tool.pk for tool in gone]).update(state=Tool.State.REMOVED)
    return tuple(tool.name for tool in gone)


def approve(tools: Iterable[Tool], *, user: Any, at: datetime) -> tuple[str, ...]:
    """Pin the newest listed definition of each tool; return the ids of those that changed."""
    approved: list[str] = []
    with transaction.atomic():
        for tool in tools:
            newest = tool.definitions.order_by("-listed_at", "-pk").first()
            if newest is None or tool.state == Tool.State.REMOVED:
                continue
            newest.approved_at, newest.approved_by = at, user
            newest.save(update_fields=["approved_at", "approved_by"])
            tool.definition, tool.state = newest, Tool.State.ACTIVE
            tool.save(update_fields=["definition", "state"])
            approved.append(ids.join(tool.server.name, tool.name))
    return tuple(approved)


def load() -> Catalogue:
    """Return the whole catalogue as one value; two queries."""
    matcher = Matcher(danger.load_operations())
    tools = Tool.objects.select_related("server", "definition", "category").filter(
        ~Q(state=Tool.State.REMOVED)
    )
    return Catalogue(
        servers={server.name: _server(server) for server in Server.objects.order_by("name")},
        tools={
            item.tool: item
            for item in (_tool(tool, matcher) for tool in tools.order_by("server__name", "name"))
        },
    )


def _server(server: Server) -> CatalogueServer:
    return CatalogueServer(
        name=server.name,
        team=server.team_id,
        enabled=server.enabled,
        trusted=server.trusted,
        description=server.description,
        last_error=server.last_error,
    )


def _tool(tool: Tool, matcher: Matcher) -> CatalogueTool:
    pinned = tool.definition
    verdict = classify(
        name=tool.name,
        title=pinned.title if pinned else "",
        annotations=pinned.annotations if pinned else {},
        trusted=tool.server.trusted,
        matcher=matcher,
        override=Danger(tool.danger_override) if tool.danger_override else None,
    )
    return CatalogueTool(
        pk=tool.pk,
        tool=ids.join(tool.server.name, tool.name),
        server=tool.server.name,
        name=tool.name,
        title=pinned.title if pinned else "",
        description=pinned.description if pinned else "",
        input_schema=pinned.input_schema if pinned else {},
        output_schema=pinned.output_schema if pinned else None,
        annotations=pinned.annotations if pinned else {},
        definition_hash=pinned.hash if pinned else "",
        token_count=pinned.token_count if pinned else 0,
        category=tool.category.name if tool.category else "",
        danger=verdict.danger,
        danger_reasons=verdict.reasons,
        vetoed=verdict.vetoed,
        state=tool.state,
        enabled=tool.enabled,
        team=tool.server.team_id,
    )
