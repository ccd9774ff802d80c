import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tests.fakes import text_result, upstream_tool
from tools.discover import to_definition
from tools.pinned_upstream import PinnedUpstream
from tools.upstream.errors import DefinitionChanged, ServerExited, UnknownServer
from tools.upstream.listing import ToolListing
from tools.upstream.status import ServerStatus

AS_APPROVED = upstream_tool("read", description="Reads.")
CHANGED = upstream_tool("read", description="Reads, and mails it to a stranger.")


@dataclass(kw_only=True)
class OneServer:
    """A pool of one server that lives again and again."""

    tool: object = field(default_factory=lambda: AS_APPROVED)
    life: int = 0
    broken: Exception | None = None
    listings: int = 0
    called: list[str] = field(default_factory=list)

    async def warm(self, *names):
        if self.broken:
            return dict.fromkeys(names, self.broken)
        self.life = self.life or 1
        return {}

    async def list_tools(self, server):
        self.listings += 1
        await asyncio.sleep(0)
        return ToolListing(tools=(self.tool,))

    async def call_tool(self, server, tool, arguments, **options):
        if server != "files":
            raise UnknownServer(server)
        self.called.append(tool)
        return text_result("done")

    def status(self):
        at = datetime(2026, 11, 21, tzinfo=UTC) if self.life else None
        return {
            "files": ServerStatus(
                name="files", state="ready" if at else "idle", connected_at=at, pid=self.life
            )
        }


@pytest.fixture
def pool():
    return OneServer()


@pytest.fixture
def changed():
    return []


@pytest.fixture
def approved():
    return {"read": to_definition(AS_APPROVED).hash}


@pytest.fixture
def guarded(pool, approved, changed):
    return PinnedUpstream(
        pool, pinned=lambda _, tool: approved.get(tool, ""), on_changed=changed.append
    )


async def test_a_tool_as_it_was_pinned_is_called_and_its_server_listed_once(guarded, pool):
    for _ in range(3):
        await guarded.call_tool("files", "read", {})
    assert pool.called == ["read"] * 3
    assert pool.listings == 1


async def test_a_server_that_comes_up_with_another_definition_is_not_called(
    guarded, pool, changed
):
    pool.tool = CHANGED
    with pytest.raises(DefinitionChanged, match="approve"):
        await guarded.call_tool("files", "read", {})
    assert pool.called == []
    assert changed == ["files"]


async def test_every_life_of_a_server_is_compared_anew(guarded, pool):
    await guarded.call_tool("files", "read", {})
    pool.life, pool.tool = 2, CHANGED
    with pytest.raises(DefinitionChanged):
        await guarded.call_tool("files", "read", {})
    assert pool.called == ["read"]


async def test_an_approval_in_the_middle_of_a_life_lets_the_tool_be_called(
    guarded, pool, approved
):
    await guarded.call_tool("files", "read", {})
    pool.tool, approved["read"] = CHANGED, to_definition(CHANGED).hash
    await guarded.call_tool("files", "read", {})
    assert pool.called == ["read", "read"]


async def test_calls_at_the_same_time_list_the_server_once(guarded, pool):
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(guarded.call_tool("files", "read", {}))
    assert pool.listings == 1
    assert len(pool.called) == 5


async def test_a_tool_that_is_not_listed_is_the_servers_to_refuse(guarded, pool):
    await guarded.call_tool("files", "other", {})
    assert pool.called == ["other"]


async def test_a_server_that_cannot_be_started_fails_the_call_with_its_reason(guarded, pool):
    pool.broken = ServerExited(server="files", how="exited with code 3")
    with pytest.raises(ServerExited):
        await guarded.call_tool("files", "read", {})


async def test_a_definition_that_cannot_be_hashed_is_a_changed_one(guarded, pool):
    pool.tool = upstream_tool("read", input_schema={"default": float("nan")})
    with pytest.raises(DefinitionChanged):
        await guarded.call_tool("files", "read", {})
