"""The stored catalogue: recording what servers list, loading it as one value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from tools import definition, embedding_text, ids, scan, token_count
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import Danger, Matcher
from tools.definition import Definition
from tools.models import Server, Team, Tool, ToolDefinition
from tools.store import danger, servers

_Standing = tuple[str, int | None]
"""State of a tool, and the definition its server lists."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What recording a listing changed, by tool name.

    Attributes:
        added: Seen for the first time.
        changed: Quarantined, since their definition differs from the pinned one.
        restored: Back to their pinned definition, or listed again.
        removed: No longer listed.
        held: Listed and never approved: they wait for a person, by the installation's rule or
            for what was found in their texts.
        unchanged: Number of the rest.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    unchanged: int = 0


def record_listing(
    server_name: str,
    listed: Sequence[Definition],
    *,
    at: datetime,
    approve_new: bool,
    complete: bool = True,
    instructions: str = "",
) -> Recorded:
    """Store what a server lists now; pin what is new, quarantine what changed.

    Args:
        server_name: A registered server.
        listed: Its tools; of two with one name the first counts.
        at: Time of the listing.
        approve_new: Whether tools seen for the first time may be used at once.
        complete: Whether this is all the server has; else what is missing is not taken as gone.
        instructions: What the server says of itself.

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
        before = {name: (tool.state, tool.listed_id) for name, tool in known.items()}
        created = _create_tools(server, by_name.keys() - known.keys(), at=at)
        tools = known | created
        rows = _store_definitions(tools, by_name, launch=servers.launch_hash(server), at=at)
        present = [tools[name] for name in by_name]
        fresh = {tool.pk for tool in created.values()}
        _settle(present, rows, fresh, at=at, auto=approve_new)
        gone = _mark_removed(known, by_name) if complete else ()
        _note_listing(server, instructions, at=at)
    after = {tool.name: (tool.state, tool.listed_id) for tool in present}
    return _recorded(before, after, gone)


def _note_listing(server: Server, instructions: str, *, at: datetime) -> None:
    fields = ["discovered_at"]
    server.discovered_at = at
    text = definition.storable(instructions)
    if text != server.instructions:
        server.instructions = text
        fields.append("instructions")
    server.save(update_fields=fields)


def _recorded(
    before: Mapping[str, _Standing], after: Mapping[str, _Standing], gone: tuple[str, ...]
) -> Recorded:
    differ = [name for name in after if name in before and before[name] != after[name]]
    changed = tuple(name for name in differ if after[name][0] == Tool.State.QUARANTINED)
    return Recorded(
        added=tuple(name for name in after if name not in before),
        changed=changed,
        restored=tuple(name for name in differ if name not in changed),
        removed=gone,
        held=tuple(name for name in after if after[name][0] == Tool.State.PENDING),
        unchanged=sum(before.get(name) == standing for name, standing in after.items()),
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
    unseen = [name for name in listed if (tools[name].pk, hashes[tools[name].pk]) not in stored]
    foreign = _foreign_names(tools[unseen[0]].server_id) if unseen else frozenset()
    foreign -= scan.foreign_names(listed)
    missing = [
        _definition_row(
            tools[name],
            listed[name],
            hashes[tools[name].pk],
            launch=launch,
            at=at,
            findings=scan.scan(listed[name], foreign=foreign),
        )
        for name in unseen
    ]
    for row in ToolDefinition.objects.bulk_create(missing):
        stored[row.tool_id, row.hash] = row
    return {pk: stored[pk, digest] for pk, digest in hashes.items()}


def _foreign_names(server: int) -> frozenset[str]:
    """Return the names of other servers' tools, to see whether a text gives rules for them."""
    others = Tool.objects.exclude(server=server).exclude(state=Tool.State.REMOVED)
    return scan.foreign_names(others.values_list("name", flat=True))


def _definition_row(
    tool: Tool,
    listed: Definition,
    listed_hash: str,
    *,
    launch: str,
    at: datetime,
    findings: Sequence[scan.Finding],
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
        findings=definition.storable(list(findings)),
        listed_at=at,
    )


