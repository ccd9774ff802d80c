"""Servers of the handshake era that ask the client of a call while it runs."""

import asyncio
import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.tools.upstream.conftest import LONG_S, Person, curious, eventually
from tests.upstream_calls import SOMEBODY, call_tool
from tools import ui_pages
from tools.upstream.errors import CallTimedOut, UpstreamRefused
from tools.upstream.in_flight import InFlightRequest
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import Downstream, UpstreamRequest

FORM = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
ACCEPTED = {"action": "accept", "content": {"name": "Ann"}, "kept": None}


async def call(
    pool: UpstreamPool,
    tool: str,
    arguments: Any = None,
    *,
    of: Person | None = None,
    **options: Any,
) -> Any:
    whose = of.options if of else {}
    result = await call_tool(pool, "curious", tool, arguments or {}, **whose, **options)
    return json.loads(result.raw["content"][0]["text"])


@pytest.mark.parametrize(
    "question",
    [
        FORM,
        {"method": "elicitation/create", "params": {"mode": "url", "url": "https://x/"}},
        {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
        {"method": "roots/list", "params": {}},
    ],
)
async def test_a_question_reaches_the_client_of_the_call_and_its_answer_the_server(question):
    person = Person(ACCEPTED)
    async with UpstreamPool([curious()]) as pool:
        assert await call(pool, "ask", question, of=person) == ACCEPTED
    assert person.asked == [(question["method"], question["params"])]


async def test_a_shared_server_is_told_that_it_may_ask_all_there_is_to_ask():
    async with UpstreamPool([curious()]) as pool:
        told = await call(pool, "told")
    assert told["client"] == {
        "elicitation": {"form": {}, "url": {}},
        "extensions": {ui_pages.EXTENSION: ui_pages.CLIENT_SETTINGS},
        "roots": {},
        "sampling": {},
    }


async def test_a_clients_refusal_reaches_the_server_as_it_is():
    person = Person(MCPError(-1, "no", {"why": "because"}))
    async with UpstreamPool([curious()]) as pool:
        error = await call(pool, "ask", FORM, of=person)
    assert error == {"code": -1, "message": "no", "data": {"why": "because"}}


async def test_a_client_that_breaks_down_is_an_error_to_the_server_and_nothing_else():
    person = Person(KeyError("bug"))
    async with UpstreamPool([curious()]) as pool:
        error = await call(pool, "ask", FORM, of=person)
        assert error["message"] == "the client could not be asked"
        assert (await call(pool, "told"))["cancelled"] == []


async def test_who_cannot_be_asked_is_an_error_to_the_server():
    async with UpstreamPool([curious()]) as pool:
        error = await call(pool, "ask", FORM)
        assert "the client of this call cannot be asked" in error["message"]
        unknown = await call(pool, "ask", {"method": "tasks/list"}, of=Person({}))
    assert unknown["code"] == -32601


async def test_a_ping_is_answered_whoever_calls():
    async with UpstreamPool([curious()]) as pool:
        assert await call(pool, "ask", {"method": "ping"}) == {}


async def test_a_question_amid_calls_of_several_clients_is_refused():
    ann, bob = (Person(ACCEPTED, name=name) for name in ("ann", "bob"))
    async with UpstreamPool([curious()]) as pool:
        await pool.warm_up()
        waiting = asyncio.ensure_future(call(pool, "wait", of=bob))
        await eventually(lambda: pool.get_status("curious").calls_in_flight == 1)
        error = await call(pool, "ask", FORM, of=ann)
        waiting.cancel()
    assert "session: per_caller" in error["message"]
    assert (ann.asked, bob.asked) == ([], [])


async def test_calls_of_one_client_do_not_keep_it_from_being_asked():
    ann = Person(ACCEPTED, name="ann")
    async with UpstreamPool([curious()]) as pool:
        await pool.warm_up()
        waiting = asyncio.ensure_future(call(pool, "wait", of=ann))
        await eventually(lambda: pool.get_status("curious").calls_in_flight == 1)
        assert await call(pool, "ask", FORM, of=ann) == ACCEPTED
        waiting.cancel()


async def test_a_question_blocks_neither_the_connection_nor_the_clock_of_the_call(let_pass):
    answer = asyncio.Event()
    person = Person(answer)
    limits = UpstreamLimits(question_timeout_s=10 * LONG_S)
    async with UpstreamPool([curious()], limits=limits) as pool, asyncio.TaskGroup() as group:
        await pool.warm_up()
        asking = group.create_task(
            call(pool, "ask", FORM, of=person, timeout_s=LONG_S), name="asking"
        )
        await eventually(lambda: len(person.asked) == 1)
        assert (await call(pool, "told"))["cancelled"] == []
        waiting = group.create_task(until_timeout(pool, None))
        await eventually(lambda: pool.get_status("curious").calls_in_flight == 2)
        let_pass(LONG_S)
        await waiting
        assert not asking.done()
        answer.set()
        assert await asking == {"after": "waiting"}


async def test_a_question_stops_the_clock_of_the_caller_too(let_pass):
    answer = asyncio.Event()
    person = Person(answer)
    limits = UpstreamLimits(question_timeout_s=10 * LONG_S)

    async def ask_in_time(pool):
        async with asyncio.timeout(LONG_S) as deadline:
            return await call(pool, "ask", FORM, of=person, timeout_s=LONG_S, deadline=deadline)

    async with UpstreamPool([curious()], limits=limits) as pool, asyncio.TaskGroup() as group:
        await pool.warm_up()
        asking = group.create_task(ask_in_time(pool))
        await eventually(lambda: len(person.asked) == 1)
        let_pass(LONG_S)
        await asyncio.sleep(0.05)  # what is overdue by now ends
        answer.set()
        assert await asking == {"after": "waiting"}


async def test_the_clock_of_the_caller_goes_on_after_an_attempt_that_ended_amid_a_question():
    async with asyncio.timeout(LONG_S) as deadline:
        request = UpstreamRequest(method="tools/call", params={}, deadline=deadline)
        flight = InFlightRequest(request=request, caller=SOMEBODY, timeout_s=LONG_S)
        async with flight.limit_time():
            flight.pause()
            assert deadline.when() is None
        ends_at = deadline.when()
        assert ends_at is not None
        flight.resume()
        assert deadline.when() == ends_at


async def test_a_question_that_the_server_takes_back_lets_the_clock_go_on(let_pass):
    person = Person(asyncio.Event())
    async with UpstreamPool([curious()]) as pool, asyncio.TaskGroup() as group:
        await pool.warm_up()
        waiting = group.create_task(until_timeout(pool, person))
        await eventually(lambda: pool.get_status("curious").calls_in_flight == 1)
        assert await call(pool, "ask_and_withdraw", of=person) == "withdrawn"
        (flight,) = pool._get_entry("curious").main._flights
        await eventually(lambda: flight.deadline.when() is not None)
        let_pass(LONG_S)
        await waiting


async def until_timeout(pool: UpstreamPool, of: Person | None) -> None:
    with pytest.raises(CallTimedOut):
        await call(pool, "wait", of=of, timeout_s=LONG_S)


async def test_the_end_of_a_call_ends_its_question():
    person = Person(asyncio.Event())
    ended = []

    async def ask(method: str, params: Any) -> Any:
        try:
            return await person.ask(method, params)
        finally:
            ended.append(method)

    async with UpstreamPool([curious()]) as pool:
        await pool.warm_up()
        asking = asyncio.ensure_future(
            call_tool(pool, "curious", "ask", FORM, downstream=Downstream(ask=ask))
        )
        await eventually(lambda: len(person.asked) == 1)
        asking.cancel()
        await eventually(lambda: ended == ["elicitation/create"])
        assert len((await call(pool, "told"))["cancelled"]) == 1


async def test_a_question_that_is_not_answered_ends_by_itself():
    person = Person(asyncio.Event())
    async with UpstreamPool([curious()], limits=UpstreamLimits(question_timeout_s=0.05)) as pool:
        error = await call(pool, "ask", FORM, of=person)
    assert "did not answer within 0.05 s" in error["message"]


async def test_a_call_may_ask_only_so_often():
    person = Person({"roots": []})
    async with UpstreamPool([curious()], limits=UpstreamLimits(max_questions=3)) as pool:
        assert await call(pool, "ask_often", {"times": 5}, of=person) == 3
    assert len(person.asked) == 3


@pytest.mark.parametrize("params", [{"message": "x" * 2_000}, {"message": [[]]}])
async def test_a_question_that_is_too_large_or_too_deep_is_not_passed_on(params, monkeypatch):
    monkeypatch.setattr("tools.upstream.inbound.MAX_DEPTH", 2)
    person = Person({})
    question = {"method": "elicitation/create", "params": params}
    async with UpstreamPool([curious()], limits=UpstreamLimits(max_question_bytes=1_000)) as pool:
        error = await call(pool, "ask", question, of=person)
    assert "it is too" in error["message"]
    assert person.asked == []


async def test_a_question_during_the_start_goes_to_the_client_that_started_the_server():
    person = Person({"roots": [{"uri": "file:///x"}]}, name="ann")
    async with UpstreamPool([curious("roots=1")]) as pool:
        while not (roots := (await call(pool, "told", of=person))["roots"]):
            pass
    assert roots == {"roots": [{"uri": "file:///x"}]}
    assert len(person.asked) == 1


async def test_a_server_that_starts_for_no_client_learns_that_there_are_no_roots():
    async with UpstreamPool([curious("roots=1")]) as pool:
        await pool.list_tools("curious")
        while not (roots := (await call(pool, "told"))["roots"]):
            pass
    assert roots == {"roots": []}


async def test_completion_of_an_elicitation_is_reported_to_its_client():
    person = Person(ACCEPTED)
    done = ["notifications/elicitation/complete", {"elicitationId": "e1"}]
    stray = ["notifications/elicitation/complete", {"elicitationId": "e2"}]
    async with UpstreamPool([curious()]) as pool:
        with pytest.raises(UpstreamRefused) as caught:
            await call(pool, "elsewhere", of=person)
        assert caught.value.data["elicitations"][0]["elicitationId"] == "e1"
        await call(pool, "say", {"notifications": [stray, done, done]})
        await eventually(lambda: len(person.told) == 1)
        question = {"method": "elicitation/create", "params": {"elicitationId": "e2"}}
        await call(pool, "ask", question, of=person)
        await call(pool, "say", {"notifications": [stray]})
        await eventually(lambda: len(person.told) == 2)
    assert person.told[0] == tuple(done)


async def test_log_messages_reach_the_client_of_the_call_from_its_level_on():
    quiet = Person(log_level="error")
    loud = Person(log_level="info")
    said = [["notifications/message", {"level": level, "data": 1}] for level in ("info", "error")]
    odd = [["notifications/message", {"level": "shout"}], ["notifications/message", {}]]
    async with UpstreamPool([curious()]) as pool:
        await call(pool, "say", {"notifications": [*said, *odd]}, of=quiet)
        await call(pool, "say", {"notifications": said}, of=loud)
        await call(pool, "say", {"notifications": said}, of=quiet)
        await call(pool, "say", {"notifications": said})
        told = await call(pool, "told")
    assert [params["level"] for _, params in quiet.told] == ["error", "error"]
    assert [params["level"] for _, params in loud.told] == ["info", "error"]
    assert told["levels"] == ["error", "info"]


async def test_undelivered_notices_are_dropped_and_the_result_still_arrives():
    taken, blocked = [], asyncio.Event()

    async def tell(method: str, params: Any) -> None:
        taken.append(params["data"])
        await blocked.wait()

    said = [["notifications/message", {"level": "error", "data": n}] for n in range(100)]
    async with UpstreamPool([curious()], limits=UpstreamLimits(max_queued_notices=10)) as pool:
        of = Downstream(tell=tell, log_level="error")
        result = await call_tool(pool, "curious", "say", {"notifications": said}, downstream=of)
        assert json.loads(result.raw["content"][0]["text"]) == "said"
    assert len(taken) == 1
