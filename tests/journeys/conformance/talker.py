"""A client that answers what it is asked, and remembers what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

Era = Literal["legacy", "modern"]
VERSIONS: dict[Era, str] = {"legacy": "2025-11-25", "modern": "2026-07-28"}
ANSWERS = {"name": "Ada", "username": "ada", "email": "ada@example.org", "context": "machines"}
ROOT = "file:///home/ada"
CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


@dataclass
class Talker:
    """The user, the model and the folders behind a client.

    Attributes:
        era: The protocol's era that it speaks.
        has_roots: Whether it tells its folders.
    """

    era: Era
    has_roots: bool = True
    asked: list[str] = field(default_factory=list)
    changed: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    updated: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    logged: list[Any] = field(default_factory=list)

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.asked.append(params.message)
        names = params.requested_schema["properties"]
        # What was said earlier comes back in the question, so that the two belong together.
        answers = ANSWERS | {"colour": f"green, said to {params.message!r}"}
        content = {name: answers[name] for name in names if name in answers}
        return types.ElicitResult(action="accept", content=content)

    async def sample(
        self, context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        question = params.messages[0].content
        assert isinstance(question, types.TextContent)
        answer = types.TextContent(type="text", text=f"you said {question.text!r}")
        return types.CreateMessageResult(role="assistant", content=answer, model="none")

    async def roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=ROOT)])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params.data)

    async def hear(self, message: Any) -> None:
        """Note what a server of the handshake era says on its own."""
        method = getattr(message, "method", None) if self.era == "legacy" else None
        if method in CHANGES:
            self.changed.put_nowait(CHANGES[method])
        elif method == "notifications/resources/updated":
            self.updated.put_nowait(str(message.params.uri))

    @asynccontextmanager
    async def connected(self, target: str | StdioServerParameters) -> AsyncIterator[Client]:
        """Connect, speaking one era."""
        async with Client(
            target,
            mode="legacy" if self.era == "legacy" else "auto",
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.roots if self.has_roots else None,
            logging_callback=self.log,
            log_level="info" if self.era == "modern" else None,
            message_handler=self.hear,
            cache=None,
        ) as client:
            assert client.protocol_version == VERSIONS[self.era]
            yield client

    @asynccontextmanager
    async def listening(self, client: Client, *uris: str) -> AsyncIterator[None]:
        """Have changes of lists, and of resources, told."""
        if self.era == "legacy":
            for uri in uris:
                await client.subscribe_resource(uri)
            yield
            return
        wanted: dict[str, Any] = {"resource_subscriptions": list(uris)} if uris else {}
        async with (
            client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                **wanted,
            ) as events,
            asyncio.TaskGroup() as group,
        ):
            task = group.create_task(self._follow(events))
            yield
            task.cancel()

    async def _follow(self, events: Any) -> None:
        async for event in events:
            kind = type(event).__name__
            if kind == "ResourceUpdated":
                self.updated.put_nowait(event.uri)
            else:
                self.changed.put_nowait(kind.removesuffix("ListChanged").lower())
