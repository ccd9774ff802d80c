"""Connections that belong to one caller, and servers that are stopped when nobody needs them."""

import asyncio
import json
import os
import signal
from typing import Any

import pytest

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
from tools.upstream.downstream import NOBODY, Downstream
from tools.upstream.errors import ServerExited, TooManySessions
from tools.upstream.limits import Limits
from tools.upstream.pool import UpstreamPool

OWN = legacy(session="per_caller")
ANN, BOB, CARL = (Downstream(session=name) for name in ("ann", "bob", "carl"))


async def pid(pool: UpstreamPool, of: Downstream, name: str = "legacy") -> int:
    result = await pool.call_tool(name, "about", {}, downstream=of)
    return int(json.loads(result.content[0].text)["pid"])


async def test_each_caller_has_a_server_of_its_own_and_keeps_it():
    async with UpstreamPool([OWN]) as pool:
        pids = [await pid(pool, of) for of in (ANN, BOB, NOBODY)]
        assert len(set(pids)) == 3
        assert [await pid(pool, of) for of in (ANN, BOB, NOBODY)] == pids
    assert all(map(gone, pids))


async def test_a_shared_server_is_one_for_all():
    async with UpstreamPool([legacy()]) as pool:
        assert await pid(pool, ANN) == await pid(pool, BOB) == await pid(pool, NOBODY)


@pytest.mark.parametrize(
    ("session", "authorization", "same"),
    [
        ("shared", "oauth_per_user", [True, False]),
        ("per_caller", "oauth_per_user", [False, False]),
        ("per_caller", "none", [False, True]),
    ],
)
async def test_what_tells_callers_apart_depends_on_what_the_server_keeps(
    session, authorization, same
):
    spec = legacy(session=session, authorization=authorization)
    first = Downstream(session="s1", user="ann")
    others = [Downstream(session="s2", user="ann"), Downstream(session="s1", user="bob")]
    async with UpstreamPool([spec]) as pool:
        mine = await pid(pool, first)
        assert [await pid(pool, of) == mine for of in others] == same


async def test_a_callers_own_server_is_told_what_this_caller_can_be_asked():
    person = Person({}, session="ann", capabilities={"roots": {}, "experimental": {"x": {}}})
    async with UpstreamPool([curious(session="per_caller")]) as pool:
        result = await pool.call_tool("curious", "told", {}, downstream=person.downstream)
    assert json.loads(result.content[0].text)["client"] == {"roots": {}}


async def test_callers_of_own_servers_are_asked_each_for_themselves():
    ann, bob = (Person({"by": name}, session=name) for name in ("ann", "bob"))
    question = {"method": "roots/list"}

    async def answer(pool: UpstreamPool, person: Person) -> Any:
        result = await pool.call_tool("curious", "ask", question, downstream=person.downstream)
        return json.loads(result.content[0].text)

    async with UpstreamPool([curious(session="per_caller")]) as pool, asyncio.TaskGroup() as group:
        waiting = group.create_task(
            pool.call_tool("curious", "wait", {}, downstream=bob.downstream, timeout_s=60)
        )
        assert await answer(pool, ann) == {"by": "ann"}
        assert await answer(pool, bob) == {"by": "bob"}
        waiting.cancel()


async def test_the_status_speaks_for_all_connections():
    seen = Seen()
    async with UpstreamPool([OWN], policy=SOON, on_status=seen) as pool:
        await pid(pool, ANN)
        await pid(pool, BOB)
        with pytest.raises(ServerExited):
            await pool.call_tool("legacy", "quit", {}, downstream=ANN)
        await eventually(lambda: "exited with code 3" in pool.status_of("legacy").last_error)
        status = pool.status_of("legacy")
        assert (status.state, status.sessions, status.restarts) == ("ready", 2, 0)
        assert status == pool.status()["legacy"]
        await pid(pool, ANN)
        assert pool.status_of("legacy").restarts == 1
        assert seen.statuses[-1].sessions == 2


async def test_a_failing_session_is_left_alone_and_harms_no_other():
    async with UpstreamPool([OWN], policy=SOON) as pool:
        bobs = await pid(pool, BOB)
        with pytest.raises(ServerExited):
            await pool.call_tool("legacy", "quit", {}, downstream=ANN)
        assert await pid(pool, BOB) == bobs


