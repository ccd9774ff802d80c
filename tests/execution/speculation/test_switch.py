import asyncio

import django.db
import pytest

from execution.speculation import switch as speculation_switch
from execution.speculation.switch import IDLE_S, MAX_AGE_S, SpeculationSwitch
from execution.store import grants
from gateway_project.foundation.database import run_in_database_thread
from tests.factories import SEEN_AT


class Database:
    """The switch's row; `error` is raised instead of an answer, `takes_s` passes meanwhile."""

    def __init__(self):
        self.now, self.is_on, self.error, self.takes_s, self.reads = 100.0, True, None, 0.0, 0

    async def load(self):
        self.reads += 1
        is_on = self.is_on
        self.now += self.takes_s
        if self.error:
            raise self.error
        return is_on

    def clock(self):
        return self.now


@pytest.fixture
def database():
    return Database()


def make_switch(database, **values):
    return SpeculationSwitch(
        database.load, **({"is_enabled": True, "clock": database.clock} | values)
    )


async def test_it_is_off_until_it_is_confirmed_to_be_on(database):
    switch = make_switch(database)
    assert not switch.is_on(database.now)
    await switch.confirm()
    assert switch.is_on(database.now)


async def test_it_is_off_at_once_where_the_settings_say_so(database):
    switch = make_switch(database, is_enabled=False)
    await switch.confirm()
    assert not switch.is_on(database.now)


async def test_it_is_off_once_the_database_says_so(database):
    switch = make_switch(database)
    await switch.confirm()
    database.is_on = False
    await switch.confirm()
    assert not switch.is_on(database.now)


async def test_a_confirmation_expires_if_the_database_is_gone(database):
    switch = make_switch(database)
    await switch.confirm()
    database.error = django.db.OperationalError("gone")
    await switch.confirm()
    assert switch.is_on(database.now + MAX_AGE_S)
    assert not switch.is_on(database.now + MAX_AGE_S + 0.01)


async def test_a_slow_answer_counts_from_when_it_was_asked_for(database):
    switch = make_switch(database)
    database.takes_s = MAX_AGE_S + 0.1
    await switch.confirm()
    assert not switch.is_on(database.now)


async def test_it_is_polled_only_while_somebody_asks(database, monkeypatch):
    naps = asyncio.Semaphore(0)

    async def nap(_seconds):
        await naps.acquire()

    monkeypatch.setattr(speculation_switch.asyncio, "sleep", nap)
    switch = make_switch(database)
    task = asyncio.create_task(switch.run())
    loop = asyncio.get_running_loop()

    async def settle():
        for _ in range(10):
            turn = loop.create_future()
            loop.call_soon(turn.set_result, None)
            await turn

    await settle()
    assert database.reads == 0
    switch.is_on(database.now)
    await settle()
    assert database.reads == 1
    naps.release()
    await settle()
    assert database.reads == 2
    database.now += IDLE_S + 1
    naps.release()
    await settle()
    naps.release()
    await settle()
    assert database.reads == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.django_db(transaction=True)
async def test_turning_the_row_off_turns_the_switch_off(database):
    def turn(is_on):
        return grants.switch_speculation(is_on=is_on, user="ann", at=SEEN_AT)

    await run_in_database_thread(turn, True)
    switch = SpeculationSwitch(
        lambda: run_in_database_thread(grants.is_speculation_on),
        is_enabled=True,
        clock=database.clock,
    )
    await switch.confirm()
    assert switch.is_on(database.now)
    await run_in_database_thread(turn, False)
    await switch.confirm()
    assert not switch.is_on(database.now)
