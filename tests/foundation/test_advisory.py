import asyncio
from contextlib import suppress

import psycopg
import pytest

from gateway_project.foundation import advisory

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 20


async def test_who_gives_the_same_name_waits_and_who_gives_another_does_not():
    order = []

    async def second():
        async with advisory.held("x", timeout_s=PATIENCE_S):
            order.append("second")

    async with (
        asyncio.timeout(PATIENCE_S),
        asyncio.TaskGroup() as group,
        advisory.held("x", timeout_s=PATIENCE_S),
    ):
        group.create_task(second())
        async with advisory.held("y", timeout_s=PATIENCE_S):
            order.append("first")
    assert order == ["first", "second"]


async def test_waiting_has_an_end():
    async with advisory.held("x", timeout_s=1):
        with pytest.raises(psycopg.errors.LockNotAvailable):
            async with advisory.held("x", timeout_s=0.05):
                raise AssertionError("held twice")


async def test_a_lock_ends_with_an_error_inside_it():
    with suppress(ZeroDivisionError):
        async with advisory.held("x", timeout_s=1):
            raise ZeroDivisionError
    async with advisory.held("x", timeout_s=1):
        pass
