"""What servers ask, between both eras on either side; servers are played by functions."""

import asyncio
from contextlib import asynccontextmanager

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult

from gateway_project.foundation.caller import Caller
from gateway_project.mcp.failure import META_KEY
from gateway_project.mcp.questions import SERVER_KEY
from tests.gateway.catalogues import text_result
from tests.gateway.conftest import ERAS
from tools.upstream.errors import UpstreamRefused
from tools.upstream.result import UpstreamResult

FORM = {
    "mode": "form",
    "message": "Whose?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
CALL = ("call_tool", {"tool": "git:git_status"})


def asks_in_the_middle(*questions):
    """A server of the handshake era: sends requests and waits for their answers."""

    async def answer(called, _progress):
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(called.downstream.ask(method, params))
                for method, params in questions
            ]
        return text_result(" ".join(str(task.result()) for task in asked))

    return answer


def returns_what_it_needs(*, rounds=1, state="s", requests=None):
    """A server of 2026-07-28: returns questions and is called again."""
    requests = (
        {"who": {"method": "elicitation/create", "params": FORM}} if requests is None else requests
    )

    async def answer(called, _progress):
        given = called.request_state
        count = len(given) if given else 0
        if count < rounds:
            raw = {"resultType": "input_required", "requestState": state + "s" * count}
            if requests:
                raw["inputRequests"] = requests
            return UpstreamResult.from_wire(raw)
        return text_result(f"{called.input_responses}")

    return answer


class Person:
    """Answers what a client is asked."""

    def __init__(self, name="Ada"):
        self.name = name
        self.asked: list[ElicitRequestParams] = []

    async def elicit(self, _context, params):
        self.asked.append(params)
        return ElicitResult(action="accept", content={"name": self.name})


@asynccontextmanager
async def able(connect, era, person=None):
    async with connect(era, elicitation_callback=(person or Person()).elicit) as client:
        yield client


def text(result):
    assert not result.is_error, result
    return result.content[0].text


def code(result):
    assert result.is_error
    return result.meta[META_KEY]["code"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "server",
    [asks_in_the_middle(("elicitation/create", FORM)), returns_what_it_needs()],
    ids=["handshake", "stateless"],
)
async def test_a_server_s_question_reaches_the_user_and_the_answer_the_server(
    connect, world, era, server
):
    world.upstream.answer = server
    person = Person()
    async with able(connect, era, person) as client:
        result = await client.call_tool(*CALL)
    assert "'content': {'name': 'Ada'}" in text(result)
    (asked,) = person.asked
    assert asked.message == "git asks: Whose?", "a user must know who wants to know"
    assert asked.meta[SERVER_KEY] == "git"


@pytest.mark.parametrize("era", ERAS)
async def test_questions_at_the_same_time_and_one_after_the_other_are_all_answered(
    connect, world, era
):
    async def answer(called, _progress):
        first = await asks_in_the_middle(*[("elicitation/create", FORM)] * 2)(called, None)
        second = await called.downstream.ask("elicitation/create", FORM)
        return text_result(f"{first.content[0].text} {second}")

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
async def test_a_server_that_only_wants_to_be_called_again_is(connect, world, era):
    world.upstream.answer = returns_what_it_needs(rounds=2, requests={})
    async with able(connect, era) as client:
        assert text(await client.call_tool(*CALL)) == "None"
    assert len(world.upstream.calls) == 3


async def test_a_server_that_never_has_enough_is_not_asked_for_ever(connect, world):
    world.upstream.answer = returns_what_it_needs(rounds=100)
    async with able(connect, "legacy") as client:
        assert code(await client.call_tool(*CALL)) == "cannot_ask_client"
    assert len(world.upstream.calls) == 11


@pytest.mark.parametrize("era", ERAS)
async def test_what_the_client_can_be_asked_is_told_to_the_server(connect, world, era):
    async with able(connect, era) as client:
        await client.call_tool(*CALL)
    async with connect(era) as client:
        await client.call_tool(*CALL)
    can, cannot = (called.downstream for called in world.upstream.calls)
    assert can.capabilities == {"elicitation": {"form": {}, "url": {}}}
    assert cannot.capabilities == {}
    assert can.user == "admin"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("method", "params", "number"),
    [
        ("elicitation/create", FORM, -32601),
        ("sampling/createMessage", {}, -32601),
        ("tools/list", {}, -32601),
    ],
)
async def test_a_server_that_asks_what_cannot_be_asked_is_told_so(
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


@pytest.mark.parametrize("era", ERAS)
async def test_sampling_and_roots_pass_too(connect, world, era):
    sample = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 5,
    }

    async def sampled(_context, params):
        content = mcp_types.TextContent(type="text", text=params.messages[0].content.text + "!")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(_context):
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri="file:///work")])

    world.upstream.answer = asks_in_the_middle(
        ("sampling/createMessage", sample), ("roots/list", {})
    )
    async with connect(era, sampling_callback=sampled, list_roots_callback=roots) as client:
        result = text(await client.call_tool(*CALL))
    assert "Hi!" in result
    assert "file:///work" in result


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["handshake", "stateless"])
async def test_visits_to_an_address_pass_between_the_eras(connect, world, era, server):
    visit = {"mode": "url", "message": "Sign in", "url": "https://example.com/in"}
    person = Person()
    if server == "handshake":
        visit["elicitationId"] = "e1"
        world.upstream.answer = asks_in_the_middle(("elicitation/create", visit))
    else:
        requests = {"who": {"method": "elicitation/create", "params": visit}}
        world.upstream.answer = returns_what_it_needs(requests=requests)
    async with able(connect, era, person) as client:
        assert "accept" in text(await client.call_tool(*CALL))
    assert person.asked[0].url == "https://example.com/in"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["handshake", "stateless"])
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", " https://x.y", None]
)
async def test_nobody_is_sent_to_an_address_that_is_none_of_the_web(
    connect, world, era, server, url
):
    visit = {"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"}
    if server == "handshake":
        world.upstream.answer = asks_in_the_middle(("elicitation/create", visit))
    else:
        requests = {"who": {"method": "elicitation/create", "params": visit}}
        world.upstream.answer = returns_what_it_needs(requests=requests)
    person = Person()
    async with able(connect, era, person) as client:
        assert (await client.call_tool(*CALL)).is_error
    assert person.asked == []


