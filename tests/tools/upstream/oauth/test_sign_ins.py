import asyncio

import pytest

from gateway_project.foundation.caller import GATEWAY
from tests.tools.upstream.oauth.conftest import ALL, ANN, BOB
from tools.upstream.errors import SignInRequired, SignInUnavailable
from tools.upstream.oauth import sign_ins as module


async def test_a_valid_token_is_returned_without_a_request(world, keep, process, call, sign_in):
    keep.put(ALL, await sign_in())
    asked = len(world.token_forms)
    async with process() as authorization:
        assert await call(authorization) == "somebody"
        keep.down = True
        assert await call(authorization) == "somebody"
    assert (keep.loads, len(world.token_forms)) == (1, asked)


async def test_a_token_about_to_expire_is_renewed_once_for_all_calls(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(seconds=3_550)
    async with process() as authorization, asyncio.TaskGroup() as group:
        calls = [group.create_task(call(authorization)) for _ in range(16)]
    assert {each.result() for each in calls} == {"somebody"}
    assert [form["grant_type"] for form in world.token_forms] == [
        "authorization_code",
        "refresh_token",
    ]
    assert keep.rows[ALL].sign_in.tokens.refresh == world.grants[0].refresh
    assert (keep.loads, keep.saves) == (2, 1)  # once to call, once to renew


async def test_two_processes_do_not_burn_the_same_refresh_token(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    async with process() as one, process() as other, asyncio.TaskGroup() as group:
        calls = [group.create_task(call(each)) for each in (one, other, one, other)]
    assert {each.result() for each in calls} == {"somebody"}
    assert len(world.token_forms) == 2
    assert not world.grants[0].revoked


async def test_a_refused_token_is_renewed_once(world, keep, process, call, sign_in):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        assert await call(authorization) == "somebody"
        world.end_access_tokens()
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(call(authorization)) for _ in range(8)]
    assert {each.result() for each in calls} == {"somebody"}
    assert len(world.token_forms) == 2


async def test_a_server_that_refuses_every_token_does_not_cause_repeated_renewals(
    world, keep, process, call, sign_in
):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        world.habits.lifetime_s = 0.0
        world.habits.token_answer = {"expires_in": 3_600}
        world.end_access_tokens()
        for _ in range(5):
            assert await call(authorization) == 401
    assert len(world.token_forms) == 2


async def test_a_caller_that_gives_up_does_not_lose_the_next_refresh_token(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    world.habits.hold_token = asyncio.Event()
    world.habits.token_asked.clear()
    async with process() as authorization:
        impatient = asyncio.ensure_future(call(authorization))
        await world.habits.token_asked.wait()
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        world.habits.hold_token.set()
        await keep.saved.wait()
        assert await call(authorization) == "somebody"
    assert keep.rows[ALL].sign_in.tokens.refresh == world.grants[0].refresh
    assert len(world.token_forms) == 2


async def test_a_refused_renewal_ends_the_sign_in_and_says_what_to_do(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    world.habits.refuses_refresh = True
    async with process() as authorization:
        for _ in range(3):
            with pytest.raises(SignInRequired, match=r"invalid_grant.*manage\.py sign_in notes"):
                await call(authorization)
        assert len(world.token_forms) == 2  # asked once, and not for each call
        kept = keep.rows[ALL].sign_in
        assert kept.ended
        assert kept.tokens.refresh == world.grants[0].refresh  # nothing is lost
        world.habits.refuses_refresh = False
        keep.put(ALL, await sign_in(user="ann"))
        await authorization.sign_ins.reload()
        assert await call(authorization) == "ann"


async def test_a_failing_authorization_server_does_not_end_the_sign_in(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)
    world.habits.token_status = 503
    async with process() as authorization:
        with pytest.raises(SignInUnavailable, match="status 503"):
            await call(authorization)
        world.habits.token_status = 0
        assert await call(authorization) == "somebody"
    assert not keep.rows[ALL].sign_in.ended


async def test_a_failed_early_renewal_is_hidden_and_not_retried_immediately(
    world, keep, process, call, sign_in, clock
):
    keep.put(ALL, await sign_in())
    clock.move(seconds=3_550)
    world.habits.token_status = 503
    async with process() as authorization:
        for _ in range(3):
            assert await call(authorization) == "somebody"
        assert len(world.token_forms) == 2
        clock.move(seconds=module.RETRY_S)
        assert await call(authorization) == "somebody"
        assert len(world.token_forms) == 3


async def test_a_token_without_a_refresh_token_is_used_until_it_expires(
    world, keep, process, call, sign_in, clock
):
    world.habits.refreshes = False
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        clock.move(seconds=3_599)
        assert await call(authorization) == "somebody"
        clock.move(seconds=1)
        with pytest.raises(SignInRequired, match="cannot be renewed"):
            await call(authorization)


async def test_a_users_token_is_never_used_for_another(keep, process, call, sign_in, clock):
    keep.put(ANN, await sign_in(user="ann"))
    async with process(per_user=True) as authorization:
        assert await call(authorization, "ann") == "ann"
        with pytest.raises(SignInRequired, match="bob has none yet"):
            await call(authorization, "bob")
        with pytest.raises(SignInRequired, match="each user has their own"):
            await call(authorization)
        keep.put(BOB, await sign_in(user="bob"))
        await authorization.sign_ins.reload()
        clock.move(hours=2)  # both are renewed, side by side
        async with asyncio.TaskGroup() as group:
            calls = {
                name: [group.create_task(call(authorization, name)) for _ in range(4)]
                for name in ("ann", "bob")
            }
    for name, asked in calls.items():
        assert {each.result() for each in asked} == {name}


async def test_only_the_gateways_own_requests_use_the_listing_user(keep, process, call, sign_in):
    keep.put(ANN, await sign_in(user="ann"))
    async with process(per_user=True, listing_user="ann") as authorization:
        assert await call(authorization) == "ann"
        for user in ("bob", ""):
            with pytest.raises(SignInRequired):
                await call(authorization, user)


async def test_a_server_that_wants_more_rights_is_signed_in_to_again_with_them(
    world, keep, process, call, sign_in
):
    keep.put(ALL, await sign_in(scope="notes:read"))
    world.habits.needed_scope = "notes:write"
    async with process() as authorization:
        for _ in range(2):
            with pytest.raises(SignInRequired, match="more rights than were granted: notes:write"):
                await call(authorization)
    assert keep.rows[ALL].sign_in.wanted == "notes:write"
    assert keep.saves == 1


async def test_demanded_scopes_are_reported_even_if_they_cannot_be_stored(
    world, keep, process, call, sign_in
):
    keep.put(ALL, await sign_in(scope="notes:read"))
    world.habits.needed_scope = "notes:write"
    async with process() as authorization:
        keep.fails.add("save")
        with pytest.raises(SignInRequired, match="notes:write"):
            await call(authorization)


async def test_a_refusal_without_a_scope_error_is_not_handled(keep, process, sign_in):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        assert not await authorization.handle_refusal(
            status=403, www_authenticate="", caller=GATEWAY
        )


@pytest.mark.parametrize(
    "url", ["https://evil.example/mcp", "{base}/other", "http://127.0.0.1:1/mcp"]
)
async def test_tokens_are_sent_nowhere_but_to_their_resource(world, keep, process, sign_in, url):
    keep.put(ALL, await sign_in())
    async with process() as authorization:
        with pytest.raises(SignInRequired, match="not the one that was signed in to"):
            await authorization.build_headers(url.format(base=world.base), "")


async def test_a_crash_of_a_renewal_fails_only_its_callers(
    keep, process, call, sign_in, clock, monkeypatch
):
    keep.put(ALL, await sign_in())
    clock.move(hours=2)

    async def broken(*_, **__):
        raise ZeroDivisionError

    async with process() as authorization:
        with monkeypatch.context() as patched:
            patched.setattr(module.grants, "refresh_tokens", broken)
            with pytest.raises(SignInUnavailable, match="see the log"):
                await call(authorization)
        assert await call(authorization) == "somebody"


async def test_no_error_and_no_log_line_holds_a_token(
    world, keep, process, call, sign_in, clock, capfd
):
    keep.put(ALL, await sign_in())
    tokens = keep.rows[ALL].sign_in.tokens
    clock.move(hours=2)
    world.habits.refuses_refresh = True
    async with process() as authorization:
        with pytest.raises(SignInRequired) as caught:
            await call(authorization)
        shown = str(caught.value) + repr(authorization) + repr(keep.rows)
    shown += "".join(capfd.readouterr())
    assert "invalid_grant" in shown
    assert not any(secret in shown for secret in (tokens.access, tokens.refresh))
