"""Clients and servers of different eras ask, report, cancel and announce across the gateway."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.foundation.postgres.homes import temporary_home
from tests.journeys.conformance.stage import (
    Exposure,
    fixture_entry,
    fixture_on_http,
    gateway_on_http,
)
from tests.journeys.conformance.talker import ROOT, Era, Talker
from tests.journeys.gateways import PATIENCE_S, Installation, aeventually

pytestmark = [
    pytest.mark.full,
    # What clients of the handshake era do is deprecated, and done.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

Face = Literal["stdio", "http"]
ERAS: Sequence[Era] = ("legacy", "modern")
FACES: Sequence[Face] = ("stdio", "http")
EXPOSURES: Sequence[Exposure] = ("full", "meta")
SERVERS = [f"{transport}_{era}" for transport in FACES for era in ERAS]
WATCHED = "test://watched-resource"


@dataclass(frozen=True)
class Stage:
    """An installation with a server of each era behind each transport, and its gateways."""

    installation: Installation
    urls: dict[Exposure, str]

    def target(self, face: Face, exposure: Exposure) -> str | StdioServerParameters:
        if face == "http":
            return self.urls[exposure]
        command, *arguments = self.installation.command()
        env = self.installation.env | {"FOREGATE_EXPOSURE": exposure}
        return StdioServerParameters(command=command, args=arguments, env=env)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        home = stack.enter_context(temporary_home())
        home.mkdir(mode=0o755)
        installation = Installation(home=home)
        servers = {f"stdio_{era}": fixture_entry("stdio", era=era) for era in ERAS}
        for era in ERAS:
            url = stack.enter_context(fixture_on_http(era))
            servers[f"http_{era}"] = fixture_entry("http", url)
        installation.register(**servers)
        urls = {
            exposure: stack.enter_context(gateway_on_http(installation, exposure))
            for exposure in EXPOSURES
        }
        yield Stage(installation, urls)


@dataclass(frozen=True)
class Visit:
    """One client at one face of the gateway."""

    talker: Talker
    client: Client
    exposure: Exposure

    async def call(self, server: str, tool: str, *, progress: Any = None, **given: Any) -> str:
        """Call a tool by its own name, or through `call_tool`."""
        name, arguments = f"{server}__{tool}", given
        if self.exposure == "meta":
            name, arguments = "call_tool", {"tool": f"{server}:{tool}", "arguments": given}
        result = await self.client.call_tool(name, arguments, progress_callback=progress)
        text: str = result.content[0].text
        assert not result.is_error, text
        return text


@pytest.fixture(params=list(itertools.product(ERAS, FACES, EXPOSURES)), ids="-".join)
def visit(request: pytest.FixtureRequest, stage: Stage):
    era, face, exposure = request.param

    @asynccontextmanager
    async def visiting() -> AsyncIterator[Visit]:
        talker = Talker(era)
        async with (
            asyncio.timeout(PATIENCE_S),
            talker.connected(stage.target(face, exposure)) as client,
        ):
            yield Visit(talker, client, exposure)

    return visiting


async def test_a_tool_asks_its_user_in_the_middle(visit):
    async with visit() as at:
        for server in SERVERS:
            said = await at.call(server, "test_two_questions", message=f"Who, {server}?")
            assert said == "Ada likes green, said to 'And your colour, Ada?'"
        asked = [[f"Who, {server}?", "And your colour, Ada?"] for server in SERVERS]
        assert at.talker.asked == list(itertools.chain(*asked))


async def test_a_tool_asks_the_client_s_model_and_for_its_roots(visit):
    async with visit() as at:
        for server in SERVERS:
            said = await at.call(server, "test_sampling", prompt=server)
            assert said == f"LLM response: you said {server!r}"
            assert await at.call(server, "test_list_roots") == f"roots: {ROOT}"


async def test_a_prompt_asks_its_user_first(visit):
    async with visit() as at:
        listed = {prompt.name for prompt in (await at.client.list_prompts()).prompts}
        for server in SERVERS:
            name = f"{server}__ask_first"
            assert name in listed
            prompt = await at.client.get_prompt(name)
            assert prompt.messages[0].content.text == "Use machines"


async def test_progress_and_log_messages_arrive_while_a_tool_works(visit):
    async with visit() as at:
        if at.talker.era == "legacy":
            await at.client.set_logging_level("info")
        for server in SERVERS:
            reports: asyncio.Queue[float] = asyncio.Queue()

            async def report(done, total, message, reports=reports):
                await reports.put(done)

            assert await at.call(server, "test_tool_with_progress", progress=report) == "done"
            assert [await reports.get() for _ in range(3)] == [0, 50, 100]
            await at.call(server, "test_logging_tool")
            await aeventually(lambda: "said in passing" in at.talker.logged, within_s=10)
            at.talker.logged.clear()


async def test_what_is_cancelled_in_the_middle_is_cancelled_at_the_server(visit, tmp_path: Path):
    async with visit() as at:
        for server in SERVERS:
            marker = tmp_path / server

            def reads(word, marker=marker):
                return lambda: marker.exists() and marker.read_text() == word

            async with asyncio.TaskGroup() as group:
                call = group.create_task(at.call(server, "test_wait", marker=str(marker)))
                await aeventually(reads("waiting"), within_s=PATIENCE_S)
                call.cancel()
            await aeventually(reads("cancelled"), within_s=10)
            assert await at.call(server, "test_simple_text"), "the server goes on"


async def test_a_list_that_changes_is_announced(visit):
    async with visit() as at, at.talker.listening(at.client):
        kind = {"full": "tool", "meta": "prompt"}[at.exposure]
        for server in SERVERS:
            await at.call(server, f"test_trigger_{kind}_change")
            while await at.talker.changed.get() != f"{kind}s":
                continue


async def test_a_resource_that_changes_is_announced(visit):
    async with visit() as at:
        uris = [
            resource.uri
            for resource in (await at.client.list_resources()).resources
            if str(resource.uri).endswith("watched-resource")
        ]
        assert len(uris) == len(SERVERS)
        async with at.talker.listening(at.client, *map(str, uris)):
            for server in SERVERS:
                await at.call(server, "touch")
            assert {await at.talker.updated.get() for _ in SERVERS} == set(map(str, uris))
