import asyncio

import pytest

from gateway_project.foundation.shares import Bound
from gateway_project.mcp.http import service
from gateway_project.mcp.http.answers import RequestRejected
from gateway_project.mcp.http.service import RequestThreads
from tests.gateway.mcp_http.conftest import until


async def drop(_message):
    pass


class Room:
    """Requests that are served until they are told to end."""

    def __init__(self, group):
        self.threads = RequestThreads()
        self.served = []
        self._group = group
        self._ends = []

    def ask(self, holder, **more):
        end = asyncio.Event()
        self._ends.append(end)
        return self._group.create_task(self._serve(holder, end, more)), end

    async def _serve(self, holder, end, more):
        async with self.threads.lend(drop, holder=holder, **more):
            self.served.append(holder)
            await end.wait()

    def end_all(self):
        for end in self._ends:
            end.set()


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(service, "REQUESTS", Bound(total=3, each=3, fraction=1.0))


async def test_one_holder_leaves_places_for_others_and_the_waiting_take_turns():
    async with asyncio.TaskGroup() as group:
        room = Room(group)
        asked = [room.ask("red") for _ in range(5)]
        await until(lambda: len(room.served) == 2)
        room.ask("blue")
        await until(lambda: room.served == ["red", "red", "blue"])
        room.ask("green")
        asked[0][1].set()
        await until(lambda: len(room.served) == 4)
        assert room.served[-1] == "green"
        room.end_all()
    assert room.served.count("red") == 5


async def test_a_request_that_is_given_up_while_it_waits_leaves_its_turn():
    async with asyncio.TaskGroup() as group:
        room = Room(group)
        first, given_up, last = room.ask("red"), room.ask("red"), room.ask("red")
        fourth = room.ask("red")
        await until(lambda: len(room.served) == 2)
        last[0].cancel()
        await asyncio.wait([last[0]])
        first[1].set()
        given_up[1].set()
        await until(lambda: len(room.served) == 3)
        assert not fourth[0].done()
        room.end_all()


async def test_the_privileged_get_a_place_that_is_left_for_others():
    async with asyncio.TaskGroup() as group:
        room = Room(group)
        for holder in ("probe", "probe"):
            room.ask(holder)
        await until(lambda: len(room.served) == 2)
        room.ask("probe", is_privileged=True)
        await until(lambda: len(room.served) == 3)
        room.end_all()


async def test_a_holder_with_too_many_waiting_requests_is_refused(monkeypatch):
    monkeypatch.setattr(service, "MAX_WAITING", 1)
    async with asyncio.TaskGroup() as group:
        room = Room(group)
        for _ in range(3):
            room.ask("red")
        await until(lambda: len(room.served) == 2)
        with pytest.raises(RequestRejected):
            async with room.threads.lend(drop, holder="red"):
                pass
        room.end_all()
