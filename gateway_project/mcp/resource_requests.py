"""Handlers for resources, prompts and completions: translate, ask the servers, translate back."""

from __future__ import annotations

from typing import Any

from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    TextResourceContents,
)

from gateway_project import pass_through
from gateway_project.mcp import client_state, large_results, results
from gateway_project.mcp.client_request import ClientRequest, requester_in_turn
from gateway_project.mcp.interaction import ServerReply, UpstreamTurn
from gateway_project.pass_through import Requester, UnknownResource
from tools import ids, resource_uris
from tools.resource_uris import ResourceAddress


async def read_resource(
    request: ClientRequest, params: ReadResourceRequestParams
) -> ReadResourceResult:
    """Serve `resources/read` for a server's resource or a stored result."""
    uri = str(params.uri)
    requester = request.build_requester()
    result_id = resource_uris.result_id(uri)
    if result_id is not None:
        text = await pass_through.read_stored_result(request.effects, requester, result_id)
        contents = TextResourceContents(uri=uri, mime_type=large_results.MIME_TYPE, text=text)
        return ReadResourceResult(contents=[contents])
    address = await pass_through.find_resource(request.effects, requester, uri)

    async def read(turn: UpstreamTurn) -> ServerReply:
        params = request.build_params(turn, uri=address.uri)
        return ServerReply(
            raw=await _send_request(
                request, requester_in_turn(requester, turn), address.server, params
            )
        )

    results.carry_result(
        (
            await request.conclude_request(lambda: ids.join_id(address.server, address.uri), read)
        ).raw
    )
    return ReadResourceResult(contents=[])


async def get_prompt(request: ClientRequest, params: GetPromptRequestParams) -> GetPromptResult:
    """Serve `prompts/get`."""
    requester = request.build_requester()
    prompt = await pass_through.find_prompt(request.effects, requester, params.name)

    async def get(turn: UpstreamTurn) -> ServerReply:
        params = request.build_params(turn, name=prompt.name)
        return ServerReply(
            raw=await _send_request(
                request, requester_in_turn(requester, turn), prompt.server, params
            )
        )

    results.carry_result(
        (await request.conclude_request(lambda: ids.join_id(prompt.server, prompt.name), get)).raw
    )
    return GetPromptResult(messages=[])


async def complete_argument(request: ClientRequest, _: CompleteRequestParams) -> CompleteResult:
    """Serve `completion/complete` for a prompt's argument or a template's variable."""
    requester = request.build_requester()
    ref = dict(request.forwardable_params["ref"])
    if ref.get("type") == "ref/prompt":
        prompt = await pass_through.find_prompt(request.effects, requester, ref["name"])
        server, ref["name"] = prompt.server, prompt.name
    else:
        address = await _find_template(request, requester, ref["uri"])
        server, ref["uri"] = address.server, address.uri
    turn = UpstreamTurn(downstream=requester.downstream, progress=requester.progress)
    results.carry_result(
        await _send_request(request, requester, server, request.build_params(turn, ref=ref))
    )
    return CompleteResult(completion=Completion(values=[]))


async def set_level(request: ClientRequest, params: SetLevelRequestParams) -> EmptyResult:
    """Serve `logging/setLevel`, for clients of the handshake era."""
    client_state.state_of(request.ctx).log_level = params.level
    await pass_through.set_log_level(request.effects, request.build_requester(), params.level)
    return EmptyResult()


async def _send_request(
    request: ClientRequest, requester: Requester, server: str, params: dict[str, Any]
) -> dict[str, Any]:
    return await pass_through.send_request(
        request.effects, requester, server, request.ctx.method, params
    )


async def _find_template(
    request: ClientRequest, requester: Requester, uri: str
) -> ResourceAddress:
    """Return the address of a template, named as listed or as its server names it."""
    try:
        return await pass_through.find_template(request.effects, requester, uri)
    except UnknownResource:  # a completion may refer to a resource, too
        return await pass_through.find_resource(request.effects, requester, uri)
