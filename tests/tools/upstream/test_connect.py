"""A connection follows the changes of its server's tools."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError

from tools.upstream import connect


class Server:
    """Ends each subscription as told: `end` gracefully, or by an error."""

    def __init__(self, *ends: Any) -> None:
        self.ends = list(ends)
        self.changes: list[int] = []

    @asynccontextmanager
    async def listen(self, session: Any, *, tools_list_changed: bool) -> AsyncIterator[Any]:
        assert tools_list_changed
        end = self.ends.pop(0)
        if isinstance(end, MCPError):
            raise end

        async def events() -> AsyncIterator[str]:
            yield "changed"
            if isinstance(end, Exception):
                raise end

        yield events()

    def changed(self) -> None:
        self.changes.append(len(self.ends))


@pytest.mark.parametrize("end", ["end", SubscriptionLost("lost")])
async def test_a_subscription_that_ends_is_opened_again_and_then_all_may_have_changed(
    end, monkeypatch
):
    server = Server(end, end, MCPError(-32601, "no more"))
    monkeypatch.setattr(connect, "listen", server.listen)
    monkeypatch.setattr(connect, "RELISTEN_S", 0.0)
    async with asyncio.timeout(10):
        await connect._listen(object(), server.changed)
    assert server.changes == [1]


def test_an_error_is_shown_by_its_first_line_or_its_kind():
    assert connect._first_line(RuntimeError("one\ntwo")) == "one"
    assert connect._first_line(RuntimeError()) == "RuntimeError"
