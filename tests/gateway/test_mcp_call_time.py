"""The time limit that a client sets for a call, and what it reads when the time is up."""

import pytest

from gateway_project.mcp.results import ERROR_KEY
from tests.gateway.catalogues import catalogue, never, tool
from tests.gateway.conftest import ERAS
from tools.upstream.errors import CallTimedOut


@pytest.fixture
def world(world):
    world.catalogue = catalogue(tool("git:log", read_doubt=""))
    world.max_call_s = 3_600.0
    return world


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["call_tool", "read_tool"])
@pytest.mark.parametrize(
    ("given", "limit_s"), [(90, 90), (3_600, 3_600), ("90", 90), (None, None)]
)
async def test_a_call_has_the_time_that_its_client_gives_it(
    connect, world, era, name, given, limit_s
):
    async with connect(era) as client:
        result = await client.call_tool(name, {"tool": "git:log", "timeout_s": given})
    assert not result.is_error
    (made,) = world.upstream.calls
    assert (made.timeout_s, made.arguments) == (limit_s, {})


@pytest.mark.parametrize("name", ["call_tool", "read_tool"])
@pytest.mark.parametrize("given", [0, -1, 3_601, 1e300])
async def test_a_time_out_of_bounds_is_refused_with_what_to_do(connect, world, name, given):
    async with connect() as client:
        result = await client.call_tool(name, {"tool": "git:log", "timeout_s": given})
    assert world.upstream.calls == []
    assert result.meta[ERROR_KEY]["code"] == "invalid_arguments"
    (problem,) = result.meta[ERROR_KEY]["problems"]
    assert problem["path"] == "/timeout_s"
    assert problem["expected"] == "seconds, more than 0 and at most 3,600"
    assert "a task of run_workflow" in result.content[0].text


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_out_of_time_is_cancelled_and_says_how_to_allow_more(connect, world, era):
    world.upstream.answer = never
    async with connect(era) as client:
        result = await client.call_tool("call_tool", {"tool": "git:log", "timeout_s": 0.01})
    assert world.upstream.cancelled.is_set()
    assert result.meta[ERROR_KEY]["code"] == "deadline_exceeded"
    text = result.content[0].text
    assert "git:log was not answered within 0.01 s and was cancelled" in text
    for word in ("timeout_s", "run_workflow", "get_run"):
        assert word in text


async def test_so_does_a_call_that_its_server_s_limit_ended(connect, world):
    async def time_out(called, _progress):
        raise CallTimedOut(
            server="git", what="the call to 'log'", timeout_s=300, is_call=called.tool == "log"
        )

    world.upstream.answer = time_out
    async with connect() as client:
        result = await client.call_tool("call_tool", {"tool": "git:log"})
    text = result.content[0].text
    assert "pass timeout_s to call_tool or in a task, or raise the server's call timeout" in text
    assert "get_run returns its result" in text
