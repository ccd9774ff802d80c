import asyncio

import pytest

from gateway_project import readiness as readiness_module
from gateway_project.readiness import Gateway, NotReady, Readiness
from tests.gateway.conftest import ADMIN
from tests.patience import PATIENCE_S

UNMIGRATED = NotReady("database_unmigrated", "run `manage.py migrate`")
GATEWAY = Gateway(effects=None, caller=ADMIN)


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    for name in ("READY_WAIT_S", "RETRY_WAIT_S"):
        monkeypatch.setattr(readiness_module, name, PATIENCE_S)


async def waiting(readiness):
    """Start a call and return it once it waits."""
    task = asyncio.create_task(readiness.gateway())
    async with asyncio.timeout(PATIENCE_S):
        await readiness.wanted.wait()
    return task


async def test_a_gateway_that_serves_is_had_at_once():
    readiness = Readiness()
    readiness.serve(GATEWAY)
    assert await readiness.gateway() is GATEWAY
    assert readiness.current is GATEWAY
    assert not readiness.wanted.is_set()


async def test_a_call_waits_for_a_gateway_that_is_starting():
    readiness = Readiness()
    call = await waiting(readiness)
    readiness.serve(GATEWAY)
    assert await call is GATEWAY


async def test_a_call_that_waits_learns_why_there_is_none():
    readiness = Readiness()
    call = await waiting(readiness)
    readiness.refuse(UNMIGRATED)
    with pytest.raises(NotReady, match="migrate"):
        await call
    assert readiness.trouble is UNMIGRATED


async def test_a_call_in_known_trouble_waits_for_the_attempt_it_sets_off():
    readiness = Readiness()
    readiness.refuse(UNMIGRATED)
    call = await waiting(readiness)
    readiness.serve(GATEWAY)
    assert await call is GATEWAY
    assert readiness.trouble is None


async def test_a_call_does_not_wait_long_for_an_attempt_that_hangs(monkeypatch):
    monkeypatch.setattr(readiness_module, "RETRY_WAIT_S", 0.01)
    readiness = Readiness()
    readiness.refuse(UNMIGRATED)
    with pytest.raises(NotReady, match="migrate"):
        await readiness.gateway()


async def test_a_call_does_not_wait_forever_for_a_start(monkeypatch):
    monkeypatch.setattr(readiness_module, "READY_WAIT_S", 0.01)
    with pytest.raises(NotReady, match=r"still starting after 0\.01 s") as error:
        await Readiness().gateway()
    assert error.value.code == "starting"


async def test_a_gateway_that_lost_its_user_refuses_again():
    readiness = Readiness()
    readiness.serve(GATEWAY)
    readiness.refuse(NotReady("unknown_user", "no active user"))
    assert readiness.current is None
