"""Connections that belong to one caller, and servers that are stopped when nobody needs them."""

import asyncio
import json
import os
import signal
from dataclasses import replace
from typing import Any

import pytest

from gateway_project.foundation.caller import Caller
from tests.tools.upstream.conftest import (
    SOON,
    Person,
    Seen,
    curious,
    eventually,
    gone,
    legacy,
    stateless,
)
from tests.upstream_calls import SOMEBODY, call_tool, make_caller, send_request
from tools import ui_pages
from tools.upstream.errors import ServerExited, TooManySessions
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool

OWN = legacy(session="per_caller")
ANN, BOB, CARL, DORA = (make_caller(name) for name in ("ann", "bob", "carl", "dora"))


async def pid(pool: UpstreamPool, of: Caller, name: str = "legacy") -> int:
    result = await call_tool(pool, name, "about", {}, caller=of)
    return int(json.loads(result.content[0].text)["pid"])


async def test_each_caller_has_a_server_of_its_own_and_keeps_it():
    async with UpstreamPool([OWN]) as pool:
        pids = [await pid(pool, of) for of in (ANN, BOB, DORA)]
        assert len(set(pids)) == 3
        assert [await pid(pool, of) for of in (ANN, BOB, DORA)] == pids
    assert all(map(gone, pids))


@pytest.mark.parametrize(
    ("session", "authorization", "same"),
    [
        ("shared", "oauth_per_user", [True, False]),
        ("per_caller", "oauth_per_user", [False, False]),
        ("per_caller", "none", [False, False]),
    ],
)
async def test_callers_are_distinguished_by_session_or_user_as_configured(
    session, authorization, same
):
    spec = legacy(session=session, authorization=authorization)
    first = make_caller("ann", "s1")
    others = [make_caller("ann", "s2"), make_caller("bob", "s1")]
    async with UpstreamPool([spec]) as pool:
        mine = await pid(pool, first)
        assert [await pid(pool, of) == mine for of in others] == same


async def test_a_callers_own_server_is_told_what_this_caller_can_be_asked():
    able = {"roots": {}, "extensions": {"org.example/x": {}}}
    person = Person({}, name="ann", capabilities={**able, "experimental": {"x": {}}})
    async with UpstreamPool([curious(session="per_caller")]) as pool:
        result = await call_tool(pool, "curious", "told", {}, **person.options)
    told = json.loads(result.content[0].text)["client"]
    shown = {ui_pages.EXTENSION: ui_pages.CLIENT_SETTINGS}
    assert told == {**able, "extensions": {**able["extensions"], **shown}}


async def test_callers_of_own_servers_are_asked_each_for_themselves():
    ann, bob = (Person({"by": name}, name=name) for name in ("ann", "bob"))
    question = {"method": "roots/list"}

    async def answer(pool: UpstreamPool, person: Person) -> Any:
        result = await call_tool(pool, "curious", "ask", question, **person.options)
        return json.loads(result.content[0].text)

    async with UpstreamPool([curious(session="per_caller")]) as pool, asyncio.TaskGroup() as group:
        waiting = group.create_task(
            call_tool(pool, "curious", "wait", {}, **bob.options, timeout_s=60)
        )
        assert await answer(pool, ann) == {"by": "ann"}
        assert await answer(pool, bob) == {"by": "bob"}
        waiting.cancel()


async def test_the_status_combines_all_connections():
    seen = Seen()
    async with UpstreamPool([OWN], policy=SOON, on_status=seen) as pool:
        await pid(pool, ANN)
        bobs = await pid(pool, BOB)
        with pytest.raises(ServerExited):
            await call_tool(pool, "legacy", "quit", {}, caller=ANN)
        await eventually(lambda: "exited with code 3" in pool.get_status("legacy").last_error)
        status = pool.get_status("legacy")
        assert (status.state, status.sessions, status.restarts) == ("ready", 2, 0)
        assert status == pool.list_statuses()["legacy"]
        await pid(pool, ANN)
        assert pool.get_status("legacy").restarts == 1
        assert await pid(pool, BOB) == bobs, "a failing session harms no other"
        assert seen.statuses[-1].sessions == 2


