"""Requests to a pool of servers, in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.upstream.request import CALL_METHOD, UpstreamRequest


async def call_tool(
    pool: Any,
    server: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
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
        server, UpstreamRequest(method=CALL_METHOD, params=params, **options)
    )


async def send_request(
    pool: Any, server: str, method: str, params: Mapping[str, Any], **options: Any
) -> Any:
    """Send any other request; `options` are its further fields."""
    return await pool.request(server, UpstreamRequest(method=method, params=params, **options))
