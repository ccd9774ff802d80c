import asyncio

import pytest

from gateway_project.item_lists import ItemLists
from tests.gateway.catalogues import FakeRequests, server
from tools.upstream.downstream import Downstream
from tools.upstream.errors import ServerStopped

WHO = Downstream(session="s")
LIMIT_S = 5
A, B = server("a"), server("b")


@pytest.fixture
def requests():
    return FakeRequests(lists={("a", "prompts"): [{"name": "x"}], ("b", "prompts"): []})


def lists_of(requests, *, wait_s=LIMIT_S, late=None):
    return ItemLists(requests, on_late=late or (lambda _: None), wait_s=wait_s)


async def test_many_who_ask_at_once_are_served_by_one_request(requests):
    async with lists_of(requests) as lists, asyncio.TaskGroup() as group:
        asked = [group.create_task(lists.gather([A, B], "prompts", WHO)) for _ in range(5)]
    assert {tuple(task.result().by_server) for task in asked} == {("a", "b")}
    assert sorted(requests.listed) == [("a", "prompts"), ("b", "prompts")]


async def test_what_changes_while_it_is_fetched_is_fetched_again(requests):
    items = requests.lists["a", "prompts"] = asyncio.Event()
    async with lists_of(requests) as lists, asyncio.TaskGroup() as group:
        first = group.create_task(lists.gather([A], "prompts", WHO))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        lists.changed("a", ["prompts"])
        requests.lists["a", "prompts"] = []
        items.set()
        assert (await first).missing == ("a",)
        assert (await lists.gather([A], "prompts", WHO)).missing == ()
    assert len(requests.listed) == 2


async def test_a_start_is_no_reason_to_fetch_again_what_is_being_fetched(requests):
    items = requests.lists["a", "prompts"] = asyncio.Event()
    async with lists_of(requests) as lists, asyncio.TaskGroup() as group:
        asked = group.create_task(lists.gather([A], "prompts", WHO))
        await asyncio.sleep(0)
        lists.restarted("a")
        requests.lists["a", "prompts"] = []
        items.set()
        assert (await asked).missing == ()
        lists.restarted("a")
        await lists.gather([A], "prompts", WHO)
    assert len(requests.listed) == 2


async def test_a_list_that_cannot_be_fetched_again_is_kept_and_said_to_be_old(requests):
    async with lists_of(requests) as lists:
        await lists.gather([A], "prompts", WHO)
        lists.changed("a", ["prompts"])
        requests.lists["a", "prompts"] = ServerStopped("a")
        listed = await lists.gather([A], "prompts", WHO)
    assert listed.by_server["a"].items == ({"name": "x"},)
    assert listed.missing == ("a",)


async def test_a_defect_costs_one_list(requests, caplog):
    requests.lists["a", "prompts"] = 5
    async with lists_of(requests) as lists:
        listed = await lists.gather([A, B], "prompts", WHO)
    assert (list(listed.by_server), listed.missing) == (["b"], ("a",))


async def test_leaving_ends_what_is_being_fetched(requests):
    requests.lists["a", "prompts"] = asyncio.Event()
    async with asyncio.timeout(LIMIT_S):
        async with lists_of(requests, wait_s=0.01) as lists:
            await lists.gather([A], "prompts", WHO)


async def test_the_lists_of_old_callers_give_way(requests, monkeypatch):
    monkeypatch.setattr("gateway_project.item_lists.MAX_KEPT", 2)
    private = server("a", session="per_caller")
    async with lists_of(requests) as lists:
        for session in ("1", "2", "3", "1"):
            await lists.gather([private], "prompts", Downstream(session=session))
    assert len(requests.listed) == 4
