"""Sends requests of extensions, which the SDK's client has no methods for."""

from __future__ import annotations

from typing import Any

from mcp import Client
from mcp_types import Request, RequestParams, Result


class _Params(RequestParams, extra="allow"):
    pass


class _Result(Result, extra="allow"):
    pass


async def send(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """Send any request, and return its result as it was sent."""
    request = Request[_Params, str](method=method, params=_Params(**params))
    result = await client.session.send_request(request, _Result)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)
