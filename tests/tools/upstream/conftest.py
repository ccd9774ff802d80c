"""Real server processes, and ways to wait for what becomes of them."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.patience import PATIENCE_S
from tests.upstream_calls import make_caller
from tools.upstream import process, reap
from tools.upstream.breaker import RetryPolicy
from tools.upstream.request import Downstream
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerState, ServerStatus

SERVERS = Path(__file__).parent.parent.parent / "servers"
ENCODED: dict[str, Callable[[str], str]] = {
    "raw": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "basic": lambda text: base64.b64encode(b"user:" + text.encode()).decode()[8:],
    "url": lambda text: quote(text, safe=""),
    "json": json.dumps,
    "hex": lambda text: text.encode().hex(),
}
"""How the hand-written server repeats a variable, by the name it is asked for."""
LONG_S = 600.0
"""Longer than any test lasts, for limits that are reached by `let_pass` alone."""
SOON = RetryPolicy(base_s=0.001, cap_s=0.001)


def legacy(name: str = "legacy", *, options: tuple[str, ...] = (), **values: Any) -> ServerSpec:
    """Build the entry of the hand-written server."""
    args = ("-I", "-S", str(SERVERS / "legacy.py"), *options)
    return ServerSpec(name=name, command=sys.executable, args=args, **values)


def curious(*options: str, name: str = "curious", **values: Any) -> ServerSpec:
    """Build the entry of the hand-written server that asks its client."""
    args = ("-I", "-S", str(SERVERS / "curious.py"), *options)
    return ServerSpec(name=name, command=sys.executable, args=args, **values)


def stateless(name: str = "stateless", **values: Any) -> ServerSpec:
    """Build the entry of the hand-written server that is stateless by protocol."""
    args = ("-I", "-S", str(SERVERS / "stateless.py"))
    return ServerSpec(name=name, command=sys.executable, args=args, **values)


def script(file: str, name: str | None = None, **values: Any) -> ServerSpec:
    """Build the entry of any other file in tests/servers."""
    args = (str(SERVERS / file),)
    return ServerSpec(name=name or Path(file).stem, command=sys.executable, args=args, **values)


class Person:
    """A client that can be asked: notes questions, and answers each when it is told to.

    Attributes:
        asked: Method and parameters of each question.
        told: Method and parameters of each notification.
        replies: What it answers, in order; the last one again and again.
        caller: Who it is.
    """

    def __init__(self, *replies: Any, name: str = "somebody", **values: Any) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.replies = list(replies)
        self.caller = make_caller(name)
        values.setdefault("capabilities", {"roots": {}})
        self.downstream = Downstream(ask=self.ask, tell=self.tell, **values)

    @property
    def options(self) -> dict[str, Any]:
        """Whose its requests are."""
        return {"caller": self.caller, "downstream": self.downstream}

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        reply = self.replies[0] if len(self.replies) == 1 else self.replies.pop(0)
        if isinstance(reply, asyncio.Event):
            await reply.wait()
            reply = {"after": "waiting"}
        if isinstance(reply, Exception):
            raise reply
        return dict(reply)

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        self.told.append((method, params))


class Seen:
    """Notes states of servers as they are reported, so that a test can wait for one."""

    def __init__(self) -> None:
        self.statuses: list[ServerStatus] = []
        self._news = asyncio.Event()

    def __call__(self, status: ServerStatus) -> None:
        self.statuses.append(status)
        self._news.set()

    def states(self, name: str) -> list[ServerState]:
        return [status.state for status in self.statuses if status.name == name]

    async def until(self, name: str, state: ServerState) -> ServerStatus:
        """Wait until the server's latest state is this one."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                of_it = [status for status in self.statuses if status.name == name]
                if of_it and of_it[-1].state == state:
                    return of_it[-1]
                self._news.clear()
                await self._news.wait()


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for something that nothing tells of, such as the end of a foreign process."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    """Say whether a process has ended."""
    started = reap.read_start_time(pid)
    return started is None or not reap.is_alive((pid, started))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the graces of shutdown; what they are for shows with short ones too.

    What was killed is waited for as long as it takes: on a busy machine it takes its time to go.
    """
    monkeypatch.setattr(process, "STDIN_GRACE_S", 0.5)
    graces = {signal.SIGTERM: 0.3, signal.SIGKILL: PATIENCE_S}
    monkeypatch.setattr(
        process, "_STEPS", [(number, graces[number]) for number, _ in process._STEPS]
    )
    monkeypatch.setattr(reap, "TERM_GRACE_S", 0.3)


@pytest.fixture
def let_pass(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let time pass for the event loop at once: what is to be done by then is due.

    So a limit that is to be reached may be long enough never to be reached before.
    """

    def leap(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + seconds)

    return leap


@pytest.fixture
def seen() -> Seen:
    """Note the states a pool reports."""
    return Seen()
