"""Requests to a pool of servers, in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway_project.foundation.caller import Caller
from tools.upstream.request import CALL_METHOD, UpstreamRequest


def make_caller(user: str, session: str = "") -> Caller:
    """Build somebody who may do everything."""
    return Caller(
        user=user,
        team=None,
        person=None,
        scopes=frozenset({"*"}),
        kind="http",
        session=session or user,
    )


SOMEBODY = make_caller("somebody")


async def call_tool(
    pool: Any,
    server: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    caller: Caller = SOMEBODY,
    input_responses: Mapping[str, Any] | None = None,
    request_state: str | None = None,
    **options: Any,
) -> Any:
    """Call a tool; `options` are further fields of the request."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if input_responses is not None:
        params["inputResponses"] = input_responses
    if request_state is not None:
        params["requestState"] = request_state
    return await pool.call_tool(
        server, UpstreamRequest(method=CALL_METHOD, params=params, **options), caller=caller
    )


async def send_request(
    pool: Any,
    server: str,
    method: str,
    params: Mapping[str, Any],
    *,
    caller: Caller = SOMEBODY,
    **options: Any,
) -> Any:
    """Send any other request; `options` are its further fields."""
    request = UpstreamRequest(method=method, params=params, **options)
    return await pool.request(server, request, caller=caller)


async def restart(pool: Any, server: str) -> None:
    """Stop a server and start it again; raises why it cannot be started."""
    pool.reset(server)
    for error in (await pool.warm_up(server)).values():
        raise error
