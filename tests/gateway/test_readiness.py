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
    for name in ("START_TIMEOUT_S", "RETRY_TIMEOUT_S"):
        monkeypatch.setattr(readiness_module, name, PATIENCE_S)


async def waiting(readiness):
    """Start a call and return it once it waits."""
    task = asyncio.create_task(readiness.wait_for_gateway())
    async with asyncio.timeout(PATIENCE_S):
        await readiness.wanted.wait()
    return task


async def test_a_call_waits_for_a_gateway_that_is_starting():
    readiness = Readiness()
    call = await waiting(readiness)
    readiness.serve(GATEWAY)
    assert await call is GATEWAY


async def test_a_waiting_call_raises_why_the_gateway_cannot_serve():
    readiness = Readiness()
    call = await waiting(readiness)
    readiness.refuse(UNMIGRATED)
    with pytest.raises(NotReady, match="migrate"):
        await call
    assert readiness.trouble is UNMIGRATED


async def test_a_call_after_a_failure_waits_for_the_retry_it_triggers():
    readiness = Readiness()
    readiness.refuse(UNMIGRATED)
    call = await waiting(readiness)
    readiness.serve(GATEWAY)
    assert await call is GATEWAY
    assert readiness.trouble is None


async def test_a_call_does_not_wait_long_for_an_attempt_that_hangs(monkeypatch):
    monkeypatch.setattr(readiness_module, "RETRY_TIMEOUT_S", 0.01)
    readiness = Readiness()
    readiness.refuse(UNMIGRATED)
    with pytest.raises(NotReady, match="migrate"):
        await readiness.wait_for_gateway()


async def test_a_call_does_not_wait_forever_for_a_start(monkeypatch):
    monkeypatch.setattr(readiness_module, "START_TIMEOUT_S", 0.01)
    with pytest.raises(NotReady, match=r"still starting after 0\.01 s") as error:
        await Readiness().wait_for_gateway()
    assert error.value.code == "starting"


class Clock:
    """A monotonic clock that tests set."""

    now = 100.0

    def __call__(self):
        return self.now


def probed(obstacle, *, age_s=0.0, serves=True):
    """Return a readiness whose database was probed a while ago."""
    clock = Clock()
    readiness = Readiness(clock)
    if serves:
        readiness.serve(GATEWAY)
    if obstacle is not None:
        readiness.record_probe(obstacle)
    clock.now += age_s
    return readiness


@pytest.mark.parametrize(
    ("readiness", "code"),
    [
        (probed(""), None),
        (probed("", age_s=readiness_module.MAX_PROBE_AGE_S), None),
        (probed("", age_s=readiness_module.MAX_PROBE_AGE_S + 1), "database_unavailable"),
        (probed("the database is read-only"), "database_unavailable"),
        (probed(None), "starting"),
        (probed("", serves=False), "starting"),
    ],
    ids=["well", "probed a while ago", "not probed", "no writes", "never probed", "no gateway"],
)
def test_it_is_ready_only_while_the_database_takes_writes(readiness, code):
    obstacle = readiness.find_obstacle()
    assert (obstacle and obstacle.code) == code


def test_the_reason_of_a_gateway_that_refuses_calls_comes_first():
    readiness = probed("the database is read-only")
    readiness.refuse(UNMIGRATED)
    assert readiness.find_obstacle() is UNMIGRATED
