import asyncio
from types import SimpleNamespace

import pytest

from gateway_project.access import bearers, throttle
from gateway_project.access.active_token import TokensUnavailable
from gateway_project.access.bearers import BearerTokenCache, TokenRefused, TooManyWrongTokens
from gateway_project.access.throttle import Throttle, client_network
from gateway_project.api import authentication
from tests.gateway.mcp_http.conftest import Tokens, caller, digest


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tokens():
    made = Tokens()
    made.give("good", caller("ann"))
    return made


@pytest.fixture
def judge(tokens, clock):
    return BearerTokenCache(tokens.look_up, monotonic=clock, wall=clock)


async def admit(judge, bearer="good", address="192.0.2.1"):
    return await judge.authenticate(bearer, address=address)


async def hold(bearer, judge):
    """Keep something open for as long as a token is good."""
    async with bearer.enforce_validity():
        await judge.recheck_tokens()
        await asyncio.Event().wait()


async def test_a_token_is_looked_up_once_while_it_is_fresh(judge, tokens, clock):
    for _ in range(5):
        assert (await admit(judge)).active_token.caller.user == "ann"
        clock.now += bearers.MAX_AGE_S / 10
    assert tokens.asked == 1


async def test_concurrent_requests_share_one_lookup(judge, tokens):
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(admit(judge))
    assert tokens.asked == 1


async def test_tokens_in_use_are_checked_in_one_query(judge, tokens, clock):
    tokens.give("other", caller("bob"))
    first, second = await admit(judge), await admit(judge, "other")
    clock.now += bearers.CHECK_INTERVAL_S
    asked = tokens.asked
    await judge.recheck_tokens()
    assert tokens.asked == asked + 1
    assert first.checked_at == second.checked_at == clock.now
    await judge.recheck_tokens()
    assert tokens.asked == asked + 1


async def test_a_changed_token_takes_effect(judge, tokens):
    bearer = await admit(judge)
    tokens.give("good", caller("ann", scopes=("read",)))
    await judge.recheck_tokens()
    assert bearer.active_token.caller.scopes == {"read"}


async def test_a_token_ends_on_time_without_the_database(judge, tokens, clock):
    tokens.give("short", caller("ann"), expires_at=clock.now + 1)
    assert await admit(judge, "short")
    clock.now += 1
    with pytest.raises(TokenRefused):
        await admit(judge, "short")


async def test_a_revoked_token_ends_a_stream_that_has_been_open_for_long(
    judge, tokens, monkeypatch
):
    bearer = await admit(judge)
    monkeypatch.setattr(authentication, "find_bearer", lambda _request: bearer)
    request = SimpleNamespace(auth=bearer.active_token.caller)
    has_right = authentication.watch_right(request, "call")
    for _ in range(3):
        assert await has_right()
        await judge.recheck_tokens()
    tokens.revoke("good")
    assert await has_right()
    await judge.recheck_tokens()
    assert not await has_right()


async def test_cached_tokens_are_accepted_for_a_while_without_a_database(judge, tokens, clock):
    await admit(judge)
    tokens.away = True
    clock.now += bearers.OUTAGE_GRACE_S
    assert await admit(judge)
    clock.now += bearers.RETRY_PAUSE_S
    with pytest.raises(TokensUnavailable):
        await admit(judge)


async def test_an_unavailable_database_is_not_queried_by_every_request(judge, tokens, clock):
    await admit(judge)
    tokens.away = True
    clock.now += bearers.MAX_AGE_S + 1
    asked = tokens.asked
    for _ in range(5):
        await admit(judge)
    assert tokens.asked == asked + 1
    tokens.away = False
    clock.now += bearers.RETRY_PAUSE_S
    await admit(judge)
    assert tokens.asked == asked + 2


async def test_a_longer_grace_admits_a_token_that_others_no_longer_can(judge, tokens, clock):
    await admit(judge)
    tokens.away = True
    clock.now += bearers.OUTAGE_GRACE_S + 1
    await judge.recheck_tokens()
    with pytest.raises(TokensUnavailable):
        await admit(judge)
    for _ in range(2):
        found = await judge.authenticate("good", address="x", outage_grace_s=float("inf"))
        assert found.active_token.caller.user == "ann"
    tokens.away = False
    clock.now += bearers.RETRY_PAUSE_S
    assert not (await admit(judge)).is_ended


async def test_requests_on_an_outdated_cache_end(judge, tokens, clock):
    bearer = await admit(judge)
    tokens.away = True
    clock.now += bearers.OUTAGE_GRACE_S + 1
    with pytest.raises(TimeoutError):
        await hold(bearer, judge)


