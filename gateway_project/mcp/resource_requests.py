"""Handlers for what servers offer beside tools: translate, ask the servers, translate back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import anyio
import structlog
from mcp_types import EmptyResult, SubscriptionsListenRequestParams

from gateway_project import pass_through
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.mcp import (
    changes,
    client_state,
    interaction,
    large_results,
    listings,
    questions,
    task_requests,
)
from gateway_project.mcp.changes import ChangeHub
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.interaction import UpstreamTurn
from gateway_project.mcp.results import ServerReply
from gateway_project.pass_through import (
    PassThroughError,
    ReadNotPermitted,
    UnknownResource,
    UnknownSkill,
)
from tools import ids, pinned_content, resource_uris, skills, ui_pages
from tools.pinned_content import ContentUnavailable
from tools.resource_uris import ResourceAddress, exposed_skill_uri
from tools.skills import Entry
from tools.upstream.errors import UpstreamError
from tools.upstream.request import Downstream, UpstreamRequest

SUBSCRIBE_METHOD = "resources/subscribe"
UNSUBSCRIBE_METHOD = "resources/unsubscribe"

log = structlog.get_logger(__name__)


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


async def subscribe(request: ClientRequest, params: Mapping[str, Any]) -> EmptyResult:
    """Serve `resources/subscribe`, for clients of the handshake era."""
    state = client_state.state_of(request.ctx)
    state.client_key, watched = request.caller.client_key, state.watched_resources
    if not watched:
        state.at_end.push_async_callback(_release_all, request, watched)
    await _watch_resource(request, str(params["uri"]), watched)
    return EmptyResult()


async def unsubscribe(request: ClientRequest, params: Mapping[str, Any]) -> EmptyResult:
    """Serve `resources/unsubscribe`; unsubscribes at the server once no stream is left."""
    uri = str(params["uri"])
    watched = client_state.state_of(request.ctx).watched_resources
    released = [address for address, known_as in watched.items() if known_as == uri]
    for address in released:
        del watched[address]
    await _release_resources(request, released)
    return EmptyResult()


async def listen(request: ClientRequest, params: Mapping[str, Any]) -> NoReturn:
    """Serve `subscriptions/listen` with resources or MCP tasks among the subscriptions.

    The acknowledgement leaves out resources that the caller cannot read, and tasks that are no run
    of theirs.
    """
    asked = SubscriptionsListenRequestParams.model_validate(params, by_name=False)
    watched: dict[ResourceAddress, str] = {}
    try:
        for uri in asked.notifications.resource_subscriptions or []:
            try:
                await _watch_resource(request, str(uri), watched)
            except (PassThroughError, UpstreamError) as error:
                log.info("subscriptions.refused", uri=str(uri), reason=str(error))
        task_ids = (asked.notifications.model_extra or {}).get(changes.TASK_IDS)
        await changes.serve_listen(
            _get_change_hub(request),
            request.ctx,
            asked,
            watched,
            client=request.caller.client_key,
            tasks=await task_requests.find_followed(request, task_ids),
        )
    finally:
        with anyio.move_on_after(client_state.CLOSE_TIMEOUT_S, shield=True):
            await _release_all(request, watched)


async def _watch_resource(
    request: ClientRequest, uri: str, watched: dict[ResourceAddress, str]
) -> None:
    address = await pass_through.find_resource(
        request.effects, request.caller, request.build_downstream(), uri
    )
    await _send(request, address.server, SUBSCRIBE_METHOD, address.uri)
    watched[address] = uri


async def _release_all(request: ClientRequest, watched: dict[ResourceAddress, str]) -> None:
    released = list(watched)
    watched.clear()
    await _release_resources(request, released)


async def _release_resources(request: ClientRequest, released: Iterable[ResourceAddress]) -> None:
    for address in released:
        # The pool counts clients; another stream of this one may still watch the resource.
        if _get_change_hub(request).is_watching(request.caller.client_key, address):
            continue
        try:
            await _send(request, address.server, UNSUBSCRIBE_METHOD, address.uri)
        except (PassThroughError, UpstreamError) as error:
            log.info("subscriptions.unsubscribe_failed", uri=address.uri, reason=str(error))


def _get_change_hub(request: ClientRequest) -> ChangeHub:
    hub: ChangeHub = request.ctx.lifespan_context.changes
    return hub


async def read_resource(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `resources/read` for a server's resource or a stored result."""
    uri = str(params["uri"])
    effects, caller = request.effects, request.caller
    result_id = resource_uris.result_id(uri)
    if result_id is not None:
        text = await pass_through.read_stored_result(effects, caller, result_id)
        blobs = await run_in_worker_thread(large_results.parse_stored_blob, text)
        contents = blobs or [{"mimeType": large_results.MIME_TYPE, "text": text}]
        return ServerReply(raw={"contents": [{"uri": uri, **one} for one in contents]})
    downstream = request.build_downstream()
    address = await pass_through.find_resource(effects, caller, downstream, uri)
    reply = await _conclude_request(
        request, address.server, address.uri, {**request.forwardable_params, "uri": address.uri}
    )
    if questions.is_input_required(reply.raw):
        return reply
    if not ui_pages.is_page(address.uri):
        if pass_through.may_have_skills(effects, address.server):
            return await admit_file(request, address, reply)
        return reply
    page = await pass_through.admit_page(
        effects, caller, downstream, reply.raw, address=address, uri=uri
    )
    return replace(reply, raw=page)


