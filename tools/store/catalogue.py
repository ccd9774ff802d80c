"""The stored catalogue: records what servers list, and loads the snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, Q

from tools import definition, definition_changes, embedding_text, ids, scan, token_count
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import Danger, DangerMatcher
from tools.definition import Definition
from tools.models import Server, Team, Tool, ToolDefinition, ToolGroup
from tools.store import danger, definitions, servers
from tools.tool_groups import GroupIndex, GroupMembers, index_groups

_ToolState = tuple[str, int | None]
"""State of a tool, and primary key of its listed definition."""


@dataclass(frozen=True, kw_only=True)
class ListingChanges:
    """The changes by a listing, as names of tools.

    Attributes:
        added: Seen for the first time.
        changed: Quarantined, since their definition differs from the pinned one.
        restored: Back to their pinned definition, or listed again.
        removed: No longer listed.
        awaiting_approval: Listed but never approved: they need a person's approval, by the
            installation's setting or because of findings in their texts.
        unchanged: Number of the other tools.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    awaiting_approval: tuple[str, ...] = ()
    unchanged: int = 0


def record_listing(
    server_name: str,
    listed: Sequence[Definition],
    *,
    at: datetime,
    approve_new: bool,
    complete: bool = True,
    instructions: str | None = "",
) -> ListingChanges:
    """Store a server's listing; pin new definitions, quarantine changed ones.

    Args:
        server_name: A registered server.
        listed: Its tools; of two with the same name the first counts.
        at: Time of the listing.
        approve_new: Whether tools seen for the first time are approved automatically.
        complete: Whether the listing is complete; if not, missing tools are not marked removed.
        instructions: The server's instructions; None: this is only a part of a listing.

    Raises:
        Server.DoesNotExist: If it is no longer registered.
    """
    by_name: dict[str, Definition] = {}
    for item in listed:
        by_name.setdefault(definition.make_storable(item.name), item)
    with transaction.atomic():
        server = Server.objects.select_for_update().get(name=server_name)
        known = {
            tool.name: tool
            for tool in Tool.objects.filter(server=server).select_related("definition", "server")
        }
        before = {name: (tool.state, tool.listed_id) for name, tool in known.items()}
        created = _create_tools(server, by_name.keys() - known.keys(), at=at)
        tools = known | created
        rows = _store_definitions(tools, by_name, launch=servers.launch_hash(server), at=at)
        present = [tools[name] for name in by_name]
        fresh = {tool.pk for tool in created.values()}
        _settle_states(present, rows, fresh, at=at, auto=approve_new)
        new = [pk for pk, row in rows.items() if row.listed_at == at]
        definitions.delete_old_versions(new)
        gone = _mark_removed(known, by_name) if complete else ()
        if instructions is not None:
            _record_listing_time(server, instructions, at=at, auto=approve_new)
    after = {tool.name: (tool.state, tool.listed_id) for tool in present}
    return _compare_states(before, after, gone)


def _record_listing_time(server: Server, instructions: str, *, at: datetime, auto: bool) -> None:
    """Record a listing; pin a server's first instructions as the definition of a tool is."""
    fields = ["discovered_at"]
    server.discovered_at = at
    text = definition.make_storable(instructions)
    if text != server.instructions:
        server.instructions = text
        fields.append("instructions")
    is_first = text and not server.pinned_instructions
    if is_first and auto and not scan.is_severe(_scan_words(server)):
        server.pinned_instructions = text
        # Named even if it is as before: its trigger is what other processes learn of both by.
        fields += ["instructions", "pinned_instructions"]
    server.save(update_fields=fields)


def _scan_words(server: Server) -> list[scan.Finding]:
    words = Definition(name=server.name, description=server.instructions)
    return scan.scan_definition(words, foreign=_load_foreign_names(server.pk))


class InstructionsChange(NamedTuple):
    """A server's approved and listed instructions, and the findings in the latter."""

    approved: str
    listed: str
    findings: list[scan.Finding]


def load_changed_instructions(server_name: str) -> InstructionsChange | None:
    """Return how a server's instructions differ from the approved ones; None: they do not."""
    server = Server.objects.get(name=server_name)
    if server.instructions in {"", server.pinned_instructions}:
        return None
    return InstructionsChange(server.pinned_instructions, server.instructions, _scan_words(server))


def pin_instructions(server_name: str, *, shown: str) -> bool:
    """Approve a server's instructions; false if they differ from those that a person saw."""
    with transaction.atomic():
        server = Server.objects.select_for_update().get(name=server_name)
        if server.instructions != shown:
            return False
        server.pinned_instructions = shown
        server.save(update_fields=["instructions", "pinned_instructions"])
    return True


