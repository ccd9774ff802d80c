import asyncio
import sys

import django.db
import pytest

from gateway_project.foundation.database import run_in_database_thread
from tests.factories import ServerFactory
from tests.fakes import FakeUpstream, upstream_tool
from tests.patience import PATIENCE_S
from tools import discover as discovery
from tools.discover import DiscoveryResult, discover_servers, probe_servers, to_definition
from tools.models import Server, Tool
from tools.upstream.errors import SpawnFailed
from tools.upstream.listing import ToolListing
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

DATABASE = pytest.mark.django_db(transaction=True)


@pytest.fixture
def registered(transactional_db):
    for name in ("files", "git"):
        ServerFactory(name=name)


async def run(pool, *names, clock, **options):
    options.setdefault("approve_new", True)
    async with asyncio.timeout(PATIENCE_S):
        return await discover_servers(pool, names or sorted(pool.tools), now=clock, **options)


def states():
    return {str(tool): tool.state for tool in Tool.objects.select_related("server")}


def stored(model, name):
    return run_in_database_thread(model.objects.get, name=name)


@DATABASE
async def test_the_tools_of_every_server_are_stored_with_the_time_of_the_clock(registered, clock):
    pool = FakeUpstream(tools={"git": [upstream_tool("log"), upstream_tool("diff")], "files": []})
    files, git = await run(pool, clock=clock)
    assert (files.server, files.tools, files.error) == ("files", 0, "")
    assert (git.server, git.tools, git.error, git.warnings) == ("git", 2, "", ())
    assert git.recorded.added == ("log", "diff")
    assert git.duration_s >= 0
    assert await run_in_database_thread(states) == {"git:log": "active", "git:diff": "active"}
    server = await stored(Server, "git")
    assert server.discovered_at == server.last_connected_at == clock.at


@DATABASE
async def test_new_tools_wait_where_they_are_approved_by_hand(registered, clock):
    pool = FakeUpstream(tools={"git": [upstream_tool("log")]})
    await run(pool, clock=clock, approve_new=False)
    assert await run_in_database_thread(states) == {"git:log": "pending"}


@DATABASE
async def test_a_server_that_fails_is_noted_and_harms_no_other(registered, clock):
    pool = FakeUpstream(
        tools={"git": [upstream_tool("log")]},
        errors={"files": SpawnFailed("no such command", server="files")},
    )
    files, git = await run(pool, "files", "git", clock=clock)
    assert files == DiscoveryResult(
        server="files",
        error="server 'files': no such command",
        error_code="spawn_failed",
        duration_s=files.duration_s,
    )
    assert git.recorded.added == ("log",)
    server = await stored(Server, "files")
    assert (server.last_error, server.last_error_at) == (files.error, clock.at)
    assert server.discovered_at is None


CRASHES_ON_THE_LIST = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/list":
        sys.exit("no index\\nrun the indexer first")
    version = asked.get("params", {}).get("protocolVersion")
    said = {"error": {"code": -32601, "message": "unknown"}}
    if asked["method"] == "initialize":
        info = {"name": "s", "version": "1"}
        said = {"result": {"protocolVersion": version, "capabilities": {}, "serverInfo": info}}
        said["result"]["capabilities"] = {"tools": {}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


@DATABASE
async def test_what_a_server_wrote_before_it_crashed_on_the_list_is_kept(registered, clock):
    spec = ServerSpec(
        name="git", command=sys.executable, args=("-I", "-S", "-c", CRASHES_ON_THE_LIST)
    )
    async with UpstreamPool([spec]) as pool:
        (git,) = await run(pool, "git", clock=clock)
    assert git.error_code == "server_exited"
    server = await stored(Server, "git")
    assert server.last_output == ["no index", "run the indexer first"]


@DATABASE
async def test_a_failed_discovery_keeps_what_is_known_of_a_server(registered, clock):
    pool = FakeUpstream(tools={"git": [upstream_tool("log")]})
    await run(pool, clock=clock)
    pool.errors["git"] = SpawnFailed("gone", server="git")
    await run(pool, clock=clock)
    assert await run_in_database_thread(states) == {"git:log": "active"}


@DATABASE
async def test_a_server_deleted_meanwhile_is_an_error_of_its_own_and_harms_no_other(
    registered, clock
):
    pool = FakeUpstream(tools={"deleted": [upstream_tool("x")], "git": [upstream_tool("log")]})
    deleted, git = await run(pool, clock=clock)
    assert deleted.error
    assert git.recorded.added == ("log",)


LONG_NAME = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(4_000))
UNSTORABLE = {
    "no name": upstream_tool(""),
    "a number JSON lacks": upstream_tool("x", input_schema={"maximum": float("inf")}),
    "a number too long": upstream_tool("x", input_schema={"default": 10**5_000}),
    "a name too long for the index": upstream_tool(LONG_NAME),
    "a name like another's once stored": upstream_tool("l\x00g"),
}


