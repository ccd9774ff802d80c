"""Viewers of live updates in tests: signed in, connected, and read with patience."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client

from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import Notification
from gateway_project.live.hub import Deliver, Hub, relay_from_database
from gateway_project.live.routing import make_live_application
from gateway_project.mcp.http.names import AllowedNames
from tests.patience import PATIENCE_S

HOST = b"localhost:8420"
ORIGIN = b"http://localhost:8420"
NAMES = AllowedNames(hosts=("localhost",))


class Line(ApplicationCommunicator):
    """A connection of a viewer."""

    def __init__(self, application: Any, address: str, headers: Any) -> None:
        path, _, query = address.partition("?")
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
            "subprotocols": [],
        }
        super().__init__(application, scope)

    async def connect(self) -> bool:
        """Connect; return whether that was accepted."""
        await self.send_input({"type": "websocket.connect"})
        output = await self.receive_output(timeout=PATIENCE_S)
        return bool(output["type"] == "websocket.accept")

    async def disconnect(self) -> None:
        """Go away."""
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(timeout=PATIENCE_S)

    async def send_text(self, text: str) -> None:
        """Send something, which viewers of the product never do."""
        await self.send_input({"type": "websocket.receive", "text": text})

    async def read(self) -> dict[str, Any]:
        """Return the next message."""
        output = await self.receive_output(timeout=PATIENCE_S)
        assert output["type"] == "websocket.send", output
        message: dict[str, Any] = json.loads(output["text"])
        return message

    async def read_until(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind; others are passed over."""
        while (message := await self.read())["type"] != kind:
            pass
        return message

    async def read_end(self) -> int:
        """Return the code with which the connection ends; messages before are passed over."""
        while (output := await self.receive_output(timeout=PATIENCE_S))["type"] != (
            "websocket.close"
        ):
            pass
        code: int = output["code"]
        return code


@dataclass
class Theatre:
    """An application with its hub.

    Attributes:
        hub: The viewers.
        app: Serves them.
    """

    hub: Hub = field(init=False)
    app: Any = field(init=False)
    _listens: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.hub = Hub(self._relay, recheck_s=0.05)
        self.app = make_live_application(NAMES, hub=self.hub)

    async def _relay(self, deliver: Deliver) -> None:
        def note(notification: Notification | None) -> None:
            deliver(notification)
            self._listens.set()

        await relay_from_database(note)

    async def listen(self) -> None:
        """Wait until changes are noticed from now on, and the resync before has been read."""
        async with asyncio.timeout(PATIENCE_S):
            await self._listens.wait()
            while any(  # noqa: ASYNC110 - what is looked at sets no event
                feed._wake.is_set() or feed._reading.locked() for feed in self.hub._feeds.values()
            ):
                await asyncio.sleep(0.005)

    def line(self, path: str, cookie: str = "", **headers: str) -> Line:
        """Return a connection that is not open yet."""
        given = {"host": HOST.decode(), "origin": ORIGIN.decode(), "cookie": cookie} | headers
        pairs = [(name.encode(), value.encode()) for name, value in given.items() if value]
        return Line(self.app, path, headers=pairs)

    @asynccontextmanager
    async def watch(self, user: Any, path: str, cookie: str = "") -> AsyncIterator[Line]:
        """Connect a user; disconnect afterwards."""
        line = self.line(path, cookie or await run_in_database_thread(sign_in, user))
        assert await line.connect()
        try:
            yield line
        finally:
            await line.disconnect()

    async def settle(self) -> None:
        """Wait until all viewers have left, and the tasks of the hub have ended."""
        async with asyncio.timeout(PATIENCE_S):
            while self.hub.viewer_count or any(  # noqa: ASYNC110 - as above
                task.get_name().startswith("live") for task in asyncio.all_tasks()
            ):
                await asyncio.sleep(0.005)


def sign_in(user: Any) -> str:
    """Return the cookie of a new session of a user."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}"


def notify_run(run: Any) -> None:
    """Notify as a process does that wrote something of a run."""
    notify.send_notification(notify.RUNS, str(run))