def load_shared_instructions() -> dict[str, str]:
    """Return the approved instructions of enabled servers that belong to no team, by name."""
    shared = Server.objects.filter(enabled=True, team=None)
    shared = shared.exclude(instructions="").exclude(pinned_instructions="")
    return dict(shared.order_by("name").values_list("name", "pinned_instructions"))


def _compare_states(
    before: Mapping[str, _ToolState], after: Mapping[str, _ToolState], gone: tuple[str, ...]
) -> ListingChanges:
    differ = [name for name in after if name in before and before[name] != after[name]]
    changed = tuple(name for name in differ if after[name][0] == Tool.State.QUARANTINED)
    return ListingChanges(
        added=tuple(name for name in after if name not in before),
        changed=changed,
        restored=tuple(name for name in differ if name not in changed),
        removed=gone,
        awaiting_approval=tuple(name for name in after if after[name][0] == Tool.State.PENDING),
        unchanged=sum(before.get(name) == state for name, state in after.items()),
    )


def _create_tools(server: Server, names: Iterable[str], *, at: datetime) -> dict[str, Tool]:
    """Insert new tools as pending, since an active tool must have a definition."""
    created = Tool.objects.bulk_create(
        Tool(
            server=server,
            name=name,
            state=Tool.State.PENDING,
            enabled=server.tool_filter.admits(name),
            first_seen_at=at,
            last_seen_at=at,
        )
        for name in sorted(names)
    )
    return {tool.name: tool for tool in created}


def _store_definitions(
    tools: Mapping[str, Tool], listed: Mapping[str, Definition], *, launch: str, at: datetime
) -> dict[int, ToolDefinition]:
    """Return the row of each listed definition by tool, inserting new ones.

    One that differs from the pinned definition in ignored places only counts as the pinned one:
    a server with ever-changing texts would otherwise add a row at each start.
    """
    hashes = _identify_definitions(tools, listed)
    stored = {
        (row.tool_id, row.hash): row
        for row in ToolDefinition.objects.filter(
            tool__in=hashes.keys(), hash__in=set(hashes.values())
        )
    }
    unseen = [name for name in listed if (tools[name].pk, hashes[tools[name].pk]) not in stored]
    foreign = _load_foreign_names(tools[unseen[0]].server_id) if unseen else frozenset()
    foreign -= scan.foreign_names(listed)
    missing = [
        _make_definition_row(
            tools[name],
            listed[name],
            hashes[tools[name].pk],
            launch=launch,
            at=at,
            findings=scan.scan_definition(listed[name], foreign=foreign),
        )
        for name in unseen
    ]
    for row in ToolDefinition.objects.bulk_create(missing):
        stored[row.tool_id, row.hash] = row
    return {pk: stored[pk, digest] for pk, digest in hashes.items()}


def _identify_definitions(
    tools: Mapping[str, Tool], listed: Mapping[str, Definition]
) -> dict[int, str]:
    """Return by tool the hash of what is listed, or of the pinned definition that it is."""
    hashes = {tools[name].pk: item.hash for name, item in listed.items()}
    pins = {name: tools[name].definition for name in listed}
    for name, row in pins.items():
        if row is not None:
            pinned = definitions.to_definition(tools[name], row)
            hashes[row.tool_id] = definition.identify(
                listed[name], pinned=pinned, pinned_hash=row.hash
            )
    hashes |= {row.tool_id: row.hash for row in _load_accepted(tools, listed)}
    former = [
        tools[name]
        for name, row in pins.items()
        if row is not None and row.extras is None and row.hash == hashes[row.tool_id]
    ]
    if former:
        foreign = _load_foreign_names(former[0].server_id) - scan.foreign_names(listed)
        for name in definitions.adopt_extras(former, listed, foreign=foreign):
            hashes[tools[name].pk] = listed[name].hash
    return hashes


def _load_accepted(
    tools: Mapping[str, Tool], listed: Mapping[str, Definition]
) -> list[ToolDefinition]:
    """Return the pinned definitions of tools that differ from them in ignored places only."""
    lenient = [tools[name] for name in listed if tools[name].ignored_places]
    if not lenient:
        return []
    foreign = _load_foreign_names(lenient[0].server_id) - scan.foreign_names(listed)
    return definitions.find_accepted_definitions(lenient, listed, foreign=foreign)


