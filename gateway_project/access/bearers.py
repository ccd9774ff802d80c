"""In-memory cache of bearer tokens, so that a request needs no database query.

A token is looked up when first seen and then every `CHECK_INTERVAL_S` seconds while in use. A
token that is revoked, or whose user is disabled, therefore stops working within seconds, and its
open requests and streams are ended. One that has expired but can be renewed ends its streams only:
a client renews it and sends again what was answered with 401, and the call would be made twice.
While the database is unavailable, tokens verified less than
`OUTAGE_GRACE_S` ago are accepted; all others are refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway_project.access.active_token import ActiveToken, TokensUnavailable
from gateway_project.access.throttle import Throttle

CHECK_INTERVAL_S = 2.0
MAX_AGE_S = 2 * CHECK_INTERVAL_S
"""Age of a look-up up to which a token is accepted without another one."""
OUTAGE_GRACE_S = 300.0
"""Age of a look-up up to which a token is accepted while the database is unavailable."""
LOOK_UP_TIMEOUT_S = 2.0
"""Longest that a request waits for the database before the cache decides."""
RETRY_PAUSE_S = 5.0
"""Wait after a failed look-up before the next; cached tokens are accepted meanwhile."""
RECORD_USE_INTERVAL_S = 60.0
"""Interval at which a token's last use is recorded."""
MAX_CACHED = 10_000
MAX_WRONG_CACHED = 1_000
LOCK_STRIPES = 16
"""Concurrent look-ups; those of one token are serialized."""
MAX_TOKEN_LENGTH = 200

LookUpTokens = Callable[[Collection[str]], Awaitable[Mapping[str, ActiveToken]]]
"""Returns the valid tokens among some digests, by digest; those that can be renewed also when they
have expired, until they are revoked."""

RecordUse = Callable[[Collection[str]], Awaitable[None]]
"""Records that tokens, named by digest, have just been used."""

log = logging.getLogger(__name__)


class TokenRefused(Exception):
    """The token is unknown, expired or revoked."""


