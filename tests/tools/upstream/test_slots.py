"""How many servers may be starting at the same time."""

import asyncio

import pytest

from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import eventually
from tools.upstream.starts import StartSlots


async def test_no_more_than_the_limit_start_at_once():
    slots, running, most = StartSlots(count=2, hold_s=60.0), 0, 0

    async def start() -> None:
        nonlocal running, most
        async with slots.hold_slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(9):
            group.create_task(start())
    assert most == 2


async def test_a_start_that_hangs_gives_its_slot_up_but_only_once():
    slots = StartSlots(count=1, hold_s=0.0)
    inside, most = 0, 0

    async def start(gate: asyncio.Event) -> None:
        nonlocal inside, most
        async with slots.hold_slot():
            inside += 1
            most = max(most, inside)
            await gate.wait()
            inside -= 1

    hanging = asyncio.Event()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(start(hanging))
        await eventually(lambda: inside == 1)
        opened = asyncio.Event()
        opened.set()
        await start(opened)
        hanging.set()
    assert most == 2


async def test_a_start_that_fails_gives_its_slot_back():
    slots = StartSlots(count=1, hold_s=60.0)

    async def fail() -> None:
        async with asyncio.timeout(PATIENCE_S), slots.hold_slot():
            raise RuntimeError

    for _ in range(3):
        with pytest.raises(RuntimeError):
            await fail()
