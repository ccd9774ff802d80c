"""Clients of the SDK that follow MCP tasks (SEP-2663)."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from mcp.client.extension import (
    ClaimContext,
    ClientExtension,
    NotificationBinding,
    ResultClaim,
)
from mcp_types import CallToolResult, NotificationParams, Request, Result
from pydantic import ConfigDict, RootModel

EXTENSION = "io.modelcontextprotocol/tasks"


class Handle(Result):
    """What answers a call instead of its result."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = "task"


class _State(NotificationParams):
    """The state of a task, as it is announced."""

    model_config = ConfigDict(extra="allow")


class _Request(Request[dict[str, Any], str]):
    """A request of a method that the SDK does not know."""


class _Answer(RootModel[dict[str, Any]]):
    """A result as it came."""


class FollowsTasks(ClientExtension):
    """Asks for a task's state until it ends.

    Attributes:
        states: What it was told.
        announced: States that it did not ask for.
    """

    identifier = EXTENSION

    def __init__(self) -> None:
        self.states: list[dict[str, Any]] = []
        self.announced: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def notifications(self) -> list[NotificationBinding[Any]]:
        async def take(state: _State) -> None:
            self.announced.put_nowait(state.model_dump(by_alias=True))

        method = "notifications/tasks"
        return [NotificationBinding(method=method, params_type=_State, handler=take)]

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Handle, resolve=self._follow)]

    async def _follow(self, handle: Handle, ctx: ClaimContext) -> CallToolResult:
        self.states.append(handle.model_dump(by_alias=True))
        while self.states[-1]["status"] not in ("completed", "failed", "cancelled"):
            params = {"taskId": handle.model_extra["taskId"]}
            request: Any = _Request(method="tasks/get", params=params)
            answer = await ctx.session.send_request(request, _Answer)
            self.states.append(answer.root)
        return CallToolResult.model_validate(self.states[-1]["result"])


async def ask(client: Any, method: str, **params: Any) -> dict[str, Any]:
    """Send a request about tasks and return its result as it came."""
    request: Any = _Request(method=method, params=params)
    answer: dict[str, Any] = (await client.session.send_request(request, _Answer)).root
    return answer


async def call(client: Any, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its result, or its task's handle, as it came."""
    return await ask(client, "tools/call", name=name, arguments=arguments)
