"""Halves of surrogate pairs anywhere in a request are answered as what they are, in both eras."""

import pytest

from tests.gateway.mcp_http.conftest import LEGACY, MODERN, listening

HALF = "\\ud83d"
BODIES = {
    "id": (f'{{"jsonrpc": "2.0", "id": "{HALF}", "method": "ping"}}', None),
    "method": (f'{{"jsonrpc": "2.0", "id": 3, "method": "{HALF}"}}', 3),
    "member": (f'{{"jsonrpc": "2.0", "id": 3, "method": "ping", "{HALF}": 1}}', 3),
    "tool": (
        f'{{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {{"name": "{HALF}"}}}}',
        3,
    ),
    "token": (
        '{"jsonrpc": "2.0", "id": 3, "method": "tools/list", '
        f'"params": {{"_meta": {{"progressToken": "{HALF}"}}}}}}',
        3,
    ),
    "cursor": (
        f'{{"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {{"cursor": "{HALF}"}}}}',
        3,
    ),
}


@pytest.mark.parametrize("place", BODIES)
@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_they_are_refused_under_an_id_that_can_be_sent_back(place, era):
    body, identifier = BODIES[place]
    async with listening() as gateway:
        headers = gateway.headers() if era == MODERN else await gateway.session()
        sent = headers | {"MCP-Protocol-Version": era, "Content-Type": "application/json"}
        async with gateway.http.post(gateway.url, data=body, headers=sent) as response:
            text = await response.text()
            answer = await response.json()
    assert response.status == 400
    assert (answer["id"], answer["error"]["code"]) == (identifier, -32700)
    assert "without an unpaired surrogate" in answer["error"]["message"]
    assert "internal_error" not in text
    assert HALF not in text
