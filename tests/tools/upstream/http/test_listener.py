"""The stream on which a server speaks unasked."""

import asyncio

import pytest

from tests.patience import PATIENCE_S
from tests.servers.http_legacy import LegacyServer, news
from tests.tools.upstream.conftest import eventually
from tests.tools.upstream.http.conftest import remote
from tests.upstream_calls import call_tool
from tools.upstream.errors import ConnectionLost
from tools.upstream.http import listener
from tools.upstream.http.exchange import HttpSession
from tools.upstream.limits import UpstreamLimits
from tools.upstream.output import ConnectionOrigin
from tools.upstream.pool import UpstreamPool
from tools.upstream.wire import Wire


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(listener, "WAIT_S", 0.01)


async def test_a_broken_stream_goes_on_after_the_last_event():
    async def listening(asked, reply):
        await reply.stream()
        await reply.event(news("notifications/tools/list_changed"), id="e7", retry="20")
        if asked.headers.get("last-event-id") == "e7":
            await reply.gone()
        reply.close()

    async with LegacyServer(listening=listening) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            await pool.warm_up()
            await eventually(lambda: server.methods().count("GET") == 2)
        resumed = [asked.headers.get("last-event-id") for asked in server.asked]
        assert [each for each in resumed if each] == ["e7"]


@pytest.mark.parametrize(("status", "gets"), [(409, 3), (502, 3), (405, 2)])
async def test_a_stream_that_was_open_is_asked_for_again_unless_there_is_none(status, gets):
    async def listening(asked, reply):
        if server.methods().count("GET") == 2:
            await reply.whole(status)
            return
        await reply.stream()
        if server.methods().count("GET") == 3:
            await reply.gone()
        reply.close()

    async with LegacyServer(listening=listening) as server:
        async with UpstreamPool([remote(server.url)]) as pool:
            await pool.warm_up()
            await eventually(lambda: server.methods().count("GET") == gets)
            await asyncio.sleep(0.2)
        assert server.methods().count("GET") == gets


async def test_what_does_not_belong_there_is_dropped_and_counted():
    async def listening(asked, reply):
        await reply.stream()
        await reply.raw(b"data: rubbish\n\nevent: other\ndata: {}\n\n: comment\n\n")
        await reply.event({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})
        await reply.gone()

    async with (
        LegacyServer(listening=listening) as server,
        UpstreamPool([remote(server.url)]) as pool,
    ):
        await pool.warm_up()
        await eventually(lambda: pool.list_statuses()["s"].messages_dropped == 2)
        assert pool.list_statuses()["s"].state == "ready"


async def test_a_stream_of_nothing_but_rubbish_is_given_up():
    gone = asyncio.Event()

    async def listening(asked, reply):
        await reply.stream()
        try:
            while True:
                await reply.raw(b": x\n" * 5_000)
        finally:
            gone.set()

    async with LegacyServer(listening=listening) as server:
        limits = UpstreamLimits(max_rubbish_bytes=100_000)
        async with UpstreamPool([remote(server.url)], limits=limits) as pool:
            await pool.warm_up()
            async with asyncio.timeout(PATIENCE_S):
                await gone.wait()
            assert (await call_tool(pool, "s", "echo", {"text": "x"})).raw["content"][0][
                "text"
            ] == "x"
        assert server.methods().count("GET") == 1


async def test_a_server_that_goes_away_is_asked_less_and_less(monkeypatch):
    waits = []

    class Gone:
        server = "s"

        async def open(self, method, headers):
            raise ConnectionLost("is gone", server="s")

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 4:
            raise asyncio.CancelledError

    monkeypatch.setattr(listener.asyncio, "sleep", noted)
    wire = Wire(ConnectionOrigin(server="s", monotonic=lambda: 0.0), lambda *_, **__: None)
    patient = listener.StreamListener(Gone(), session=HttpSession(), wire=wire)
    with pytest.raises(asyncio.CancelledError):
        await patient.run()
    assert waits == [0.02, 0.04, 0.08, 0.16]
