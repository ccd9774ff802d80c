"""Handlers for resources, prompts and completions: translate, ask the servers, translate back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp_types import EmptyResult

from gateway_project import pass_through
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.mcp import client_state, interaction, large_results, questions, skill_requests
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.interaction import UpstreamTurn
from gateway_project.mcp.results import ServerReply
from gateway_project.pass_through import UnknownResource
from tools import ids, resource_uris, ui_pages
from tools.resource_uris import ResourceAddress
from tools.upstream.downstream import Downstream


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
            return await skill_requests.admit_file(request, address, reply)
        return reply
    page = await pass_through.admit_page(
        effects, caller, downstream, reply.raw, address=address, uri=uri
    )
    return replace(reply, raw=page)


async def get_prompt(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `prompts/get`."""
    prompt = await pass_through.find_prompt(
        request.effects, request.caller, request.build_downstream(), params["name"]
    )
    return await _conclude_request(
        request, prompt.server, prompt.name, {**request.forwardable_params, "name": prompt.name}
    )


async def complete_argument(request: ClientRequest, _: Mapping[str, Any]) -> ServerReply:
    """Serve `completion/complete` for a prompt's argument or a template's variable."""
    effects, caller, downstream = request.effects, request.caller, request.build_downstream()
    params = request.forwardable_params
    ref = params["ref"] = dict(params["ref"])
    if ref.get("type") == "ref/prompt":
        prompt = await pass_through.find_prompt(effects, caller, downstream, ref["name"])
        server, ref["name"] = prompt.server, prompt.name
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
