"""Calls that wait for tools which their server has announced."""

import asyncio

import pytest

from gateway_project.wiring import follow
from gateway_project.wiring.follow import AnnouncedTools
from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    monkeypatch.setattr(follow, "ANNOUNCED_TIMEOUT_S", PATIENCE_S)


async def is_waiting(announced, tool="git:new", announcing=()):
    """Say whether a call of a tool waits, once everything else has had its turn."""
    task = asyncio.ensure_future(announced.wait(tool, announcing))
    for _ in range(5):
        await asyncio.sleep(0)
    waits = not task.done()
    task.cancel()
    return waits


async def test_a_call_waits_until_a_snapshot_has_what_was_listed():
    announced = AnnouncedTools()
    assert not await is_waiting(announced)
    announced.announce("git")
    listed = announced.begin_listing("git")
    too_early = announced.begin_loading()
    listed(True)
    too_early()
    assert await is_waiting(announced)
    assert await is_waiting(announced, "git__new")
    announced.begin_loading()()
    assert not await is_waiting(announced)


async def test_a_call_to_another_server_does_not_wait():
    announced = AnnouncedTools()
    announced.announce("git")
    assert not await is_waiting(announced, "other:new")
    assert not await is_waiting(announced, "new")


async def test_a_listing_without_news_is_not_waited_for():
    announced = AnnouncedTools()
    announced.announce("git")
    announced.begin_listing("git")(False)
    assert not await is_waiting(announced)


async def test_a_listing_without_news_waits_for_those_of_an_earlier_one():
    announced = AnnouncedTools()
    earlier = announced.begin_listing("git")
    announced.announce("git")
    earlier(True)
    announced.begin_listing("git")(False)
    assert await is_waiting(announced)
    announced.begin_loading()()
    assert not await is_waiting(announced)
    announced.announce("git")
    announced.begin_listing("git")(False)
    assert not await is_waiting(announced)


async def test_what_is_announced_while_a_server_is_listed_is_waited_for_too():
    announced = AnnouncedTools()
    announced.announce("git")
    listed = announced.begin_listing("git")
    announced.announce("git")
    listed(True)
    announced.begin_loading()()
    assert await is_waiting(announced)


async def test_a_change_that_is_reported_in_a_moment_is_waited_for():
    announced = AnnouncedTools()
    assert await is_waiting(announced, announcing=["git"])


async def test_no_call_waits_for_ever_or_twice(monkeypatch):
    monkeypatch.setattr(follow, "ANNOUNCED_TIMEOUT_S", 0.01)
    announced = AnnouncedTools()
    announced.announce("git")
    async with asyncio.timeout(PATIENCE_S):
        await announced.wait("git:new")
    assert not await is_waiting(announced)