async def test_an_unresponsive_database_counts_as_unavailable(monkeypatch, clock):
    monkeypatch.setattr(bearers, "LOOK_UP_TIMEOUT_S", 0.01)

    async def never(_digests):
        await asyncio.Event().wait()

    judge = BearerTokenCache(never, monotonic=clock, wall=clock)
    with pytest.raises(TokensUnavailable, match="did not answer"):
        await admit(judge)


async def test_a_wrong_token_is_not_looked_up_again_at_once(judge, tokens):
    for _ in range(3):
        with pytest.raises(TokenRefused):
            await admit(judge, "wrong")
    assert tokens.asked == 1


async def test_wrong_tokens_slow_their_address_down_and_never_lock_valid_ones_out(tokens, clock):
    judge = BearerTokenCache(
        tokens.look_up, throttle=Throttle(limit=3, window_s=60), monotonic=clock, wall=clock
    )
    await admit(judge)
    for number in range(3):
        with pytest.raises(TokenRefused):
            await admit(judge, f"wrong-{number}")
    with pytest.raises(TooManyWrongTokens) as waiting:
        await admit(judge, "wrong-3")
    assert waiting.value.wait_s == 60
    assert await admit(judge)
    assert await admit(judge, tokens.give("new", caller("bob")))
    with pytest.raises(TokenRefused):
        await admit(judge, "wrong-4", address="192.0.2.2")
    clock.now += 60
    with pytest.raises(TokenRefused):
        await admit(judge, "wrong-5")


async def test_throttled_addresses_have_one_look_up_at_a_time(clock):
    running, most = 0, 0

    async def look_up(_digests):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return {}

    judge = BearerTokenCache(
        look_up, throttle=Throttle(limit=1, window_s=60), monotonic=clock, wall=clock
    )
    with pytest.raises(TokenRefused):
        await admit(judge, "first")

    async def guess(number):
        with pytest.raises(TooManyWrongTokens):
            await admit(judge, f"wrong-{number}")

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(guess(number))
    assert most == 1


async def test_memory_is_bounded(judge, tokens, monkeypatch):
    monkeypatch.setattr(bearers, "MAX_CACHED", 3)
    monkeypatch.setattr(bearers, "MAX_WRONG_CACHED", 3)
    for number in range(6):
        await admit(judge, tokens.give(f"good-{number}", caller("ann")))
        with pytest.raises(TokenRefused):
            await admit(judge, f"wrong-{number}", address=f"192.0.2.{number}")
    assert len(judge._tokens_by_digest) == 3
    assert len(judge._wrong_digests) == 3


async def test_tokens_of_open_requests_are_never_evicted(judge, tokens, monkeypatch):
    monkeypatch.setattr(bearers, "MAX_CACHED", 1)
    bearer = await admit(judge)
    async with bearer.enforce_validity():
        await admit(judge, tokens.give("other", caller("bob")))
        assert digest("good") in judge._tokens_by_digest


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("2001:db8::1", "2001:db8::"),
        ("2001:db8:0:0:ffff::1", "2001:db8::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_failures_are_counted_per_network(address, counted):
    assert client_network(address) == counted


def test_the_number_of_counted_addresses_is_bounded(monkeypatch):
    monkeypatch.setattr(throttle, "MAX_ADDRESSES", 2)
    counting = Throttle(limit=1)
    for number in range(4):
        counting.record_failure(f"192.0.2.{number}", now=0.0)
    assert len(counting._failures) == 2


async def test_token_use_is_recorded_in_batches(tokens, clock):
    told = []

    async def note(digests):
        told.append(list(digests))

    tokens.give("other", caller("bob"))
    judge = BearerTokenCache(tokens.look_up, record_use=note, monotonic=clock, wall=clock)
    for _ in range(3):
        await admit(judge)
    assert told == []
    await judge.recheck_tokens()
    await admit(judge)
    await admit(judge, "other")
    await judge.recheck_tokens()
    assert told == [[digest("good")], [digest("other")]]
    clock.now += bearers.RECORD_USE_INTERVAL_S
    await admit(judge)
    await judge.recheck_tokens()
    await judge.recheck_tokens()
    assert told[2:] == [[digest("good")]]


async def test_unrecorded_token_use_is_recorded_later(tokens, clock):
    told, away = [], [TokensUnavailable("gone")]

    async def note(digests):
        if away:
            raise away.pop()
        told.append(list(digests))

    judge = BearerTokenCache(tokens.look_up, record_use=note, monotonic=clock, wall=clock)
    for _ in range(2):
        await admit(judge)
        await judge.recheck_tokens()
    assert told == [[digest("good")]]