async def test_the_least_recently_used_session_is_evicted():
    async with UpstreamPool([OWN], limits=UpstreamLimits(max_sessions=2)) as pool:
        anns, bobs = await pid(pool, ANN), await pid(pool, BOB)
        assert await pid(pool, ANN) == anns
        await pid(pool, CARL)
        assert await pid(pool, ANN) == anns
        await eventually(lambda: gone(bobs))
        assert pool.get_status("legacy").sessions == 2


async def test_sessions_in_use_are_not_evicted():
    async with UpstreamPool([OWN], limits=UpstreamLimits(max_sessions=1)) as pool:
        call = asyncio.ensure_future(call_tool(pool, "legacy", "hang", {}, caller=ANN))
        await eventually(lambda: pool.get_status("legacy").calls_in_flight == 1)
        with pytest.raises(TooManySessions, match="has 1 callers with their own connection"):
            await pid(pool, BOB)
        assert (await pool.list_tools("legacy")).tools
        call.cancel()


async def test_one_user_leaves_connections_for_others():
    clients = [replace(ANN, session=f"client {number}") for number in range(3)]
    async with UpstreamPool([OWN], limits=UpstreamLimits(max_sessions=4)) as pool:
        calls = [
            asyncio.ensure_future(call_tool(pool, "legacy", "hang", {}, caller=client))
            for client in clients[:2]
        ]
        await eventually(lambda: pool.get_status("legacy").calls_in_flight == 2)
        with pytest.raises(TooManySessions, match="has 2 clients or runs of yours"):
            await pid(pool, clients[2])
        assert await pid(pool, BOB)
        for call in calls:
            call.cancel()


async def test_more_clients_of_one_user_evict_no_connection_of_those_who_have_fewer():
    anns = [make_caller("ann", f"client-{number}") for number in range(4)]
    async with UpstreamPool([OWN], limits=UpstreamLimits(max_sessions=3)) as pool:
        bobs = await pid(pool, BOB)
        assert len({await pid(pool, client) for client in anns}) == 4
        assert await pid(pool, BOB) == bobs


async def test_a_user_with_too_many_connections_gives_up_an_idle_one_of_their_own():
    clients = [replace(ANN, session=f"client {number}") for number in range(3)]
    async with UpstreamPool([OWN], limits=UpstreamLimits(max_sessions=4)) as pool:
        bobs = await pid(pool, BOB)
        anns = [await pid(pool, client) for client in clients]
        await eventually(lambda: gone(anns[0]))
        assert await pid(pool, BOB) == bobs


async def test_a_callers_own_server_ends_when_it_was_not_used_for_long():
    async with UpstreamPool([OWN], session_idle_s=0.2) as pool:
        anns = await pid(pool, ANN)
        await eventually(lambda: gone(anns))
        status = pool.get_status("legacy")
        assert (status.state, status.last_error) == ("idle", "")
        assert await pid(pool, ANN) != anns
        assert pool.get_status("legacy").restarts == 0


async def test_a_changed_entry_ends_all_sessions_and_a_restart_too():
    async with UpstreamPool([OWN]) as pool:
        before = [await pid(pool, of) for of in (ANN, DORA)]
        await pool.restart("legacy")
        assert all(map(gone, before))
        before = [await pid(pool, of) for of in (ANN, DORA)]
        pool.set_servers([legacy()])
        await eventually(lambda: all(map(gone, before)))
        assert await pid(pool, ANN) == await pid(pool, BOB)


async def test_a_stateless_server_is_stopped_when_idle_and_starts_at_its_next_use():
    seen = Seen()
    async with UpstreamPool([stateless()], idle_stop_s=0.2, on_status=seen) as pool:
        await pool.warm_up()
        ended = pool.get_status("stateless").pid
        await seen.until("stateless", "idle")
        assert gone(ended)
        result = await call_tool(pool, "stateless", "echo", {"text": "again"})
        assert result.content[0].text == "again"
        status = pool.get_status("stateless")
        assert (status.restarts, status.last_error) == (0, "")
    assert "backoff" not in seen.states("stateless")


