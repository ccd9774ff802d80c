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

from tests.journeys.conformance.stage import (
    Exposure,
    fixture_entry,
    fixture_on_http,
    gateway_on_http,
)
from tests.journeys.conformance.talker import ROOT, Era, Talker
from tests.journeys.gateways import JOURNEY_S, Installation, aeventually
from tests.journeys.migrated import migrated_home

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


@dataclass(frozen=True)
class Stage:
    """An installation with a server of each era behind each transport, and its gateways."""

    installation: Installation
    urls: dict[Exposure, str]

    def target(self, face: Face, exposure: Exposure) -> str | StdioServerParameters:
        if face == "http":
            return self.urls[exposure]
        command, *arguments = self.installation.command(
            "--exposure", exposure, "--attach", "never"
        )
        return StdioServerParameters(command=command, args=arguments, env=self.installation.env)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        home = stack.enter_context(migrated_home())
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
    async def visiting(**options: Any) -> AsyncIterator[Visit]:
        talker = Talker(era, **options)
        async with (
            asyncio.timeout(JOURNEY_S),
            talker.connected(stage.target(face, exposure)) as client,
        ):
            yield Visit(talker, client, exposure)

    return visiting


async def test_a_client_is_asked_told_and_obeyed_while_a_tool_works(visit, tmp_path):
    async with visit() as at:
        await asks(at)
        await asks_before_a_prompt(at)
        if at.talker.era == "legacy":
            await at.client.set_logging_level("info")
        for server in SERVERS:
            await reports(at, server)
            await at.call(server, "test_logging_tool")
            await aeventually(lambda: "said in passing" in at.talker.logged)
            at.talker.logged.clear()
            await cancels(at, server, tmp_path / server)


async def asks(at: Visit) -> None:
    for server in SERVERS:
        said = await at.call(server, "test_two_questions", message=f"Who, {server}?")
        assert said == f"Ada likes green, said to '{server} asks: And your colour, Ada?'"
        said = await at.call(server, "test_sampling", prompt=server)
        assert said == f"LLM response: you said {server!r}"
        assert await at.call(server, "test_list_roots") == f"roots: {ROOT}"
    asked = [
        [f"{server} asks: {question}" for question in (f"Who, {server}?", "And your colour, Ada?")]
        for server in SERVERS
    ]
    assert at.talker.asked == list(itertools.chain(*asked))


async def asks_before_a_prompt(at: Visit) -> None:
    listed = {prompt.name for prompt in (await at.client.list_prompts()).prompts}
    for server in SERVERS:
        name = f"{server}__ask_first"
        assert name in listed
        prompt = await at.client.get_prompt(name)
        assert prompt.messages[0].content.text == "Use machines"


async def reports(at: Visit, server: str) -> None:
    seen: asyncio.Queue[float] = asyncio.Queue()

    async def report(done, total, message):
        await seen.put(done)

    assert await at.call(server, "test_tool_with_progress", progress=report) == "done"
    assert [await seen.get() for _ in range(3)] == [0, 50, 100]


async def cancels(at: Visit, server: str, marker: Path) -> None:
    def reads(word):
        return lambda: marker.exists() and marker.read_text() == word

    async with asyncio.TaskGroup() as group:
        call = group.create_task(at.call(server, "test_wait", marker=str(marker)))
        await aeventually(reads("waiting"))
        call.cancel()
    await aeventually(reads("cancelled"))
    assert await at.call(server, "test_simple_text"), "the server goes on"


async def test_a_list_or_a_resource_that_changes_is_announced(visit):
    # What changes in a process of the client's own changes no list of all clients.
    async with visit(has_roots=False) as at:
        listed = (await at.client.list_resources()).resources
        uris = [str(each.uri) for each in listed if str(each.uri).endswith("watched-resource")]
        assert len(uris) == len(SERVERS)
        async with at.talker.listening(at.client, *uris):
            # The tools of exposure meta never change, whatever stands behind them.
            kind = {"full": "tool", "meta": "prompt"}[at.exposure]
            for server in SERVERS:
                await at.call(server, f"test_trigger_{kind}_change")
                while await at.talker.changed.get() != f"{kind}s":
                    continue
                await at.call(server, "touch")
            missing = set(uris)
            while missing:  # one may be told of twice
                told = await at.talker.updated.get()
                assert told in uris
                missing.discard(told)
