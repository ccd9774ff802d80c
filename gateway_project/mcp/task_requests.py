"""Serves the methods of MCP tasks (`tasks/get`, `tasks/update`, `tasks/cancel`).

References:
    SEP-2663, Tasks extension of MCP 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from execution.call_errors import CallError
from execution.run_dependencies import RunsUnavailable
from execution.store.runs import UnknownRun, parse_run_id
from execution.view import RunView
from gateway_project.mcp import (
    call_results,
    client_state,
    errors,
    large_results,
    run_replies,
    run_tasks,
    server_tasks,
    task_ids,
)
from gateway_project.mcp.changes import AnnounceTask, FollowTask
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import ServerReply, nest_result
from gateway_project.mcp.task_ids import ServerTask, UnknownTask
from gateway_project.runs import direct_call
from tools.catalogue import UnknownTool
from tools.mcp_tasks import COMPLETED, ENDED, ID_FIELD

MAX_FOLLOWED: Final = 32
"""Tasks that one stream follows; each is looked at as often as a client would poll."""
MS_PER_S: Final = 1_000


async def get_task(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `tasks/get`."""
    task = _find_task(request, params)
    if isinstance(task, ServerTask):
        return await server_tasks.get_task(request, task, params[ID_FIELD])
    view = await run_tasks.load_run(request, task)
    state = await run_tasks.describe_run(request, view)
    if state["status"] == COMPLETED:
        state["result"] = nest_result(await _build_result(request, view))
    return ServerReply(raw=state)


async def update_task(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `tasks/update`; returns the empty acknowledgement."""
    task, responses = _find_task(request, params), params.get("inputResponses")
    if not isinstance(responses, Mapping):
        raise MCPError(INVALID_PARAMS, "inputResponses must be an object")
    if isinstance(task, ServerTask):
        await server_tasks.update_task(request, task, responses)
    else:
        await run_tasks.update_task(request, task, responses)
    return ServerReply(raw={})


async def cancel_task(request: ClientRequest, params: Mapping[str, Any]) -> ServerReply:
    """Serve `tasks/cancel`; returns the empty acknowledgement."""
    task = _find_task(request, params)
    if isinstance(task, ServerTask):
        await server_tasks.cancel_task(request, task)
    else:
        await run_tasks.cancel_task(request, task)
    return ServerReply(raw={})


async def find_followed(request: ClientRequest, listed: object) -> dict[str, FollowTask]:
    """Return how to follow the tasks of runs among those that a client lists, by id.

    No others: a server's task is followed at the server alone.
    """
    followed: dict[str, FollowTask] = {}
    for task_id in listed[:MAX_FOLLOWED] if isinstance(listed, list) else ():
        try:
            run = str(parse_run_id(str(task_id)))
            await run_tasks.load_run(request, run)
        except (CallError, UnknownRun, UnknownTask):
            continue
        followed[run] = partial(_follow_run, request, run)
    return followed


async def _follow_run(request: ClientRequest, run: str, announce: AnnounceTask) -> None:
    """Announce the state of a run's task whenever it differs, until it has ended."""
    state: Mapping[str, Any] = {}
    while state.get("status") not in ENDED:
        try:
            current = (await get_task(request, {ID_FIELD: run})).raw
        except RunsUnavailable:  # it may be back before the client asks
            current = state
        except UnknownTask:  # deleted
            return
        if current != state:
            announce(current)
        state = current
        await asyncio.sleep(state.get("pollIntervalMs", run_tasks.POLL_INTERVAL_MS) / MS_PER_S)


def _find_task(request: ClientRequest, params: Mapping[str, Any]) -> ServerTask | str:
    """Return the task that a request is about: a server's, or the id of a run.

    Raises:
        MCPError: If the request does not declare the extension.
        UnknownTask: If the caller has no such task.
    """
    client_state.require_tasks(request.ctx)
    task_id = str(params[ID_FIELD])
    try:
        return str(UUID(task_id))
    except ValueError:
        return task_ids.unseal_id(request.effects.sealer, request.caller, task_id)


async def _build_result(request: ClientRequest, view: RunView) -> ServerReply:
    """Return what the call that a run stands for would have returned at the run's end."""
    if not view.is_direct:
        return await run_replies.build_run_reply(request, view)
    try:
        outcome = await direct_call.deliver_outcome(view)
    except CallError as error:
        return errors.build_error_result(error)
    try:
        schema = request.effects.catalogue().find_tool(outcome.tool, request.caller).output_schema
    except UnknownTool:  # gone meanwhile
        schema = None
    reply = call_results.build_call_reply(request, outcome)
    reply = await large_results.link_large_result(request, reply, is_text_linkable=schema is None)
    return call_results.name_page(request, outcome.tool, reply)