async def test_a_server_stopped_while_idle_ends_cleanly_and_starts_on_next_use():
    seen = Seen()
    async with UpstreamPool([legacy("x")], on_status=seen) as pool:
        pool.stop_if_unused("x")  # it does not run, and nothing happens
        await pool.warm_up()
        ended = pool.get_status("x").pid
        pool.stop_if_unused("x")
        result = await call_tool(pool, "x", "echo", {"text": "again"})
        assert result.content[0].text == "again"
        assert gone(ended)
        assert pool.get_status("x").last_error == ""
    assert not {"backoff", "open", "failed"} & set(seen.states("x"))


async def test_a_server_in_use_is_not_stopped_as_idle():
    async with UpstreamPool([curious()]) as pool:
        await pool.warm_up()
        running = pool.get_status("curious").pid
        call = asyncio.ensure_future(call_tool(pool, "curious", "wait", {}))
        await eventually(lambda: pool.get_status("curious").calls_in_flight == 1)
        pool.stop_if_unused("curious")
        assert pool.get_status("curious").pid == running
        assert not call.done()
        call.cancel()
        await asyncio.wait([call])


async def test_a_server_that_remembers_a_call_is_not_stopped_as_unused():
    async with UpstreamPool([legacy("x")]) as pool:
        await call_tool(pool, "x", "echo", {"text": "remember"})
        running = pool.get_status("x").pid
        pool.stop_if_unused("x")
        await asyncio.sleep(0)
        await call_tool(pool, "x", "echo", {"text": "again"})
        assert pool.get_status("x").pid == running


@pytest.mark.parametrize(
    ("spec", "stops"),
    [
        (legacy("x"), False),
        (legacy("x", idle_stop_s=0.05), True),
        (stateless("x", idle_stop_s=0.0), False),
    ],
)
async def test_which_servers_are_stopped_when_idle(spec, stops):
    seen = Seen()
    async with UpstreamPool([spec], idle_stop_s=0.05, on_status=seen) as pool:
        await pool.warm_up()
        if stops:
            await seen.until("x", "idle")
        else:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await seen.until("x", "idle")


async def test_a_server_is_not_stopped_during_a_call_or_while_a_resource_is_followed():
    seen = Seen()
    async with UpstreamPool([curious(idle_stop_s=0.05)], on_status=seen) as pool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await call_tool(pool, "curious", "wait", {})
        uri = {"uri": "test://1"}
        await send_request(pool, "curious", "resources/subscribe", uri)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await seen.until("curious", "idle")
        await send_request(pool, "curious", "resources/unsubscribe", uri)
        await seen.until("curious", "idle")


async def test_an_update_concerns_those_whose_own_connection_told_of_it():
    updated = []
    async with UpstreamPool(
        [curious(session="per_caller")], on_updated=lambda *what: updated.append(what)
    ) as pool:
        uri = {"uri": "test://1"}
        for who in (ANN, BOB):
            await send_request(pool, "curious", "resources/subscribe", uri, caller=who)
        said = [["notifications/resources/updated", uri]]
        for who in (BOB, ANN):
            await call_tool(pool, "curious", "say", {"notifications": said}, caller=who)
        await eventually(lambda: len(updated) == 2)
    assert updated == [("curious", "test://1", {who.client_key}) for who in (BOB, ANN)]


async def test_a_server_that_is_followed_starts_again_by_itself_when_it_dies():
    updated = []
    async with UpstreamPool(
        [curious()], policy=SOON, on_updated=lambda *what: updated.append(what)
    ) as pool:
        await send_request(pool, "curious", "resources/subscribe", {"uri": "test://1"})
        ended = pool.get_status("curious").pid
        os.kill(ended, signal.SIGKILL)
        await eventually(lambda: updated == [("curious", "test://1", {SOMEBODY.client_key})])
        assert pool.get_status("curious").pid not in (None, ended)
