import asyncio
from contextlib import suppress

import psycopg
import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from gateway_project.foundation import advisory
from gateway_project.foundation.database import run_in_database_thread
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


async def test_locks_of_the_same_name_exclude_each_other():
    order = []

    async def second():
        async with advisory.hold_lock("x", timeout_s=PATIENCE_S):
            order.append("second")

    async with (
        asyncio.timeout(PATIENCE_S),
        asyncio.TaskGroup() as group,
        advisory.hold_lock("x", timeout_s=PATIENCE_S),
    ):
        group.create_task(second())
        async with advisory.hold_lock("y", timeout_s=PATIENCE_S):
            order.append("first")
    assert order == ["first", "second"]


async def test_waiting_has_an_end():
    async with advisory.hold_lock("x", timeout_s=PATIENCE_S):
        with pytest.raises(psycopg.errors.LockNotAvailable):
            async with advisory.hold_lock("x", timeout_s=0.05):
                raise AssertionError("held twice")


async def test_a_lock_ends_with_an_error_inside_it():
    with suppress(ZeroDivisionError):
        async with advisory.hold_lock("x", timeout_s=PATIENCE_S):
            raise ZeroDivisionError
    async with advisory.hold_lock("x", timeout_s=PATIENCE_S):
        pass


async def test_a_thread_may_claim_a_lock_or_learn_that_it_is_held():
    def claim(wait_s):
        with advisory.try_lock("x", wait_s=wait_s) as is_ours:
            return is_ours

    async with advisory.hold_lock("x", timeout_s=PATIENCE_S):
        assert not await run_in_database_thread(claim, 0.0)
        assert not await run_in_database_thread(claim, 0.05)
    assert await run_in_database_thread(claim, PATIENCE_S)
    assert await run_in_database_thread(claim, 0.0)


async def test_a_lock_that_cannot_be_released_ends_with_its_connection():
    def claim_and_fail():
        with (
            transaction.atomic(),
            advisory.try_lock("x", wait_s=0.0),
            suppress(DatabaseError),
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT nothing")  # no statement works in this transaction now

    with pytest.raises(DatabaseError):
        await run_in_database_thread(claim_and_fail)
    async with advisory.hold_lock("x", timeout_s=PATIENCE_S):
        pass


async def test_waiting_for_a_claim_leaves_other_errors_as_they_are(monkeypatch):
    def refuse(*_):
        raise OperationalError("gone")

    def claim():
        with advisory.try_lock("x", wait_s=PATIENCE_S):
            raise AssertionError("claimed without a database")

    monkeypatch.setattr(advisory.transaction, "atomic", refuse)
    with pytest.raises(OperationalError, match="gone"):
        await run_in_database_thread(claim)
