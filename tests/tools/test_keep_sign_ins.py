import asyncio

import django.db
import psycopg
import pytest

from gateway_project.foundation.database import in_database
from gateway_project.foundation.sealing import SealBroken
from tests.factories import ServerFactory
from tests.patience import PATIENCE_S
from tests.tools.store.test_sign_ins import ALL, SIGN_IN, with_access
from tools import keep_sign_ins
from tools.keep_sign_ins import KeptInDatabase
from tools.store import sign_ins
from tools.upstream.oauth.keeping import KeepUnavailable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keep(sealer):
    return KeptInDatabase(sealer=sealer)


async def test_sign_ins_are_read_and_replaced_in_the_database(keep, sealer):
    await in_database(ServerFactory, name="notes")
    put = await in_database(sign_ins.put, ALL, SIGN_IN, sealer=sealer)
    assert await keep.load(ALL) == put
    saved = await keep.save(ALL, with_access("new"), instead_of=SIGN_IN)
    assert await keep.newer({ALL: put.at}) == {ALL: saved}


async def test_processes_hold_each_other_off(keep):
    order = []

    async def second():
        async with KeptInDatabase(sealer=keep.sealer).alone(ALL):
            order.append("second")

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group, keep.alone(ALL):
        group.create_task(second())
        async with keep.alone(ALL._replace(user="ann")):  # another's is not held off
            order.append("first")
    assert order == ["first", "second"]


@pytest.mark.parametrize(
    "error", [django.db.OperationalError("gone\nfor good"), SealBroken("no key")]
)
async def test_a_database_that_is_away_is_told_in_one_line(keep, monkeypatch, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(keep_sign_ins.store, "load", broken)
    with pytest.raises(KeepUnavailable, match=r"(gone|no key)$"):
        await keep.load(ALL)


async def test_a_lock_that_cannot_be_had_is_told(keep, monkeypatch):
    async def refused(*_, **__):
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", refused)
    with pytest.raises(KeepUnavailable, match="connection refused"):
        async with keep.alone(ALL):
            raise AssertionError("held without a database")
