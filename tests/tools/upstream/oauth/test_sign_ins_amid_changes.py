"""Sign-ins that are made, forgotten or renewed elsewhere meanwhile, or cannot be written down."""

import asyncio
from dataclasses import replace

import pytest

from tests.tools.upstream.oauth.conftest import ALL
from tools.upstream.errors import SignInRequired, SignInUnavailable
from tools.upstream.oauth import sign_ins as module


async def test_a_missing_sign_in_is_looked_up_once_and_again_after_a_change(
    keep, process, call, sign_in
):
    async with process() as authorization:
        for _ in range(3):
            with pytest.raises(SignInRequired, match="there is none"):
                await call(authorization)
        assert keep.loads == 1
        keep.put(ALL, await sign_in())
        await authorization.sign_ins.reload()
        assert await call(authorization) == "somebody"


async def test_a_sign_in_that_was_forgotten_elsewhere_is_used_no_more(
    keep, process, call, sign_in
):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        assert await call(authorization) == "somebody"
        del keep.rows[ALL]
        await authorization.sign_ins.reload()
        with pytest.raises(SignInRequired):
            await call(authorization)


async def test_a_sign_in_forgotten_during_its_renewal_stays_forgotten(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        await call(authorization)
        clock.move(hours=2)
        del keep.rows[ALL]
        with pytest.raises(SignInRequired, match="removed"):
            await call(authorization)
    assert ALL not in keep.rows
    assert len(world.token_forms) == 1


async def test_a_failed_reload_keeps_the_current_state(keep, process, call, sign_in):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        await call(authorization)
        keep.down = True
        await authorization.sign_ins.reload()
        assert await call(authorization) == "somebody"


async def test_without_the_database_a_token_is_not_renewed(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        await call(authorization)
        clock.move(hours=2)
        keep.down = True
        with pytest.raises(SignInUnavailable, match="cannot be read or written"):
            await call(authorization)
        assert len(world.token_forms) == 1
        keep.down = False
        assert await call(authorization) == "somebody"


async def test_tokens_that_cannot_be_stored_are_used_and_stored_later(
    keep, process, call, sign_in, clock, monkeypatch
):
    monkeypatch.setattr(module, "FIRST_SAVE_RETRY_S", 0.0)
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    async with process() as authorization:
        keep.fails.add("save")
        assert await call(authorization) == "somebody"
        old = keep.rows[ALL].sign_in.tokens.refresh
        keep.fails.clear()
        await keep.saved.wait()
        assert keep.rows[ALL].sign_in.tokens.refresh != old
        assert await call(authorization) == "somebody"


async def test_tokens_are_stored_at_shutdown_at_the_latest(keep, process, call, sign_in, clock):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    async with process() as authorization:
        keep.fails.add("save")
        assert await call(authorization) == "somebody"
        old = keep.rows[ALL].sign_in.tokens.refresh
        keep.fails.clear()
    assert keep.rows[ALL].sign_in.tokens.refresh != old


async def test_a_new_sign_in_is_not_overwritten_by_a_renewal_of_the_old(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    other = await sign_in(user="ann")
    clock.move(hours=2)
    world.habits.hold_token = asyncio.Event()
    world.habits.token_asked.clear()
    async with process() as authorization, asyncio.TaskGroup() as group:
        calling = group.create_task(call(authorization))
        await world.habits.token_asked.wait()
        keep.put(ALL, replace(other, tokens=replace(other.tokens, expires_at=None)))
        world.habits.hold_token.set()
    assert calling.result() == "ann"
    assert keep.rows[ALL].sign_in.tokens.access == other.tokens.access


async def test_a_new_sign_in_is_used_where_the_old_was_refused_meanwhile(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    other = await sign_in(user="ann")
    clock.move(hours=2)
    world.habits.refuses_refresh = True
    world.habits.hold_token = asyncio.Event()
    world.habits.token_asked.clear()
    async with process() as authorization, asyncio.TaskGroup() as group:
        calling = group.create_task(call(authorization))
        await world.habits.token_asked.wait()
        keep.put(ALL, replace(other, tokens=replace(other.tokens, expires_at=None)))
        world.habits.hold_token.set()
    assert calling.result() == "ann"
    assert not keep.rows[ALL].sign_in.ended


async def test_one_that_is_forgotten_while_it_is_being_renewed_is_used_no_more(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    world.habits.hold_token = asyncio.Event()
    world.habits.token_asked.clear()
    async with process() as authorization:
        calling = asyncio.ensure_future(call(authorization))
        await world.habits.token_asked.wait()
        del keep.rows[ALL]
        world.habits.hold_token.set()
        with pytest.raises(SignInRequired, match="removed"):
            await calling
        with pytest.raises(SignInRequired, match="there is none"):
            await call(authorization)


async def test_a_sign_in_created_during_the_lookup_is_found(
    keep, process, call, sign_in, monkeypatch
):
    made, load = await sign_in(), keep.load

    async with process() as authorization:

        async def loses_the_race(key):
            found = await load(key)
            if keep.loads == 1:
                keep.put(ALL, made)
                await authorization.sign_ins.reload()
            return found

        monkeypatch.setattr(keep, "load", loses_the_race)
        assert await call(authorization) == "somebody"


async def test_without_the_database_a_sign_in_is_not_reported_as_missing(keep, process, call):
    keep.down = True
    async with process() as authorization:
        with pytest.raises(SignInUnavailable, match="cannot be read"):
            await call(authorization)
