"""One request without a token, to hear what a server asks for."""

from __future__ import annotations

import json

from mcp_types import LATEST_PROTOCOL_VERSION

from tools.upstream.http.address import RemoteAddress
from tools.upstream.oauth import challenge
from tools.upstream.oauth.challenge import Challenge
from tools.upstream.oauth.fetching import Fetch

METHOD = "server/discover"
_META = {
    "io.modelcontextprotocol/protocolVersion": LATEST_PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "foregate", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def ask(address: RemoteAddress, *, transport: str, fetch: Fetch) -> tuple[int, Challenge]:
    """Return the status a server answers with to a request without a token, and its challenge.

    The request has no effects whatever the server makes of it.

    Raises:
        Unreachable: If it does not answer.
    """
    headers = {**address.headers, "Accept": "application/json, text/event-stream"}
    if transport == "sse":
        answer = await fetch("GET", str(address.url), headers=headers, head_only=True)
    else:
        message = {"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {"_meta": _META}}
        headers |= {
            "Content-Type": "application/json",
            "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
            "Mcp-Method": METHOD,
        }
        answer = await fetch(
            "POST",
            str(address.url),
            headers=headers,
            body=json.dumps(message).encode(),
            head_only=True,
        )
    return answer.status, challenge.read(answer.headers.get("www-authenticate", ""))
