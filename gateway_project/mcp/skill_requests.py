"""Serves skills of servers (SEP-2640): lists, entries, folders, and the check of their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gateway_project import pass_through
from gateway_project.mcp import listings
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import ServerReply
from gateway_project.pass_through import ReadNotPermitted, UnknownSkill
from tools import pinned_content, skills
from tools.pinned_content import ContentUnavailable
from tools.resource_uris import ResourceAddress, exposed_skill_uri
from tools.skills import Entry
from tools.upstream.request import UpstreamRequest


async def list_skills(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `skills/list`."""
    effects, caller = request.effects, request.caller
    try:
        listed = await pass_through.list_skills(effects, caller, request.build_downstream())
    except ReadNotPermitted:  # a list holds only what its caller may see
        return listings.make_page("skills", [], params, key="uri", ttl_ms=listings.TTL_MS)
    entries = {server: listing.items for server, listing in listed.by_server.items()}
    passing = await effects.content.admit_skills(entries, partial(partial, _read_file, request))
    counts = Counter(server for server, _ in passing)
    for server, items in entries.items():
        if counts[server] < len(items):  # no server need say so when it lists others
            effects.item_lists.mark_changed(server, ("skills",))
    shown = [skills.expose_entry(entry, server) for server, entry in passing]
    ttl_ms = listings.INCOMPLETE_TTL_MS if listed.missing else listings.TTL_MS
    return listings.make_page("skills", shown, params, key="uri", ttl_ms=ttl_ms)


async def get_skill(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `skills/get`: the entry as its server has it now."""
    address = await _find_address(request, str(params["uri"]))
    entry = await _admit_entry(request, address.server, address.uri)
    shown = skills.expose_entry(entry, address.server)
    return ServerReply(raw={"skill": shown, "ttlMs": listings.TTL_MS, "cacheScope": "private"})


async def read_directory(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `resources/directory/read` from what is approved of a skill, not from its server.

    Raises:
        UnknownSkill: If it is no folder of a skill.
        ContentUnavailable: If it is one of a skill that waits for a person.
    """
    uri = str(params["uri"])
    address = await _find_address(request, uri)
    entries = await pinned_content.load_approved_skills(address.server, address.uri)
    children = skills.list_directory(entries.values(), address.uri)
    if children is None:
        raise UnknownSkill(uri)
    items = [
        {**child, "uri": exposed_skill_uri(address.server, child["uri"])} for child in children
    ]
    return listings.make_page("resources", items, params, key="uri", ttl_ms=listings.TTL_MS)


async def admit_file(
    request: ClientRequest, address: ResourceAddress, reply: ServerReply
) -> ServerReply:
    """Return what was read of a server with skills, if it is as pinned or of no skill.

    Raises:
        ContentUnavailable: If it is not as it was pinned.
    """
    refresh = partial(_admit_entry, request, address.server)
    await request.effects.content.admit_file(address.server, address.uri, reply.raw, refresh)
    contents = reply.raw.get("contents")
    if not isinstance(contents, list):
        return reply
    asked = str((request.ctx.params or {})["uri"])
    named = [
        {**one, "uri": asked}
        if isinstance(one, Mapping) and one.get("uri") == address.uri
        else one
        for one in contents
    ]
    return replace(reply, raw={**reply.raw, "contents": named})


async def _find_address(request: ClientRequest, uri: str) -> ResourceAddress:
    return await pass_through.find_skill(
        request.effects, request.caller, request.build_downstream(), uri
    )


async def _admit_entry(request: ClientRequest, server: str, uri: str) -> Entry:
    """Return a skill's entry as its server has it now, if it is as it was pinned.

    Raises:
        UnknownSkill: If the server has no such skill.
        ContentUnavailable: If it is not as it was pinned.
    """
    raw = await _send(request, server, skills.GET_METHOD, uri)
    found = raw.get("skill")
    if not isinstance(found, Mapping) or found.get("uri") != uri:
        raise UnknownSkill(uri)
    try:
        return await request.effects.content.admit_skill(
            server, found, partial(_read_file, request, server)
        )
    except ContentUnavailable:
        request.effects.item_lists.mark_changed(server, ("skills",))
        raise


async def _read_file(request: ClientRequest, server: str, uri: str) -> Mapping[str, Any]:
    return await _send(request, server, "resources/read", uri)


async def _send(request: ClientRequest, server: str, method: str, uri: str) -> dict[str, Any]:
    sent = UpstreamRequest(
        method=method, params={"uri": uri}, downstream=request.build_downstream()
    )
    return await pass_through.send_request(request.effects, request.caller, server, sent)