async def get_prompt(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `prompts/get`."""
    server, name = await pass_through.find_prompt(
        request.effects, request.caller, request.build_downstream(), params["name"]
    )
    return await _conclude_request(
        request, server, name, {**request.forwardable_params, "name": name}
    )


async def complete_argument(request: ClientRequest, _: Mapping[str, Any]) -> ServerReply:
    """Serve `completion/complete` for a prompt's argument or a template's variable."""
    effects, caller, downstream = request.effects, request.caller, request.build_downstream()
    params = request.forwardable_params
    ref = params["ref"] = dict(params["ref"])
    if ref.get("type") == "ref/prompt":
        server, ref["name"] = await pass_through.find_prompt(
            effects, caller, downstream, ref["name"]
        )
    else:
        address = await _find_template(request, downstream, ref["uri"])
        server, ref["uri"] = address.server, address.uri
    turn = UpstreamTurn(downstream=downstream, progress=interaction.find_progress(request.ctx))
    sent = request.build_upstream_request(turn, params)
    return ServerReply(raw=await pass_through.send_request(effects, caller, server, sent))


async def set_level(request: ClientRequest, params: Mapping[str, Any]) -> EmptyResult:
    """Serve `logging/setLevel`, for clients of the handshake era.

    A server is sent the level with the client's next request, if it would log too little for it.
    """
    client_state.state_of(request.ctx).log_level = params["level"]
    return EmptyResult()


async def _conclude_request(
    request: ClientRequest, server: str, name: str, params: Mapping[str, Any]
) -> ServerReply:
    """Send a request for a server's item, and return the server's result."""

    async def operation(turn: UpstreamTurn) -> ServerReply:
        raw = await pass_through.send_request(
            request.effects, request.caller, server, request.build_upstream_request(turn, params)
        )
        return ServerReply(raw=raw)

    reply = await request.conclude_request(lambda: ids.join_id(server, name), operation)
    request.effects.item_lists.note_links(server, reply.raw, caller=request.caller)
    return reply


async def _find_template(
    request: ClientRequest, downstream: Downstream, uri: str
) -> ResourceAddress:
    """Return the address of a template, named as listed or as its server names it."""
    effects, caller = request.effects, request.caller
    try:
        return await pass_through.find_template(effects, caller, downstream, uri)
    except UnknownResource:  # a completion may refer to a resource, too
        return await pass_through.find_resource(effects, caller, downstream, uri)
