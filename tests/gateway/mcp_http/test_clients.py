"""The SDK's own client, in both eras."""

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.mcp_http.conftest import called, listening, until
from tests.patience import PATIENCE_S


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_client_lists_and_calls(mode):
    reported = []

    async def progress(done, total, _message):
        reported.append((done, total))

    async with listening() as gateway:
        headers = {"Authorization": "Bearer tok-ann"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(gateway.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                names = {tool.name for tool in (await client.list_tools()).tools}
                assert "call_tool" in names
                result = await client.call_tool(**called("echo", text="hi"))
                assert result.content[0].text == "ann:hi"
                await client.call_tool(**called("count"), progress_callback=progress)
                await until(lambda: reported)
                assert reported == [(1, 2)]
