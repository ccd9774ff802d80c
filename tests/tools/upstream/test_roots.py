"""Servers that ask for roots: what one client tells them, no other client's calls meet."""

import asyncio
import json
from typing import Any

import pytest

from gateway_project.foundation.caller import GATEWAY
from tests.tools.upstream.conftest import Person, curious, eventually
from tests.upstream_calls import call_tool, restart, send_request
from tools.upstream.pool import UpstreamPool

ASK = {"method": "roots/list"}
AT_START = curious("roots=1")


def folder(name: str) -> dict[str, Any]:
    return {"roots": [{"uri": f"file:///{name}"}]}


@pytest.fixture
def people() -> list[Person]:
    return [Person(folder(name), name=name) for name in ("ann", "bob")]


async def call(pool: UpstreamPool, tool: str, person: Person | None = None, **arguments: Any):
    whose = person.options if person else {}
    result = await call_tool(pool, "curious", tool, arguments, **whose)
    return json.loads(result.raw["content"][0]["text"])


async def test_a_server_knows_the_roots_of_each_client_before_its_first_call(people):
    async with UpstreamPool([AT_START]) as pool:
        await pool.warm_up()
        for person in (*people, *people):
            known = (await call(pool, "told", person))["roots"]
            assert known == folder(person.caller.user)
    assert [len(person.asked) for person in people] == [1, 1]


async def test_the_first_client_of_all_is_served_by_the_process_that_its_call_started(people):
    async with UpstreamPool([AT_START]) as pool:
        ann, bob = people
        assert (await call(pool, "told", ann))["roots"] == folder("ann")
        assert pool.get_status("curious").sessions == 1
        assert (await call(pool, "told", bob))["roots"] == folder("bob")
        assert (await call(pool, "told", ann))["roots"] == folder("ann")
    assert [len(person.asked) for person in people] == [1, 1]


async def test_clients_that_start_a_server_together_are_kept_apart_too(people):
    async with UpstreamPool([AT_START]) as pool, asyncio.TaskGroup() as group:
        known = [group.create_task(call(pool, "told", person)) for person in people]
    assert [task.result()["roots"] for task in known] == [folder("ann"), folder("bob")]


async def test_a_server_that_asks_during_a_call_meets_nobody_else_with_the_answer(people):
    ann, bob = people
    async with UpstreamPool([curious()]) as pool:
        await call(pool, "told")
        assert await call(pool, "ask", ann, **ASK) == folder("ann")
        assert await call(pool, "ask", bob, **ASK) == folder("bob")
        assert await call(pool, "ask", ann, **ASK) == folder("ann")
        assert pool.get_status("curious").sessions == 2


async def test_roots_are_told_to_no_server_that_is_in_the_middle_of_another_s_call(people):
    ann, bob = people
    async with UpstreamPool([curious()]) as pool:
        await pool.warm_up()
        waiting = asyncio.ensure_future(call(pool, "wait", bob))
        await eventually(lambda: pool.get_status("curious").calls_in_flight == 1)
        assert "code" in await call(pool, "ask", ann, **ASK)
        assert (ann.asked, bob.asked) == ([], [])
        assert await call(pool, "ask", ann, **ASK) == folder("ann"), "on a connection of its own"
        waiting.cancel()


async def test_who_has_no_roots_shares_a_server_that_never_learns_any(people):
    without = [Person({}, name=name, capabilities={}) for name in ("carl", "dora")]
    async with UpstreamPool([AT_START]) as pool:
        for person in people:
            await call(pool, "told", person)
        for person in without:
            assert "roots" not in ((await call(pool, "told", person))["roots"] or {})
        assert pool.get_status("curious").sessions == len(people)


@pytest.mark.parametrize("is_personal", [False, True])
async def test_the_gateway_lists_on_a_connection_of_its_own(people, is_personal):
    ann, _ = people
    async with UpstreamPool([AT_START]) as pool:
        await call(pool, "told", ann)
        whose = ann.caller if is_personal else GATEWAY
        key = pool.find_connection_key("curious", caller=whose, downstream=ann.downstream)
        assert key == (ann.caller.client_key if is_personal else None)
        assert (await pool.list_items("curious", "resources", caller=whose)).items


async def test_a_restarted_server_is_known_to_ask(people):
    ann, bob = people
    async with UpstreamPool([curious()]) as pool:
        await call(pool, "ask", ann, **ASK)
        await restart(pool, "curious")
        assert await call(pool, "ask", bob, **ASK) == folder("bob")
        assert pool.get_status("curious").sessions == 1


async def test_what_a_client_followed_before_its_own_connection_it_follows_on_that_one(people):
    ann, bob = people
    told = []
    uri = {"uri": "test://1"}
    async with UpstreamPool([curious()], on_updated=lambda *what: told.append(what)) as pool:
        for person in people:  # as `resources/subscribe` comes: with no way to be asked
            await send_request(pool, "curious", "resources/subscribe", uri, caller=person.caller)
        assert await call(pool, "ask", bob, **ASK) == folder("bob")
        assert await call(pool, "ask", ann, **ASK) == folder("ann")
        # Bob keeps the process that both followed on; Ann's is new, so it may have changed before.
        await eventually(lambda: told == [("curious", "test://1", {ann.caller.client_key})])
        for person in people:
            told.clear()
            said = [["notifications/resources/updated", uri]]
            await call(pool, "say", person, notifications=said)
            await eventually(lambda: told)
            assert told == [("curious", "test://1", {person.caller.client_key})]
