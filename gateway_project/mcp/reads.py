"""Resources, prompts and completions of servers: translate, ask the flow, translate back."""

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
from gateway_project.mcp.asked import Asked, taking
from gateway_project.mcp.interaction import Reply, Turn
from gateway_project.pass_through import UnknownResource, Who
from tools import ids, resource_uris
from tools.resource_uris import Address


async def read_resource(asked: Asked, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Serve `resources/read`, of a server's resource or a kept result."""
    uri = str(params.uri)
    who = asked.who()
    result_id = resource_uris.result_id(uri)
    if result_id is not None:
        text = await pass_through.read_kept(asked.effects, who, result_id)
        kept = TextResourceContents(uri=uri, mime_type=large_results.MIME_TYPE, text=text)
        return ReadResourceResult(contents=[kept])
    address = await pass_through.find_resource(asked.effects, who, uri)

    async def read(turn: Turn) -> Reply:
        params = asked.forwarded(turn, uri=address.uri)
        return Reply(raw=await _send(asked, taking(who, turn), address.server, params))

    results.carry((await asked.conclude(lambda: ids.join(address.server, address.uri), read)).raw)
    return ReadResourceResult(contents=[])


async def get_prompt(asked: Asked, params: GetPromptRequestParams) -> GetPromptResult:
    """Serve `prompts/get`."""
    who = asked.who()
    prompt = await pass_through.find_prompt(asked.effects, who, params.name)

    async def get(turn: Turn) -> Reply:
        params = asked.forwarded(turn, name=prompt.name)
        return Reply(raw=await _send(asked, taking(who, turn), prompt.server, params))

    results.carry((await asked.conclude(lambda: ids.join(prompt.server, prompt.name), get)).raw)
    return GetPromptResult(messages=[])


async def complete(asked: Asked, _: CompleteRequestParams) -> CompleteResult:
    """Serve `completion/complete`, of a prompt's argument or a template's variable."""
    who = asked.who()
    ref = dict(asked.given["ref"])
    if ref.get("type") == "ref/prompt":
        prompt = await pass_through.find_prompt(asked.effects, who, ref["name"])
        server, ref["name"] = prompt.server, prompt.name
    else:
        address = await _template(asked, who, ref["uri"])
        server, ref["uri"] = address.server, address.uri
    turn = Turn(downstream=who.downstream, progress=who.progress)
    results.carry(await _send(asked, who, server, asked.forwarded(turn, ref=ref)))
    return CompleteResult(completion=Completion(values=[]))


async def set_level(asked: Asked, params: SetLevelRequestParams) -> EmptyResult:
    """Serve `logging/setLevel`, for clients of the handshake era."""
    client_state.of(asked.ctx).log_level = params.level
    await pass_through.set_log_level(asked.effects, asked.who(), params.level)
    return EmptyResult()


async def _send(asked: Asked, who: Who, server: str, params: dict[str, Any]) -> dict[str, Any]:
    return await pass_through.request(asked.effects, who, server, asked.ctx.method, params)


async def _template(asked: Asked, who: Who, uri: str) -> Address:
    """Return where a template is, given as it is listed or as its server gave it."""
    try:
        return await pass_through.find_template(asked.effects, who, uri)
    except UnknownResource:  # a completion may be of a resource, too
        return await pass_through.find_resource(asked.effects, who, uri)
