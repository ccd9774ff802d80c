import asyncio

import uvicorn

from gateway_project.mcp.http import address, serve
from tests.gateway.mcp_http.conftest import until
from tests.patience import PATIENCE_S


class BreaksDown:
    """An application whose service ends by itself after it has started."""

    def __init__(self):
        self.now = asyncio.Event()

    async def __call__(self, _scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await self.now.wait()
        raise ZeroDivisionError("a defect")

    def close(self):
        pass


async def test_a_server_with_a_crashed_service_exits_to_be_restarted(caplog):
    application = BreaksDown()
    configuration = uvicorn.Config(application, lifespan="on", log_config=None)
    server = serve.HttpServer(configuration, application)
    with address.open_listener(address.parse_address("127.0.0.1:0")) as listener:
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listener]))
            await until(lambda: server.started)
            assert not server.has_broken_down
            application.now.set()
    assert server.has_broken_down
    assert "a defect" in caplog.text