def _load_foreign_names(server: int) -> frozenset[str]:
    """Return the names of other servers' tools, to find instructions about them in texts."""
    others = Tool.objects.exclude(server=server).exclude(state=Tool.State.REMOVED)
    return scan.foreign_names(others.values_list("name", flat=True))


def _make_definition_row(
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
        text_hash=embedding_text.compose_text(listed, server=tool.server.name).digest,
        title=definition.make_storable(listed.title),
        description=definition.make_storable(listed.description),
        input_schema=definition.make_storable(dict(listed.input_schema)),
        output_schema=None if output is None else definition.make_storable(dict(output)),
        annotations=definition.make_storable(dict(listed.annotations)),
        extras=definition.make_storable(dict(listed.extras or {})),
        token_count=token_count.count_definition(
            listed.name, listed.description, listed.input_schema
        ),
        findings=definition.make_storable(list(findings)),
        listed_at=at,
    )


def _settle_states(
    tools: Sequence[Tool],
    rows: Mapping[int, ToolDefinition],
    fresh: Collection[int],
    *,
    at: datetime,
    auto: bool,
) -> None:
    """Set the state of each listed tool by its definition; pin new definitions."""
    pinned, changed = [], []
    for tool in tools:
        row = rows[tool.pk]
        before = (tool.state, tool.listed_id)
        tool.listed = row
        tool.state = definition.decide_next_state(
            state=None if tool.pk in fresh else tool.state,
            known_hash=tool.definition.hash if tool.definition else None,
            new_hash=row.hash,
            auto=auto and not scan.is_severe(row.findings),
        )
        if tool.state == Tool.State.ACTIVE and tool.definition is None:
            tool.definition, row.approved_at = row, at
            pinned.append(row)
        if before != (tool.state, tool.listed_id):
            changed.append(tool)
    ToolDefinition.objects.bulk_update(pinned, ["approved_at"])
    Tool.objects.bulk_update(changed, ["state", "definition", "listed"])
    # Separately: this must not notify other processes.
    Tool.objects.filter(pk__in=[tool.pk for tool in tools]).update(last_seen_at=at)


def _mark_removed(known: Mapping[str, Tool], listed: Mapping[str, Definition]) -> tuple[str, ...]:
    gone = [
        tool
        for name, tool in known.items()
        if name not in listed and tool.state != Tool.State.REMOVED
    ]
    Tool.objects.filter(pk__in=[tool.pk for tool in gone]).update(state=Tool.State.REMOVED)
    return tuple(tool.name for tool in gone)


def approve_tools(
    tools: Iterable[Tool],
    *,
    user: Any,
    at: datetime,
    shown: Mapping[int, str] | None = None,
    ignore: Mapping[int, Collection[str]] | None = None,
) -> dict[str, str]:
    """Pin the listed definitions of tools; return the pinned hashes by tool id.

    A tool that is removed, or active as listed, stays unchanged.

    Args:
        tools: Tools to approve.
        user: The approving person.
        at: Current time.
        shown: Hash of the definition that the person saw, by primary key; a tool with another
            listed definition stays unchanged.
        ignore: By primary key, JSON pointers to places of the definition to ignore when it is
            compared with later ones. Places ignored before stay ignored while they are ignorable.

    Raises:
        NotIgnorable: If a place must not be ignored; nothing is approved then.
    """
    approved: dict[str, str] = {}
    with transaction.atomic():
        chosen = list(tools)
        # Listings take this lock too, so that neither undoes the other.
        servers_to_lock = Server.objects.select_for_update().filter(
            pk__in={tool.server_id for tool in chosen}
        )
        list(servers_to_lock.order_by("pk"))
        rows = Tool.objects.filter(pk__in=[tool.pk for tool in chosen], listed__isnull=False)
        for tool in rows.select_related("server", "listed").order_by("server__name", "name"):
            is_approved = tool.state == Tool.State.ACTIVE and tool.definition_id == tool.listed_id
            if tool.state == Tool.State.REMOVED or is_approved or tool.listed is None:
                continue
            if shown is not None and shown.get(tool.pk) != tool.listed.hash:
                continue
            tool.listed.approved_at, tool.listed.approved_by = at, user
            tool.listed.save(update_fields=["approved_at", "approved_by"])
            tool.ignored_places = _merge_ignored_places(
                tool, tool.listed, (ignore or {}).get(tool.pk, ())
            )
            tool.definition, tool.state = tool.listed, Tool.State.ACTIVE
            tool.save(update_fields=["definition", "state", "ignored_places"])
            approved[ids.join_id(tool.server.name, tool.name)] = tool.listed.hash
    return approved