def _settle(
    tools: Sequence[Tool],
    rows: Mapping[int, ToolDefinition],
    fresh: Collection[int],
    *,
    at: datetime,
    auto: bool,
) -> None:
    """Bring each listed tool to the state its definition earns; pin what is new."""
    pinned, moved = [], []
    for tool in tools:
        row = rows[tool.pk]
        stood = (tool.state, tool.listed_id)
        tool.listed = row
        tool.state = definition.next_state(
            state=None if tool.pk in fresh else tool.state,
            known_hash=tool.definition.hash if tool.definition else None,
            new_hash=row.hash,
            auto=auto and not scan.is_severe(row.findings),
        )
        if tool.state == Tool.State.ACTIVE and tool.definition is None:
            tool.definition, row.approved_at = row, at
            pinned.append(row)
        if stood != (tool.state, tool.listed_id):
            moved.append(tool)
    ToolDefinition.objects.bulk_update(pinned, ["approved_at"])
    Tool.objects.bulk_update(moved, ["state", "definition", "listed"])
    # Apart from the rest: being seen again is nothing that other processes need to hear of.
    Tool.objects.filter(pk__in=[tool.pk for tool in tools]).update(last_seen_at=at)


def _mark_removed(known: Mapping[str, Tool], listed: Mapping[str, Definition]) -> tuple[str, ...]:
    gone = [
        tool
        for name, tool in known.items()
        if name not in listed and tool.state != Tool.State.REMOVED
    ]
    Tool.objects.filter(pk__in=[tool.pk for tool in gone]).update(state=Tool.State.REMOVED)
    return tuple(tool.name for tool in gone)


def approve(
    tools: Iterable[Tool], *, user: Any, at: datetime, shown: Mapping[int, str] | None = None
) -> dict[str, str]:
    """Pin what their servers list now; return what was pinned: definition hash by tool id.

    A tool that is gone, or active as it is listed, is left as it is.

    Args:
        tools: Tools that a person approves.
        user: That person.
        at: When.
        shown: Hash of the definition that the person saw, by primary key; a tool that is listed
            otherwise by now is left as it is.
    """
    approved: dict[str, str] = {}
    with transaction.atomic():
        chosen = list(tools)
        # The lock that a listing takes too, so that neither undoes the other.
        servers_held = Server.objects.select_for_update().filter(
            pk__in={tool.server_id for tool in chosen}
        )
        list(servers_held.order_by("pk"))
        rows = Tool.objects.filter(pk__in=[tool.pk for tool in chosen], listed__isnull=False)
        for tool in rows.select_related("server", "listed").order_by("server__name", "name"):
            stands = tool.state == Tool.State.ACTIVE and tool.definition_id == tool.listed_id
            if tool.state == Tool.State.REMOVED or stands or tool.listed is None:
                continue
            if shown is not None and shown.get(tool.pk) != tool.listed.hash:
                continue
            tool.listed.approved_at, tool.listed.approved_by = at, user
            tool.listed.save(update_fields=["approved_at", "approved_by"])
            tool.definition, tool.state = tool.listed, Tool.State.ACTIVE
            tool.save(update_fields=["definition", "state"])
            approved[ids.join(tool.server.name, tool.name)] = tool.listed.hash
    return approved


def load() -> Catalogue:
    """Return the whole catalogue as one value; four queries."""
    matcher = Matcher(danger.load_operations())
    tools = Tool.objects.select_related("server", "definition", "category").filter(
        ~Q(state=Tool.State.REMOVED)
    )
    tools = tools.annotate(listed_findings=F("listed__findings"))
    return Catalogue(
        servers={server.name: _server(server) for server in Server.objects.order_by("name")},
        tools={
            item.tool: item
            for item in (_tool(tool, matcher) for tool in tools.order_by("server__name", "name"))
        },
        approve_from={
            team.pk: Danger(team.approve_from)
            for team in Team.objects.exclude(approve_from=Team.ApproveFrom.DANGEROUS)
        },
    )


def _server(server: Server) -> CatalogueServer:
    return CatalogueServer(
        name=server.name,
        team=server.team_id,
        enabled=server.enabled,
        trusted=server.trusted,
        description=server.description or server.instructions,
        last_error=server.last_error,
        unprefixed=server.unprefixed,
        session=server.session,
        authorization=server.authorization,
        capabilities=None if server.capabilities is None else frozenset(server.capabilities),
        call_timeout_s=server.call_timeout_s,
    )


def _tool(tool: Tool, matcher: Matcher) -> CatalogueTool:
    pinned = tool.definition
    verdict = danger.judge(tool, matcher)
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
        pinned=tool.pinned,
        findings=tuple(map(scan.announce, getattr(tool, "listed_findings", None) or ())),
        repeatable=danger.is_repeatable(tool),
        approval=tool.approval,
        destructive_by=verdict.destructive_by,
    )
