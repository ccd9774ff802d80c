"""MCP tasks of servers, passed on to clients that speak the extension.

Their ids are sealed (`task_ids`); what they ask is signed and what they return is exposed as in a
call's answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution.call_outcome import CallOutcome
from gateway_project import pass_through
from gateway_project.mcp import call_results, client_state, large_results, questions, task_ids
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import ServerReply, nest_result
from gateway_project.mcp.task_ids import ServerTask, UnknownTask
from tools import ids
from tools.catalogue import UnknownTool
from tools.mcp_tasks import CANCEL_METHOD, GET_METHOD, ID_FIELD, UPDATE_METHOD
from tools.upstream.request import UpstreamRequest


def hand_over(request: ClientRequest, outcome: CallOutcome, *, is_linkable: bool) -> ServerReply:
    """Return the handle of a server's task as the client receives it.

    Args:
        request: The client's request.
        outcome: The call, answered with the task.
        is_linkable: Whether a large result may be replaced by a link.
    """
    raw = outcome.result.raw
    task = ServerTask(tool=outcome.tool, task=raw[ID_FIELD], is_linkable=is_linkable)
    sealed = task_ids.seal_id(request.effects.sealer, request.caller, task)
    return ServerReply(raw={**raw, ID_FIELD: sealed})


async def get_task(request: ClientRequest, task: ServerTask, task_id: str) -> ServerReply:
    """Serve `tasks/get`.

    Args:
        request: The client's request.
        task: The task.
        task_id: Its id as the client knows it.

    Raises:
        InputUnavailable: If the task needs input that this client cannot provide.
    """
    raw = await _send_request(request, task, GET_METHOD)
    state = {**raw, ID_FIELD: task_id, "resultType": "complete"}
    if "inputRequests" in raw:
        server, _ = ids.split_id(task.tool)
        capabilities = client_state.read_capabilities(request.ctx)
        state["inputRequests"] = questions.sign_requests(raw, capabilities, server=server)
    if isinstance(raw.get("result"), Mapping):
        reply = call_results.expose_result(request, task.tool, raw["result"])
        reply = await large_results.link_large_result(
            request, reply, is_text_linkable=task.is_linkable
        )
        state["result"] = nest_result(call_results.name_page(request, task.tool, reply))
    return ServerReply(raw=state)


async def update_task(
    request: ClientRequest, task: ServerTask, responses: Mapping[str, Any]
) -> None:
    """Serve `tasks/update`."""
    await _send_request(request, task, UPDATE_METHOD, inputResponses=responses)


async def cancel_task(request: ClientRequest, task: ServerTask) -> None:
    """Serve `tasks/cancel`."""
    await _send_request(request, task, CANCEL_METHOD)


async def _send_request(
    request: ClientRequest, task: ServerTask, method: str, **params: Any
) -> dict[str, Any]:
    try:
        return await pass_through.send_task_request(
            request.effects,
            request.caller,
            task.tool,
            UpstreamRequest(
                method=method,
                params={ID_FIELD: task.task, **params},
                meta=request.meta,
                downstream=request.build_downstream(),
            ),
        )
    except UnknownTool:
        raise UnknownTask from None