async def test_the_error_that_sends_a_user_to_an_address_passes_to_who_knows_it(connect, world):
    data = {
        "elicitations": [
            {"mode": "url", "message": "m", "url": "https://x.y", "elicitationId": "1"}
        ]
    }

    async def answer(called, _progress):
        if len(world.upstream.calls) % 2:
            raise UpstreamRefused(server="git", rpc_code=-32042, rpc_message="visit", data=data)
        assert called.input_responses is None
        return text_result("in")

    world.upstream.answer = answer
    person = Person()
    async with able(connect, "auto", person) as client:
        assert text(await client.call_tool(*CALL)) == "in"
    assert person.asked[0].url == "https://x.y"
    async with able(connect, "legacy") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool(*CALL)
    (visit,) = refused.value.data["elicitations"]
    assert (refused.value.code, visit["message"]) == (-32042, "git asks: m")
    assert (visit["url"], visit["_meta"]) == ("https://x.y", {"foregate/server": "git"})


async def hand_driven(client, **given):
    return await client.session.call_tool(*CALL, allow_input_required=True, **given)


async def test_what_the_client_carries_is_sealed_and_holds_for_its_request_only(connect, world):
    world.upstream.answer = returns_what_it_needs(state="secret")
    answers = {"who": ElicitResult(action="accept", content={})}
    async with able(connect, "auto") as client:
        first = await hand_driven(client)
        assert "secret" not in first.request_state
        with pytest.raises(MCPError, match="another request") as refused:
            await client.session.call_tool(
                "call_tool",
                {"tool": "git:git_log", "arguments": {"repo_path": "x"}},
                request_state=first.request_state,
                input_responses=answers,
            )
        assert refused.value.code == -32602
        with pytest.raises(MCPError, match="gave"):
            await hand_driven(client, request_state=first.request_state[:-2] + "AA")
        world.caller = Caller(user="eve", team=None, scopes=frozenset({"*"}), kind="http")
        world.readiness.serve(
            type(world.readiness.current)(
                effects=world.readiness.current.effects, caller=world.caller
            )
        )
        with pytest.raises(MCPError, match="somebody else"):
            await hand_driven(client, request_state=first.request_state, input_responses=answers)
    assert [called.request_state for called in world.upstream.calls] == [None]


async def test_a_parked_call_is_resumed_by_its_caller_once(connect, world):
    world.upstream.answer = asks_in_the_middle(("elicitation/create", FORM))
    async with able(connect, "auto") as client:
        first = await hand_driven(client)
        (key,) = first.input_requests
        again = await hand_driven(client, request_state=first.request_state)
        assert list(again.input_requests) == [key]
        answers = {key: ElicitResult(action="accept", content={"name": "Bo"})}
        with pytest.raises(MCPError, match="has ended"):
            await hand_driven(client, request_state=first.request_state, input_responses=answers)
        done = await hand_driven(
            client, request_state=again.request_state, input_responses=answers
        )
        assert "Bo" in text(done)
    assert len(world.upstream.calls) == 1


async def test_a_parked_call_ends_with_its_client(connect, world):
    async def answer(called, _progress):
        await called.downstream.ask("elicitation/create", FORM)

    world.upstream.answer = answer
    async with able(connect, "auto") as client:
        await hand_driven(client)
        assert not world.upstream.cancelled.is_set()
    async with asyncio.timeout(5):
        await world.upstream.cancelled.wait()


async def test_a_request_that_is_cancelled_while_it_may_park_is_cancelled_upstream(connect, world):
    async def answer(called, _progress):
        await asyncio.Event().wait()

    world.upstream.answer = answer
    async with able(connect, "auto") as client, asyncio.TaskGroup() as group:
        call = group.create_task(client.call_tool(*CALL))
        await world.upstream.called.wait()
        call.cancel()
        async with asyncio.timeout(5):
            await world.upstream.cancelled.wait()


@pytest.mark.filterwarnings("ignore:The logging capability")
@pytest.mark.parametrize("era", ERAS)
async def test_log_messages_reach_a_client_that_wants_them(connect, world, era):
    heard = []

    async def hear(params):
        heard.append((params.level, params.data))

    async def answer(called, _progress):
        for level in ("debug", "info", "error"):
            note = {"level": level, "data": {"x": None}}
            await called.downstream.tell("notifications/message", note)
        await called.downstream.tell("notifications/tools/list_changed", {})
        return text_result("done")

    world.upstream.answer = answer
    async with connect(era, logging_callback=hear) as client:
        await client.call_tool(*CALL)
        if era == "legacy":
            await client.session.set_logging_level("error")
            await client.call_tool(*CALL)
    if era == "legacy":
        assert [level for level, _ in heard] == ["info", "error", "error"]
        assert heard[0][1] == {"x": None}
    else:
        assert heard == []  # a client of this era says with each request what it wants