class TooManyWrongTokens(Exception):
    """An address sent too many wrong tokens.

    Attributes:
        wait_s: Seconds until it may try again.
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many wrong tokens; try again in {wait_s:.0f} s")
        self.wait_s = wait_s


@dataclass(kw_only=True, eq=False)
class BearerToken:
    """A cached token.

    Attributes:
        digest: SHA-256 of the token.
        active_token: Its caller and expiry.
        checked_at: When the database last confirmed it.
        was_used: Whether it was used since the last recheck.
        use_recorded_at: When its use was last recorded in the database.
        open_timeouts: Timeouts of its open requests and streams.
        stream_timeouts: Those of its streams, which would stay open as long as their client.
        is_ended: Whether it is known to be no longer valid.
    """

    digest: str
    active_token: ActiveToken
    checked_at: float
    was_used: bool = True
    use_recorded_at: float = float("-inf")
    open_timeouts: set[asyncio.Timeout] = field(default_factory=set)
    stream_timeouts: set[asyncio.Timeout] = field(default_factory=set)
    is_ended: bool = False

    def enforce_validity(self, *, endless: bool = False) -> WhileValid:
        """Run the block only as long as the token is valid; yields the block's timeout.

        Args:
            endless: Whether it is a stream, which ends with the token's time too.

        Raises:
            TimeoutError: When the token becomes invalid.
        """
        return WhileValid(self, endless=endless)

    def expire_open(self) -> None:
        """End its open requests and streams."""
        self.is_ended = True
        _end_now(self.open_timeouts)

    def expire_streams(self) -> None:
        """End its open streams."""
        _end_now(self.stream_timeouts)


class WhileValid:
    """Ends a block once a token is no longer valid; a generator would cost each call 1 %."""

    def __init__(self, bearer: BearerToken, *, endless: bool) -> None:
        self._bearer = bearer
        self._is_endless = endless
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> asyncio.Timeout:
        await self._timeout.__aenter__()
        self._bearer.open_timeouts.add(self._timeout)
        if self._is_endless:
            self._bearer.stream_timeouts.add(self._timeout)
        return self._timeout

    async def __aexit__(self, *error: Any) -> None:
        self._bearer.open_timeouts.discard(self._timeout)
        self._bearer.stream_timeouts.discard(self._timeout)
        await self._timeout.__aexit__(*error)


def _end_now(timeouts: Collection[asyncio.Timeout]) -> None:
    now = asyncio.get_running_loop().time()
    for timeout in timeouts:
        if timeout.when() is None:  # one that is ending already cannot be changed
            timeout.reschedule(now)


class BearerTokenCache:
    """Authenticates bearer tokens from memory, backed by the database.

    Args:
        look_up: Loads tokens; raises `TokensUnavailable` if the database is unavailable.
        record_use: Records which tokens were used, raising likewise; None: not recorded.
        throttle: Counts wrong tokens per address.
        monotonic: Clock for intervals.
        wall: Clock for expiry, in seconds since the Unix epoch.
    """

    def __init__(
        self,
        look_up: LookUpTokens,
        *,
        record_use: RecordUse | None = None,
        throttle: Throttle | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._look_up = look_up
        self._record_use = record_use
        self._throttle = throttle or Throttle()
        self._monotonic = monotonic
        self._wall = wall
        self._tokens_by_digest: OrderedDict[str, BearerToken] = OrderedDict()
        self._wrong_digests: OrderedDict[str, float] = OrderedDict()
        self._locks = tuple(asyncio.Lock() for _ in range(LOCK_STRIPES))
        self._throttled_lock = asyncio.Lock()
        self._unavailable_until = float("-inf")
        self._has_warned = False

    async def authenticate(
        self, token: str, *, address: str, outage_grace_s: float = OUTAGE_GRACE_S
    ) -> BearerToken:
        """Return the cached entry of a valid token.

        Args:
            token: In plain text.
            address: The client's address.
            outage_grace_s: Age of a look-up up to which the token is accepted while the database
                is unavailable.

        Raises:
            TokenRefused: If it is unknown, expired or revoked.
            TooManyWrongTokens: If it is unknown and its address sent too many wrong ones.
            TokensUnavailable: If it cannot be verified now.
        """
        digest = hashlib.sha256(token[:MAX_TOKEN_LENGTH].encode()).hexdigest()
        bearer = self._tokens_by_digest.get(digest)
        if bearer is None or not self._is_fresh(bearer):
            bearer = await self._look_up_token(digest, address, bearer, outage_grace_s)
        if bearer is None or self._is_expired(bearer.active_token):
            self._throttle.record_failure(address, now=self._monotonic())
            raise TokenRefused
        bearer.was_used = True
        return bearer

    async def run(self) -> None:
        """Recheck tokens in use periodically, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            await self.recheck_tokens()

    async def recheck_tokens(self) -> None:
        """Look up the tokens in use again, end invalid ones and record uses."""
        live = [
            digest for digest, b in self._tokens_by_digest.items() if b.was_used or b.open_timeouts
        ]
        used = [bearer for bearer in self._tokens_by_digest.values() if bearer.was_used]
        for bearer in self._tokens_by_digest.values():
            bearer.was_used = False
        if not live:
            return
        try:
            await self._refresh_tokens(live)
            await self._record_used_tokens(used)
        except TokensUnavailable as error:
            if not self._has_warned:
                log.warning("tokens cannot be checked: %s", error)
            self._has_warned = True
            self._expire_unverified()
        else:
            self._has_warned = False

    async def _record_used_tokens(self, used: Collection[BearerToken]) -> None:
        """Record the use of tokens, each at most once per `RECORD_USE_INTERVAL_S`."""
        now = self._monotonic()
        due = [bearer for bearer in used if now - bearer.use_recorded_at >= RECORD_USE_INTERVAL_S]
        if self._record_use is None or not due:
            return
        await self._record_use([bearer.digest for bearer in due])
        for bearer in due:
            bearer.use_recorded_at = now

    async def _look_up_token(
        self, digest: str, address: str, cached: BearerToken | None, outage_grace_s: float
    ) -> BearerToken | None:
        """Look up a token; during an outage, accept the cached entry for a while.

        A wrong token never locks out the valid ones of its address, which many people may share:
        addresses that sent too many only take turns with each other.
        """
        wait_s = self._throttle.compute_wait_s(address, now=self._monotonic())
        is_throttled = cached is None and wait_s > 0
        stripe = self._locks[int(digest[:4], 16) % LOCK_STRIPES]
        async with self._throttled_lock if is_throttled else stripe:
            try:
                if not self._has_fresh_answer(digest):
                    await self._refresh_tokens([digest])
            except TokensUnavailable:
                if cached is None or self._monotonic() - cached.checked_at > outage_grace_s:
                    raise
                return cached
        bearer = self._tokens_by_digest.get(digest)
        if bearer is None and is_throttled:
            raise TooManyWrongTokens(wait_s)
        return bearer

    def _has_fresh_answer(self, digest: str) -> bool:
        """Whether a token, valid or wrong, was looked up recently.

        Raises:
            TokensUnavailable: If a look-up has just failed.
        """
        now = self._monotonic()
        bearer = self._tokens_by_digest.get(digest)
        if bearer is not None and self._is_fresh(bearer):
            return True
        if now - self._wrong_digests.get(digest, float("-inf")) <= MAX_AGE_S:
            return True
        if now < self._unavailable_until:
            raise TokensUnavailable("the database is away")
        return False

    async def _refresh_tokens(self, digests: Collection[str]) -> None:
        asked_at = self._monotonic()
        try:
            async with asyncio.timeout(LOOK_UP_TIMEOUT_S):
                found = await self._look_up(digests)
        except TimeoutError:
            self._unavailable_until = self._monotonic() + RETRY_PAUSE_S
            raise TokensUnavailable(
                f"the database did not answer in {LOOK_UP_TIMEOUT_S:g} s"
            ) from None
        except TokensUnavailable:
            self._unavailable_until = self._monotonic() + RETRY_PAUSE_S
            raise
        self._unavailable_until = float("-inf")
        for digest in digests:
            self._store_answer(digest, found.get(digest), asked_at)

    def _store_answer(self, digest: str, token: ActiveToken | None, at: float) -> None:
        cached = self._tokens_by_digest.get(digest)
        if token is None or self._is_expired(token):
            self._store_wrong(digest, at)
            if cached is None:
                return
            if token is None or not cached.open_timeouts:
                del self._tokens_by_digest[digest]
                cached.expire_open()
            else:
                cached.active_token, cached.checked_at = token, at
                cached.expire_streams()
        elif cached is not None and not cached.is_ended:
            cached.active_token, cached.checked_at = token, at
        else:
            self._tokens_by_digest[digest] = BearerToken(
                digest=digest, active_token=token, checked_at=at
            )
            self._evict_surplus()

    def _store_wrong(self, digest: str, at: float) -> None:
        self._wrong_digests[digest] = at
        while len(self._wrong_digests) > MAX_WRONG_CACHED:
            self._wrong_digests.popitem(last=False)

    def _evict_surplus(self) -> None:
        """Evict the oldest tokens beyond `MAX_CACHED`, but none with open requests."""
        surplus = max(len(self._tokens_by_digest) - MAX_CACHED, 0)
        *older, _ = self._tokens_by_digest
        idle = [digest for digest in older if not self._tokens_by_digest[digest].open_timeouts]
        for digest in idle[:surplus]:
            del self._tokens_by_digest[digest]

    def _expire_unverified(self) -> None:
        """End what tokens have open that were not verified for too long.

        They stay in memory, for requests whose grace is longer.
        """
        now = self._monotonic()
        for bearer in self._tokens_by_digest.values():
            if now - bearer.checked_at > OUTAGE_GRACE_S:
                bearer.expire_open()
            elif self._is_expired(bearer.active_token):
                bearer.expire_streams()

    def _is_fresh(self, bearer: BearerToken) -> bool:
        return self._monotonic() - bearer.checked_at <= MAX_AGE_S

    def _is_expired(self, token: ActiveToken) -> bool:
        return token.expires_at is not None and token.expires_at <= self._wall()
