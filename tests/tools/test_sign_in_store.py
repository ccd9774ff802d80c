import asyncio

import django.db
import psycopg
import pytest

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.sealing import UnsealingFailed
from tests.factories import ServerFactory
from tests.patience import PATIENCE_S
from tests.tools.store.test_sign_ins import ALL, SIGN_IN, with_access
from tools import sign_in_store
from tools.sign_in_store import DatabaseSignInStore
from tools.store import sign_ins
from tools.upstream.oauth.values import SignInStoreUnavailable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keep(sealer):
    return DatabaseSignInStore(sealer=sealer)


async def test_sign_ins_are_read_and_replaced_in_the_database(keep, sealer):
    await run_in_database_thread(ServerFactory, name="notes")
    put = await run_in_database_thread(sign_ins.store_sign_in, ALL, SIGN_IN, sealer=sealer)
    assert await keep.load(ALL) == put
    saved = await keep.save(ALL, with_access("new"), instead_of=SIGN_IN)
    assert await keep.load_changed({ALL: put.written_at}) == {ALL: saved}


async def test_processes_hold_each_other_off(keep):
    order = []

    async def second():
        async with DatabaseSignInStore(sealer=keep.sealer).lock_renewal(ALL):
            order.append("second")

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group, keep.lock_renewal(ALL):
        group.create_task(second())
        async with keep.lock_renewal(ALL._replace(user="ann")):  # another's is not held off
            order.append("first")
    assert order == ["first", "second"]


@pytest.mark.parametrize(
    "error", [django.db.OperationalError("gone\nfor good"), UnsealingFailed("no key")]
)
async def test_a_database_that_is_away_is_told_in_one_line(keep, monkeypatch, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(sign_in_store.store, "load_sign_in", broken)
    with pytest.raises(SignInStoreUnavailable, match=r"(gone|no key)$"):
        await keep.load(ALL)


async def test_a_lock_that_cannot_be_had_is_told(keep, monkeypatch):
    async def refused(*_, **__):
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", refused)
    with pytest.raises(SignInStoreUnavailable, match="connection refused"):
        async with keep.lock_renewal(ALL):
            raise AssertionError("held without a database")
