"""An attached client acts with the rights that its user has now."""

import asyncio
from dataclasses import replace

import pytest

from gateway_project.mcp.attach.host import AttachedRights
from gateway_project.readiness import NotReady, Readiness
from tests.patience import PATIENCE_S
from tests.upstream_calls import make_caller

ANN = make_caller("ann")


@pytest.fixture
def found():
    """What is found whenever the user is looked for."""
    return asyncio.Queue()


@pytest.fixture
async def rights(found):
    readiness = Readiness()

    async def find():
        one = found.get_nowait()
        if isinstance(one, Exception):
            raise one
        return one

    made = AttachedRights(ANN, find, readiness)
    following = asyncio.create_task(made.follow())

    async def change(one):
        await asyncio.sleep(0)
        found.put_nowait(one)
        readiness.refuse(NotReady("starting", "it reloads"))
        async with asyncio.timeout(PATIENCE_S):
            while not found.empty():  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)
        await asyncio.sleep(0)

    made.change = change
    yield made
    following.cancel()


async def test_rights_follow_the_database(rights):
    assert rights.get_caller() == ANN
    less = replace(ANN, scopes=frozenset({"search"}))
    await rights.change(less)
    assert rights.get_caller() == less


async def test_who_is_deactivated_is_refused_and_who_is_activated_again_served(rights):
    await rights.change(LookupError("no active user 'ann'"))
    with pytest.raises(NotReady, match="no active user 'ann'") as refused:
        rights.get_caller()
    assert refused.value.code == "unknown_user"
    await rights.change(ANN)
    assert rights.get_caller() == ANN


async def test_while_the_database_is_away_rights_stay_as_they_were(rights):
    await rights.change(NotReady("database_unavailable", "gone"))
    assert rights.get_caller() == ANN
