import asyncio

import pytest

from gateway_project.access import bearers
from tests.gateway.mcp_http.conftest import called, code_of, listening


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(bearers, "CHECK_INTERVAL_S", 0.02)


async def refused(gateway, bearer="tok-ann"):
    """Wait until a token is good no more; returns the answer."""
    while True:
        async with await gateway.call("echo", bearer=bearer) as response:
            if response.status != 200:
                return await code_of(response)
        await asyncio.sleep(0.01)


async def test_a_token_that_is_revoked_stops_working_within_seconds():
    async with listening() as gateway:
        assert await gateway.text("echo") == "ann:"
        gateway.tokens.revoke("tok-ann")
        assert await refused(gateway) == (401, "unauthorized")
        assert await gateway.text("echo", bearer="tok-bob") == "bob:"


async def test_streams_of_a_token_end_with_it():
    async with listening() as gateway:
        headers = await gateway.session()
        async with gateway.http.get(gateway.url, headers=headers) as stream:
            await stream.content.readline()
            gateway.tokens.revoke("tok-ann")
            await stream.content.read()
        async with gateway.legacy("ping", {}, headers) as response:
            assert response.status == 401


@pytest.mark.parametrize("is_in_session", [False, True])
async def test_calls_of_a_token_end_with_it(is_in_session):
    async with listening() as gateway:
        opening = (
            gateway.legacy("tools/call", called("hang"), await gateway.session())
            if is_in_session
            else await gateway.call("hang")
        )
        call = asyncio.ensure_future(opening.__aenter__())
        await gateway.handled.began.wait()
        gateway.tokens.revoke("tok-ann")
        async with await call as response:
            assert await code_of(response) == (401, "unauthorized")
        await gateway.handled.cancelled.wait()


async def test_a_call_outlives_the_time_of_a_token_that_can_be_renewed_and_streams_do_not():
    """Answered with 401, a client would renew the token and make the call a second time."""
    async with listening() as gateway:
        headers = await gateway.session()
        call = asyncio.ensure_future((await gateway.call("hang")).__aenter__())
        await gateway.handled.began.wait()
        async with gateway.http.get(gateway.url, headers=headers) as stream:
            await stream.content.readline()
            gateway.tokens.expire("tok-ann")
            await stream.content.read()
        assert await refused(gateway) == (401, "unauthorized")
        gateway.handled.release.set()
        async with await call as response:
            assert response.status == 200


async def test_a_call_that_outlives_its_token_ends_when_that_is_revoked():
    async with listening() as gateway:
        call = asyncio.ensure_future((await gateway.call("hang")).__aenter__())
        await gateway.handled.began.wait()
        gateway.tokens.expire("tok-ann")
        assert await refused(gateway) == (401, "unauthorized")
        gateway.tokens.revoke("tok-ann")
        async with await call as response:
            assert await code_of(response) == (401, "unauthorized")


async def test_known_callers_continue_without_a_database_and_unknown_ones_wait():
    async with listening() as gateway:
        assert await gateway.text("echo") == "ann:"
        gateway.tokens.away = True
        asked = gateway.tokens.asked
        while gateway.tokens.asked < asked + 3:  # checks in vain, as it is in use
            assert await gateway.text("echo") == "ann:"
            await asyncio.sleep(0.01)
        async with await gateway.call("echo", bearer="tok-bob") as response:
            assert await code_of(response) == (503, "database_unavailable")
            assert response.headers["Retry-After"]


async def test_streams_end_in_order_when_the_gateway_stops():
    async with listening() as gateway:
        gateway.server.in_order = True
        headers = await gateway.session()
        hang = asyncio.ensure_future((await gateway.call("hang")).__aenter__())
        await gateway.handled.began.wait()
        async with gateway.http.get(gateway.url, headers=headers) as stream:
            await stream.content.readline()
            gateway.server.should_exit = True
            await stream.content.read()
        gateway.handled.release.set()
        async with await hang as response:
            assert response.status == 200