async def test_of_too_many_sessions_the_one_unused_for_longest_gives_way():
    async with UpstreamPool([OWN], limits=Limits(max_sessions=2)) as pool:
        anns, bobs = await pid(pool, ANN), await pid(pool, BOB)
        assert await pid(pool, ANN) == anns
        await pid(pool, CARL)
        assert await pid(pool, ANN) == anns
        await eventually(lambda: gone(bobs))
        assert pool.status_of("legacy").sessions == 2


async def test_sessions_in_use_do_not_give_way():
    async with UpstreamPool([OWN], limits=Limits(max_sessions=1)) as pool:
        call = asyncio.ensure_future(pool.call_tool("legacy", "hang", {}, downstream=ANN))
        await eventually(lambda: pool.status_of("legacy").calls_in_flight == 1)
        with pytest.raises(TooManySessions, match="has 1 callers with a connection of their own"):
            await pid(pool, BOB)
        assert await pid(pool, NOBODY)
        call.cancel()


async def test_a_callers_own_server_ends_when_it_was_not_used_for_long():
    async with UpstreamPool([OWN], session_idle_s=0.2) as pool:
        anns = await pid(pool, ANN)
        await eventually(lambda: gone(anns))
        status = pool.status_of("legacy")
        assert (status.state, status.last_error) == ("idle", "")
        assert await pid(pool, ANN) != anns
        assert pool.status_of("legacy").restarts == 0


async def test_a_changed_entry_ends_all_sessions_and_a_restart_too():
    async with UpstreamPool([OWN]) as pool:
        before = [await pid(pool, of) for of in (ANN, NOBODY)]
        await pool.restart("legacy")
        assert all(map(gone, before))
        before = [await pid(pool, of) for of in (ANN, NOBODY)]
        pool.set_servers([legacy()])
        await eventually(lambda: all(map(gone, before)))
        assert await pid(pool, ANN) == await pid(pool, BOB)


async def test_a_stateless_server_is_stopped_when_idle_and_starts_at_its_next_use():
    seen = Seen()
    async with UpstreamPool([stateless()], idle_stop_s=0.2, on_status=seen) as pool:
        await pool.warm()
        ended = pool.status_of("stateless").pid
        await seen.until("stateless", "idle")
        assert gone(ended)
        result = await pool.call_tool("stateless", "echo", {"text": "again"})
        assert result.content[0].text == "again"
        status = pool.status_of("stateless")
        assert (status.restarts, status.last_error) == (0, "")
    assert "backoff" not in seen.states("stateless")


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
        await pool.warm()
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
                await pool.call_tool("curious", "wait", {})
        uri = {"uri": "test://1"}
        await pool.request("curious", "resources/subscribe", uri)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await seen.until("curious", "idle")
        await pool.request("curious", "resources/unsubscribe", uri)
        await seen.until("curious", "idle")


async def test_an_update_concerns_those_whose_own_connection_told_of_it():
    updated = []
    async with UpstreamPool(
        [curious(session="per_caller")], on_updated=lambda *what: updated.append(what)
    ) as pool:
        uri = {"uri": "test://1"}
        for who in (ANN, BOB):
            await pool.request("curious", "resources/subscribe", uri, downstream=who)
        said = [["notifications/resources/updated", uri]]
        for who in (BOB, ANN):
            await pool.call_tool("curious", "say", {"notifications": said}, downstream=who)
        await eventually(lambda: len(updated) == 2)
    assert updated == [("curious", "test://1", {"bob"}), ("curious", "test://1", {"ann"})]


async def test_a_server_that_is_followed_starts_again_by_itself_when_it_dies():
    updated = []
    async with UpstreamPool(
        [curious()], policy=SOON, on_updated=lambda *what: updated.append(what)
    ) as pool:
        await pool.request("curious", "resources/subscribe", {"uri": "test://1"})
        ended = pool.status_of("curious").pid
        os.kill(ended, signal.SIGKILL)
        await eventually(lambda: updated == [("curious", "test://1", {""})])
        assert pool.status_of("curious").pid not in (None, ended)