def _merge_ignored_places(tool: Tool, row: ToolDefinition, more: Collection[str]) -> list[str]:
    listed = definitions.to_definition(tool, row)
    definition_changes.require_ignorable(listed, more)
    return sorted({*definition_changes.filter_ignorable(listed, tool.ignored_places), *more})


def load_catalogue() -> Catalogue:
    """Load the whole catalogue; five queries, six if tools are quarantined."""
    matcher = DangerMatcher(danger.load_patterns())
    tools = Tool.objects.select_related("server", "definition", "category").filter(
        ~Q(state=Tool.State.REMOVED)
    )
    tools = tools.annotate(listed_findings=F("listed__findings"))
    rows = list(tools.order_by("server__name", "name"))
    quarantined = [tool.pk for tool in rows if tool.state == Tool.State.QUARANTINED]
    changed = definitions.load_changed_places(quarantined) if quarantined else {}
    groups = list(ToolGroup.objects.order_by("name"))
    index = index_groups(map(_to_members, groups))
    tools_by_id = {
        item.tool: item
        for item in (
            _to_catalogue_tool(tool, matcher, changed.get(tool.pk, ()), index) for tool in rows
        )
    }
    partial_groups: dict[str, set[str]] = {}
    for item in tools_by_id.values():
        if item.groups:
            partial_groups.setdefault(item.server, set()).update(item.groups)
    return Catalogue(
        servers={
            server.name: _to_catalogue_server(
                server,
                whole_groups=index.by_server.get(server.name, frozenset()),
                groups=partial_groups.get(server.name, ()),
            )
            for server in Server.objects.defer("last_output").order_by("name")
        },
        tools=tools_by_id,
        groups={group.name: group.team_id for group in groups},
        approve_from={
            team.pk: Danger(team.approve_from)
            for team in Team.objects.exclude(approve_from=Team.ApproveFrom.DANGEROUS)
        },
    )


def _to_members(group: ToolGroup) -> GroupMembers:
    return GroupMembers(
        name=group.name,
        servers=frozenset(group.servers),
        categories=frozenset(group.categories),
        tools=frozenset(group.tools),
    )


def _to_catalogue_server(
    server: Server, *, whole_groups: frozenset[str], groups: Iterable[str]
) -> CatalogueServer:
    return CatalogueServer(
        name=server.name,
        team=server.team_id,
        enabled=server.enabled,
        trusted=server.trusted,
        description=server.description,
        instructions=server.pinned_instructions if server.instructions else "",
        last_error=server.last_error,
        unprefixed=server.unprefixed,
        session=server.session,
        authorization=server.authorization,
        capabilities=None if server.capabilities is None else frozenset(server.capabilities),
        call_timeout_s=server.call_timeout_s,
        launch_hash=servers.launch_hash(server),
        price_per_call=server.price_per_call,
        groups=whole_groups.union(groups),
        whole_groups=whole_groups,
    )


def _to_catalogue_tool(
    tool: Tool, matcher: DangerMatcher, changed_places: tuple[str, ...], groups: GroupIndex
) -> CatalogueTool:
    pinned = tool.definition
    tool_id = ids.join_id(tool.server.name, tool.name)
    category = tool.category.name if tool.category else ""
    verdict = danger.judge_tool(tool, matcher)
    return CatalogueTool(
        pk=tool.pk,
        tool=tool_id,
        server=tool.server.name,
        name=tool.name,
        title=pinned.title if pinned else "",
        description=pinned.description if pinned else "",
        input_schema=pinned.input_schema if pinned else {},
        output_schema=pinned.output_schema if pinned else None,
        annotations=pinned.annotations if pinned else {},
        extras=pinned.extras if pinned else {},
        definition_hash=pinned.hash if pinned else "",
        token_count=pinned.token_count if pinned else 0,
        category=category,
        danger=verdict.danger,
        danger_reasons=verdict.reasons,
        vetoed=verdict.vetoed,
        veto_reasons=verdict.veto_reasons,
        read_doubt=danger.explain_read_doubt(tool, verdict, matcher),
        launch_hash=pinned.launch_hash if pinned else "",
        state=tool.state,
        enabled=tool.enabled,
        team=tool.server.team_id,
        pinned=tool.pinned,
        findings=tuple(map(scan.announce_finding, getattr(tool, "listed_findings", None) or ())),
        repeatable=danger.is_repeatable(tool),
        approval=tool.approval,
        destructive_by=verdict.destructive_by,
        ignored_places=tuple(tool.ignored_places),
        changed_places=changed_places,
        groups=groups.find_groups(tool_id, server=tool.server.name, category=category),
    )
