import asyncio

import pytest

from tests.gateway.catalogues import FakeRequests, server
from tests.patience import PATIENCE_S
from tests.upstream_calls import make_caller
from tools.item_lists import ItemLists, ItemListStore
from tools.upstream.errors import ServerStopped
from tools.upstream.listing import ItemListing

WHO = make_caller("ann")
A, B = server("a"), server("b")


@pytest.fixture
def requests():
    return FakeRequests(lists={("a", "prompts"): [{"name": "x"}], ("b", "prompts"): []})


def lists_of(requests, *, wait_s=PATIENCE_S, late=None, **options):
    """Make lists that no server is too late for, unless a test says so."""
    return ItemLists(requests, on_late=late or (lambda _: None), wait_s=wait_s, **options)


class Remembered:
    """What was listed before, by server and kind."""

    def __init__(self, **lists):
        self.lists = {(name, "prompts"): items for name, items in lists.items()}
        self.asked = []
        self.told = asyncio.Event()

    @property
    def memory(self):
        return ItemListStore(load_items=self.recall, record_items=self.remember)

    async def recall(self, kind, servers):
        self.asked.append(tuple(servers))
        known = {name: self.lists.get((name, kind)) for name in servers}
        return {
            name: ItemListing(items=items) for name, items in known.items() if items is not None
        }

    async def remember(self, name, kind, listing):
        self.lists[name, kind] = listing.items
        self.told.set()


async def test_concurrent_requests_share_one_fetch(requests):
    async with lists_of(requests) as lists, asyncio.TaskGroup() as group:
        asked = [
            group.create_task(lists.gather_lists([A, B], "prompts", caller=WHO)) for _ in range(5)
        ]
    assert {tuple(task.result().by_server) for task in asked} == {("a", "b")}
    assert sorted(requests.listed) == [("a", "prompts"), ("b", "prompts")]


async def test_a_list_that_changes_during_its_fetch_is_fetched_again(requests):
    items = requests.lists["a", "prompts"] = asyncio.Event()
    async with lists_of(requests) as lists, asyncio.TaskGroup() as group:
        first = group.create_task(lists.gather_lists([A], "prompts", caller=WHO))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        lists.mark_changed("a", ["prompts"])
        requests.lists["a", "prompts"] = []
        items.set()
        assert (await first).missing == ("a",)
        assert (await lists.gather_lists([A], "prompts", caller=WHO)).missing == ()
    assert len(requests.listed) == 2


async def test_a_server_start_does_not_repeat_a_running_fetch(requests):
    items = requests.lists["a", "prompts"] = asyncio.Event()
    async with lists_of(requests) as lists, asyncio.TaskGroup() as group:
        asked = group.create_task(lists.gather_lists([A], "prompts", caller=WHO))
        await asyncio.sleep(0)
        lists.mark_restarted("a")
        requests.lists["a", "prompts"] = []
        items.set()
        assert (await asked).missing == ()
        lists.mark_restarted("a")
        await lists.gather_lists([A], "prompts", caller=WHO)
    assert len(requests.listed) == 2


async def test_a_list_that_cannot_be_refreshed_is_kept_and_marked_stale(requests):
    async with lists_of(requests) as lists:
        await lists.gather_lists([A], "prompts", caller=WHO)
        lists.mark_changed("a", ["prompts"])
        requests.lists["a", "prompts"] = ServerStopped("a")
        listed = await lists.gather_lists([A], "prompts", caller=WHO)
    assert listed.by_server["a"].items == ({"name": "x"},)
    assert listed.missing == ("a",)


async def test_a_defect_affects_one_list(requests, caplog):
    requests.lists["a", "prompts"] = 5
    async with lists_of(requests) as lists:
        listed = await lists.gather_lists([A, B], "prompts", caller=WHO)
    assert (list(listed.by_server), listed.missing) == (["b"], ("a",))


async def test_lists_of_the_oldest_callers_are_evicted(requests, monkeypatch):
    monkeypatch.setattr("tools.item_lists.MAX_CACHED_LISTS", 2)
    private = server("a", session="per_caller")
    async with lists_of(requests) as lists:
        for session in ("1", "2", "3", "1"):
            await lists.gather_lists([private], "prompts", caller=make_caller("ann", session))
    assert len(requests.listed) == 4


async def test_a_replaced_server_is_listed_again(requests):
    async with lists_of(requests) as lists:
        await lists.gather_lists([A, B], "prompts", caller=WHO)
        lists.forget_server("a")
        requests.lists["a", "prompts"] = [{"name": "of another"}]
        listed = await lists.gather_lists([A, B], "prompts", caller=WHO)
    assert listed.by_server["a"].items == ({"name": "of another"},)
    assert requests.listed.count(("b", "prompts")) == 1


async def test_no_server_is_started_to_learn_whether_it_lists_anything(requests):
    requests.idle = {"a"}
    async with lists_of(requests) as lists:
        listed = await lists.gather_lists([A, B], "prompts", caller=WHO)
    assert (list(listed.by_server), listed.missing) == (["b"], ("a",))
    assert requests.listed == [("b", "prompts")]


async def test_a_list_that_is_known_from_before_starts_no_server(requests):
    requests.idle = {"a"}
    known = server("a", capabilities=frozenset({"prompts"}))
    before = Remembered(a=({"name": "old"},))
    async with lists_of(requests, memory=before.memory) as lists:
        for _ in range(2):
            listed = await lists.gather_lists([known], "prompts", caller=WHO)
            assert (listed.by_server["a"].items, listed.missing) == (({"name": "old"},), ())
    assert (requests.listed, before.asked) == ([], [("a",)])


async def test_a_known_list_without_a_stored_copy_is_fetched(requests):
    requests.idle = {"a", "b"}
    with_prompts = server("a", capabilities=frozenset({"prompts"}))
    without = server("b", capabilities=frozenset({"tools"}))
    before = Remembered()
    async with lists_of(requests, memory=before.memory) as lists:
        listed = await lists.gather_lists([with_prompts, without], "prompts", caller=WHO)
        async with asyncio.timeout(PATIENCE_S):
            await before.told.wait()
    assert listed.missing == ()
    assert requests.listed == [("a", "prompts")]
    assert before.lists == {("a", "prompts"): ({"name": "x"},)}


@pytest.mark.parametrize(("now", "told"), [([{"name": "new"}], ["prompts"]), ([], [])])
async def test_a_server_started_for_another_reason_is_listed_and_changes_are_announced(
    requests, now, told
):
    requests.idle, requests.able = {"a"}, {}
    late, fetched = [], asyncio.Event()
    requests.lists["a", "prompts"] = fetched
    async with lists_of(requests, late=late.append) as lists:
        await lists.gather_lists([A], "prompts", caller=WHO)
        requests.idle, requests.able = set(), {"a": {"prompts": {}}}
        lists.mark_restarted("a")
        requests.lists["a", "prompts"] = now
        fetched.set()
        listed = await lists.gather_lists([A], "prompts", caller=WHO)
    assert listed.by_server["a"].items == tuple(now)
    assert late == told
    assert len(requests.listed) == 1


async def test_lists_that_differ_between_callers_are_not_stored(requests):
    before = Remembered(a=({"name": "old"},))
    private = server("a", session="per_caller")
    async with lists_of(requests, memory=before.memory) as lists:
        listed = await lists.gather_lists([private], "prompts", caller=WHO)
    assert listed.by_server["a"].items == ({"name": "x"},)
    assert before.asked == []
    assert not before.told.is_set()
