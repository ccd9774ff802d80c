"""Calls of servers' tools, by whichever name: approvals, tasks, pages and large results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from execution.availability import require_read
from execution.call_errors import ApprovalRequired
from execution.run_dependencies import RunsUnavailable
from execution.view import ApprovalView
from gateway_project import flow
from gateway_project.mcp import (
    call_results,
    client_state,
    consent,
    large_results,
    run_tasks,
    server_tasks,
)
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.interaction import UpstreamTurn
from gateway_project.mcp.large_results import WantedSize
from gateway_project.mcp.results import ServerReply
from gateway_project.mcp.run_progress import make_watcher
from gateway_project.runs.continued_call import CallContinues
from gateway_project.runs.direct_call import CallInProgress, UserChannel
from tools import mcp_tasks

_GOING_ON: Final = (ApprovalRequired, CallContinues, CallInProgress)
"""Errors that say which run a call goes on as; clients that follow tasks get its task instead."""


async def make_call(  # noqa: PLR0913 - each is a choice of the client
    request: ClientRequest,
    params: Mapping[str, Any],
    *,
    linkable: bool,
    is_fresh: bool = False,
    timeout_s: float | None = None,
    only_reads: bool = False,
    wanted: WantedSize | None = None,
) -> ServerReply:
    """Call a server's tool and return what the client is answered.

    Args:
        request: The client's request.
        params: Id of the tool (`name`) and its `arguments`.
        linkable: Whether a result too large to send may be replaced by a link.
        is_fresh: Whether no call made ahead may answer it.
        timeout_s: Seconds for the call; None: what its server has.
        only_reads: Whether it is refused unless the tool only reads.
        wanted: What the client wants of the result; None: it cannot say.
    """
    effects, caller, tool = request.effects, request.caller, params["name"]
    await request.await_listing(tool)
    # What is cut from a result is cut here: no task carries how.
    offers_task = client_state.speaks_tasks(request.ctx) and wanted in (None, WantedSize())

    async def operation(turn: UpstreamTurn) -> ServerReply:
        if only_reads:
            require_read(effects.catalogue().find_tool(tool, caller))
        patience = await request.find_patience(asked_s=turn.asked_s)
        turn = turn if offers_task else turn.without_tasks()
        try:
            outcome = await flow.call_tool(
                effects,
                caller,
                request.build_upstream_request(turn, params, timeout_s=timeout_s),
                user_channel=_make_user_channel(request, turn, offers_task=offers_task),
                is_fresh=is_fresh or call_results.wants_fresh(request.ctx.params),
                patience=patience,
            )
        except _GOING_ON as error:
            if error.run is not None and offers_task:
                with suppress(RunsUnavailable):  # the error too says which run it is
                    view = await flow.get_run(effects, caller, str(error.run))
                    return await run_tasks.create_task(request, view)
            raise
        if mcp_tasks.is_task(outcome.result.raw):
            return server_tasks.hand_over(request, outcome, is_linkable=linkable)
        return call_results.build_call_reply(request, outcome)

    reply = await request.conclude_request(
        lambda: effects.catalogue().find_tool(tool, caller).tool, operation
    )
    if call_results.is_interim(reply.raw):
        return reply
    if wanted is not None:
        raw, link = await large_results.reduce_result(effects, caller, reply.raw, wanted)
        meta = {**reply.meta, large_results.META_KEY: link} if link else reply.meta
        reply = replace(reply, raw=raw, meta=meta)
    return await large_results.link_large_result(request, reply, is_text_linkable=linkable)


def _make_user_channel(
    request: ClientRequest, turn: UpstreamTurn, *, offers_task: bool
) -> UserChannel:
    """Return the channel that asks the user to approve a call; cheap to build.

    A client that follows a task is asked by it.
    """
    if offers_task:
        return UserChannel(wait_s=run_tasks.SHORT_WAIT_S)

    async def consult(pending: Sequence[ApprovalView]) -> bool:
        return await consent.ask_user(
            turn, request.caller, pending, open_console=request.effects.open_console
        )

    def watch(run: UUID) -> AbstractAsyncContextManager[None]:
        return make_watcher(request.effects.runs, request.caller, turn.progress)(run)

    return UserChannel(consult=consult, watch=watch)