@DATABASE
@pytest.mark.parametrize("tool", UNSTORABLE.values(), ids=UNSTORABLE.keys())
async def test_a_tool_that_cannot_be_stored_is_left_out_with_a_reason(registered, clock, tool):
    pool = FakeUpstream(tools={"git": [upstream_tool("l\ufffdg"), tool], "files": []})
    _, git = await run(pool, clock=clock)
    assert (git.tools, git.error) == (1, "")
    (warning,) = git.warnings
    assert "\n" not in warning
    assert len(warning) < 500
    assert await run_in_database_thread(states) == {"git:l\ufffdg": "active"}


@DATABASE
async def test_of_two_tools_with_one_name_the_first_counts(registered, clock):
    pool = FakeUpstream(
        tools={"git": [upstream_tool("log", description=d) for d in ("one", "two")]}
    )
    (git,) = await run(pool, clock=clock)
    assert git.tools == 1
    assert len(git.warnings) == 1
    tool = await run_in_database_thread(Tool.objects.select_related("definition").get)
    assert tool.definition.description == "one"


@DATABASE
async def test_what_was_wrong_with_a_listing_is_passed_on_and_a_part_of_it_removes_nothing(
    registered, clock
):
    log, diff = upstream_tool("log"), upstream_tool("diff")
    pool = FakeUpstream(tools={"git": [log, diff]})
    await run(pool, clock=clock)
    pool.tools["git"] = ToolListing(tools=(log,), complete=False, problems=("page 2 is broken",))
    (git,) = await run(pool, clock=clock)
    assert git.warnings == ("page 2 is broken",)
    assert await run_in_database_thread(states) == {"git:log": "active", "git:diff": "active"}


@DATABASE
async def test_what_a_server_says_of_itself_is_stored(registered, clock):
    pool = FakeUpstream(
        tools={
            "git": ToolListing(
                tools=(), instructions="Works on this repository.", protocol_version="2026-07-28"
            )
        }
    )
    await run(pool, clock=clock)
    server = await stored(Server, "git")
    assert server.instructions == "Works on this repository."
    assert server.protocol_version == "2026-07-28"


async def test_a_database_that_is_away_is_told_as_itself_and_not_in_a_group(monkeypatch, clock):
    async def away(*_, **__):
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(discovery, "run_in_database_thread", away)
    pool = FakeUpstream(tools={"git": [], "time": []})
    with pytest.raises(django.db.OperationalError, match="gone"):
        await discover_servers(pool, ["git", "time"], approve_new=True, now=clock)


async def test_a_probe_counts_tools_and_stores_nothing():
    pool = FakeUpstream(
        tools={"git": [upstream_tool("log"), upstream_tool("diff")]},
        errors={"files": SpawnFailed("no such command", server="files")},
    )
    found = await probe_servers(pool, ["git", "files"], timeout_s=PATIENCE_S)
    assert found == {"files": "server 'files': no such command", "git": 2}
    assert list(found) == ["files", "git"]


@pytest.mark.parametrize(
    ("tool", "title", "annotations"),
    [
        (upstream_tool("a"), "", {}),
        (upstream_tool("a", title="A"), "A", {}),
        (upstream_tool("a", annotations={"title": "B"}), "B", {"title": "B"}),
        (upstream_tool("a", title="A", annotations={"title": "B"}), "A", {"title": "B"}),
        (
            upstream_tool("a", annotations={"readOnlyHint": True, "openWorldHint": False}),
            "",
            {"readOnlyHint": True, "openWorldHint": False},
        ),
    ],
)
def test_a_tool_of_the_sdk_is_translated_with_the_hints_as_the_protocol_spells_them(
    tool, title, annotations
):
    said = to_definition(tool)
    assert (said.name, said.title, said.annotations) == ("a", title, annotations)
    assert said.description == ""
    assert said.output_schema is None


def test_schemas_are_translated_as_they_are():
    schema = {"type": "object", "x-odd": {"deep": [1, None]}}
    said = to_definition(
        upstream_tool("a", description="D", input_schema=schema, output_schema=schema)
    )
    assert (said.description, said.input_schema, said.output_schema) == ("D", schema, schema)


class Meeting:
    """Servers that list their tools only once all of them are being asked."""

    def __init__(self, count):
        self.barrier = asyncio.Barrier(count)

    async def list_tools(self, server):
        await self.barrier.wait()
        return ToolListing(tools=())


async def test_servers_are_probed_all_at_the_same_time():
    names, answers = [f"s{number}" for number in range(35)], []
    async with asyncio.timeout(PATIENCE_S):
        found = await probe_servers(
            Meeting(35), names, timeout_s=PATIENCE_S, on_done=lambda: answers.append(1)
        )
    assert found == dict.fromkeys(sorted(names), 0)
    assert len(answers) == 35


async def test_a_probe_ends_without_the_servers_that_say_nothing_in_time():
    class Pool(Meeting):
        async def list_tools(self, server):
            if server == "silent":
                await asyncio.Event().wait()
            return ToolListing(tools=())

    assert await probe_servers(Pool(1), ["silent", "quick"], timeout_s=0.01) == {"quick": 0}


async def test_a_timeout_that_is_not_of_the_probe_is_not_swallowed():
    class Pool(Meeting):
        async def list_tools(self, server):
            raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        await probe_servers(Pool(1), ["broken"], timeout_s=PATIENCE_S)
