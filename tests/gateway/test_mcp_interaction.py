"""What servers ask, between both eras on either side."""

import mcp_types
import pytest
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from gateway_project.mcp.questions import SERVER_KEY
from tests.gateway.asking_servers import (
    CALL,
    FORM,
    Person,
    able,
    asks_in_the_middle,
    code,
    returns_what_it_needs,
    text,
)
from tests.gateway.catalogues import text_result
from tests.gateway.conftest import ERAS


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "server",
    [asks_in_the_middle(("elicitation/create", FORM)), returns_what_it_needs()],
    ids=["handshake", "stateless"],
)
async def test_a_server_question_and_its_answer_are_relayed(connect, world, era, server):
    world.upstream.answer = server
    person = Person()
    async with able(connect, era, person) as client:
        result = await client.call_tool(*CALL)
    assert "'content': {'name': 'Ada'}" in text(result)
    (asked,) = person.asked
    assert asked.message == "git asks: Whose?", "a user must know who wants to know"
    assert asked.meta[SERVER_KEY] == "git"


@pytest.mark.parametrize("era", ERAS)
async def test_concurrent_and_sequential_questions_are_answered(connect, world, era):
    async def answer(called, _progress):
        first = await asks_in_the_middle(*[("elicitation/create", FORM)] * 2)(called, None)
        second = await called.downstream.ask("elicitation/create", FORM)
        said = first.raw["content"][0]["text"]
        return text_result(f"{said} {second}")

    world.upstream.answer = answer
    person = Person()
    async with able(connect, era, person) as client:
        result = await client.call_tool(*CALL)
    assert text(result).count("Ada") == len(person.asked) == 3


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_may_ask_round_after_round(connect, world, era):
    world.upstream.answer = returns_what_it_needs(rounds=3)
    person = Person()
    async with able(connect, era, person) as client:
        assert "Ada" in text(await client.call_tool(*CALL))
    assert len(person.asked) == 3
    assert [called.request_state for called in world.upstream.calls] == [None, "s", "ss", "sss"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_asks_for_a_retry_is_called_again(connect, world, era):
    world.upstream.answer = returns_what_it_needs(rounds=2, requests={})
    async with able(connect, era) as client:
        assert text(await client.call_tool(*CALL)) == "None"
    assert len(world.upstream.calls) == 3


async def test_the_number_of_question_rounds_is_limited(connect, world):
    world.upstream.answer = returns_what_it_needs(rounds=100)
    async with able(connect, "legacy") as client:
        assert code(await client.call_tool(*CALL)) == "cannot_ask_client"
    assert len(world.upstream.calls) == 11


@pytest.mark.parametrize("era", ERAS)
async def test_client_capabilities_are_forwarded_to_the_server(connect, world, era):
    async with able(connect, era) as client:
        await client.call_tool(*CALL)
    async with connect(era) as client:
        await client.call_tool(*CALL)
    can, cannot = (called.downstream for called in world.upstream.calls)
    assert can.capabilities == {"elicitation": {"form": {}, "url": {}}}
    assert cannot.capabilities == {}
    assert {called.caller.user for called in world.upstream.calls} == {"admin"}


@pytest.mark.parametrize("era", ERAS)
async def test_extensions_that_need_nothing_of_the_gateway_are_forwarded(connect, world, era):
    passed = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}, "org.example/x": {}}
    tasks = {"io.modelcontextprotocol/tasks": {}}  # its results have no form in the handshake era
    own = {"io.modelcontextprotocol/skills": {}}
    extensions = [advertise(*extension) for extension in (passed | tasks | own).items()]
    passed |= tasks if era == "auto" else {}
    async with connect(era, extensions=extensions) as client:
        await client.call_tool(*CALL)
    assert world.upstream.calls[0].downstream.capabilities == {"extensions": passed}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("method", "params", "number"),
    [
        ("elicitation/create", FORM, -32601),
        ("sampling/createMessage", {}, -32601),
        ("tools/list", {}, -32601),
    ],
)
async def test_an_unsupported_question_is_an_error_to_the_server(
    connect, world, era, method, params, number
):
    refused = []

    async def answer(called, _progress):
        try:
            await called.downstream.ask(method, params)
        except MCPError as error:
            refused.append(error)
        return text_result("went on")

    world.upstream.answer = answer
    async with connect(era) as client:
        assert text(await client.call_tool(*CALL)) == "went on"
    assert [error.code for error in refused] == [number]
    assert method in str(refused[0])


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_needs_what_the_client_cannot_give_fails_the_call(connect, world, era):
    world.upstream.answer = returns_what_it_needs()
    async with connect(era) as client:
        result = await client.call_tool(*CALL)
    assert code(result) == "cannot_ask_client"
    assert "elicitation/create" in result.content[0].text


@pytest.mark.parametrize(
    "requests", [["x"], {"a": "b"}, {"a": {"method": "tools/call"}}, {"a": {"method": ["x"]}}]
)
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_asks_in_no_known_form_fails_the_call(connect, world, era, requests):
    world.upstream.answer = returns_what_it_needs(requests=requests)
    async with able(connect, era) as client:
        assert code(await client.call_tool(*CALL)) == "cannot_ask_client"


async def test_a_refusal_of_the_user_is_the_server_s_to_judge(connect, world):
    async def decline(_context, _params):
        return ElicitResult(action="decline")

    for era in ERAS:
        world.upstream.answer = asks_in_the_middle(("elicitation/create", FORM))
        async with connect(era, elicitation_callback=decline) as client:
            assert "decline" in text(await client.call_tool(*CALL))


async def test_an_error_of_the_client_ends_the_call(connect, world):
    async def broken(_context, _params):
        return mcp_types.ErrorData(code=-32000, message="no window")

    world.upstream.answer = returns_what_it_needs()
    async with connect("legacy", elicitation_callback=broken) as client:
        result = await client.call_tool(*CALL)
    assert code(result) == "cannot_ask_client"
    assert "no window" in result.content[0].text
