import asyncio
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.patience import PATIENCE_S
from tools.upstream.oauth import loopback


async def get(address):
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return answer.status, await answer.text()


@pytest.fixture
async def listener():
    async with loopback.open_loopback() as running:
        yield running


async def test_it_listens_on_loopback_alone_at_a_port_of_its_own(listener):
    async with loopback.open_loopback() as other:
        assert urlsplit(listener.redirect_uri).hostname == "127.0.0.1"
        assert listener.redirect_uri != other.redirect_uri


async def test_the_browsers_response_is_returned(listener):
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        waiting = group.create_task(listener.wait_for_response("s"))
        await asyncio.sleep(0)
        status, text = await get(f"{listener.redirect_uri}?state=s&code=4%202&iss=x")
    assert waiting.result() == {"state": "s", "code": "4 2", "iss": "x"}
    assert (status, "close this window" in text) == (200, True)


async def test_other_visitors_are_refused_and_the_wait_goes_on(listener):
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        waiting = group.create_task(listener.wait_for_response("s"))
        await asyncio.sleep(0)
        for query in ("", "?state=other&code=1", "?state=&error=x"):
            assert (await get(listener.redirect_uri + query))[0] == 400
        assert (await get(listener.redirect_uri.replace("/callback", "/favicon.ico")))[0] == 404
        assert not waiting.done()
        assert not listener.accept_pasted_url("http://127.0.0.1/callback?state=other&code=1")
        assert not listener.accept_pasted_url("http://[broken")
        assert not listener.accept_pasted_url(
            "&".join(["http://127.0.0.1/callback?state=s", *["x=1"] * 99])
        )
        assert listener.accept_pasted_url(" http://127.0.0.1:1/callback?state=s&code=2\n")
    assert waiting.result()["code"] == "2"


async def test_no_response_is_accepted_before_the_state_is_set(listener):
    assert (await get(f"{listener.redirect_uri}?state=&code=1"))[0] == 400
