"""Who holds which bearer token, kept in memory so that a request need not ask the database.

A token is looked up when it is first seen and then every `CHECK_S` seconds while it is in use, so
that one that is revoked, or whose user is switched off, stops working within seconds; what it has
open is ended. While the database cannot be reached, tokens it vouched for less than `OUTAGE_S`
ago still count; all others are refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway_project.access.standing import Standing, TokensUnavailable
from gateway_project.access.throttle import Throttle

CHECK_S = 2.0
FRESH_S = 2 * CHECK_S
"""Longest since the last look-up that a token is taken without another."""
OUTAGE_S = 300.0
"""Longest that a token is taken on memory alone while the database is away."""
LOOK_UP_S = 2.0
"""Longest that a request waits for the database before memory has to do."""
AWAY_S = 5.0
"""After a failed look-up, tokens in memory are taken so long without trying again."""
NOTE_S = 60.0
"""The database is told so often that a token is used."""
MAX_KNOWN = 10_000
MAX_WRONG = 1_000
TURNS = 16
"""Look-ups that run side by side; those of one token always take turns."""
MAX_TOKEN_LENGTH = 200

LookUp = Callable[[Collection[str]], Awaitable[Mapping[str, Standing]]]
"""Returns the tokens that are good among those whose digests are given, by digest."""

NoteUse = Callable[[Collection[str]], Awaitable[None]]
"""Takes note that tokens, given by their digests, have just been used."""

log = logging.getLogger(__name__)


class Refused(Exception):
    """The token is unknown, expired or revoked."""


class Throttled(Exception):
    """Too many wrong tokens came from this address.

    Attributes:
        wait_s: Seconds until it may try again.
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many wrong tokens; try again in {wait_s:.0f} s")
        self.wait_s = wait_s


@dataclass(kw_only=True, eq=False)
class Bearer:
    """A token in use.

    Attributes:
        digest: SHA-256 of it.
        standing: What it stands for.
        checked_at: When the database last vouched for it.
        used: Whether it was used since the last round of checks.
        noted_at: When the database was last told that it is used.
        open: Ends of what it has open.
    """

    digest: str
    standing: Standing
    checked_at: float
    used: bool = True
    noted_at: float = float("-inf")
    open: set[asyncio.Timeout] = field(default_factory=set)

    @asynccontextmanager
    async def valid(self) -> AsyncIterator[asyncio.Timeout]:
        """Do something for as long as the token is good; yields the end of that.

        Raises:
            TimeoutError: Once it is no more.
        """
        async with asyncio.timeout(None) as end:
            self.open.add(end)
            try:
                yield end
            finally:
                self.open.discard(end)

    def end(self) -> None:
        """End all that is open."""
        now = asyncio.get_running_loop().time()
        for end in self.open:
            end.reschedule(now)


class Bearers:
    """Judges tokens.

    Args:
        look_up: Asks the database; raises `TokensUnavailable` if it cannot be asked.
        note_use: Tells the database which tokens were used, raising likewise; None tells nobody.
        throttle: Counts wrong tokens.
        monotonic: Clock of intervals.
        wall: Clock of dates, in seconds since the epoch.
    """

    def __init__(
        self,
        look_up: LookUp,
        *,
        note_use: NoteUse | None = None,
        throttle: Throttle | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._look_up = look_up
        self._note_use = note_use
        self._throttle = throttle or Throttle()
        self._monotonic = monotonic
        self._wall = wall
        self._known: OrderedDict[str, Bearer] = OrderedDict()
        self._wrong: OrderedDict[str, float] = OrderedDict()
        self._turns = tuple(asyncio.Lock() for _ in range(TURNS))
        self._away_until = float("-inf")
        self._complained = False

    async def admit(self, token: str, *, address: str) -> Bearer:
        """Return who holds a token.

        Args:
            token: In clear.
            address: Where it came from.

        Raises:
            Refused: If it is not good.
            Throttled: If its address has sent too many wrong ones; good ones that are known
                already still pass.
            TokensUnavailable: If it cannot be judged now.
        """
        digest = hashlib.sha256(token[:MAX_TOKEN_LENGTH].encode()).hexdigest()
        bearer = self._known.get(digest)
        if bearer is None or not self._fresh(bearer):
            bearer = await self._ask(digest, address, bearer)
        if bearer is None or self._expired(bearer.standing):
            self._throttle.failed(address, now=self._monotonic())
            raise Refused
        bearer.used = True
        return bearer

    async def run(self) -> None:
        """Check again what is in use, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_S)
            await self.check()

    async def check(self) -> None:
        """Check again what is in use, and forget what is not."""
        live = [digest for digest, b in self._known.items() if b.used or b.open]
        used = [bearer for bearer in self._known.values() if bearer.used]
        for bearer in self._known.values():
            bearer.used = False
        if not live:
            return
        try:
            await self._refresh(live)
            await self._tell_used(used)
        except TokensUnavailable as error:
            if not self._complained:
                log.warning("tokens cannot be checked: %s", error)
            self._complained = True
            self._end_unvouched()
        else:
            self._complained = False

    async def _tell_used(self, used: Collection[Bearer]) -> None:
        """Have the database know which tokens are used, each once in a while."""
        now = self._monotonic()
        due = [bearer for bearer in used if now - bearer.noted_at >= NOTE_S]
        if self._note_use is None or not due:
            return
        await self._note_use([bearer.digest for bearer in due])
        for bearer in due:
            bearer.noted_at = now

    async def _ask(self, digest: str, address: str, known: Bearer | None) -> Bearer | None:
        """Look a token up; while that is impossible, memory counts for a while."""
        if known is None and (wait_s := self._throttle.wait_s(address, now=self._monotonic())):
            raise Throttled(wait_s)
        async with self._turns[int(digest[:4], 16) % TURNS]:
            try:
                if not self._answered(digest):
                    await self._refresh([digest])
            except TokensUnavailable:
                if known is None or self._monotonic() - known.checked_at > OUTAGE_S:
                    raise
                return known
        return self._known.get(digest)

    def _answered(self, digest: str) -> bool:
        """Whether the database has just said what a token is, right or wrong.

        Raises:
            TokensUnavailable: If it has just not answered.
        """
        now = self._monotonic()
        bearer = self._known.get(digest)
        if bearer is not None and self._fresh(bearer):
            return True
        if now - self._wrong.get(digest, float("-inf")) <= FRESH_S:
            return True
        if now < self._away_until:
            raise TokensUnavailable("the database is away")
        return False

    async def _refresh(self, digests: Collection[str]) -> None:
        asked_at = self._monotonic()
        try:
            async with asyncio.timeout(LOOK_UP_S):
                found = await self._look_up(digests)
        except TimeoutError:
            self._away_until = self._monotonic() + AWAY_S
            raise TokensUnavailable(f"the database did not answer in {LOOK_UP_S:g} s") from None
        except TokensUnavailable:
            self._away_until = self._monotonic() + AWAY_S
            raise
        self._away_until = float("-inf")
        for digest in digests:
            self._note(digest, found.get(digest), asked_at)

    def _note(self, digest: str, standing: Standing | None, at: float) -> None:
        known = self._known.get(digest)
        if standing is None or self._expired(standing):
            self._note_wrong(digest, at)
            if known is not None:
                del self._known[digest]
                known.end()
        elif known is not None:
            known.standing, known.checked_at = standing, at
        else:
            self._known[digest] = Bearer(digest=digest, standing=standing, checked_at=at)
            self._forget_surplus()

    def _note_wrong(self, digest: str, at: float) -> None:
        self._wrong[digest] = at
        while len(self._wrong) > MAX_WRONG:
            self._wrong.popitem(last=False)

    def _forget_surplus(self) -> None:
        """Keep memory bounded; what is forgotten is looked up again, what is open stays known."""
        surplus = max(len(self._known) - MAX_KNOWN, 0)
        *older, _ = self._known
        for digest in [known for known in older if not self._known[known].open][:surplus]:
            del self._known[digest]

    def _end_unvouched(self) -> None:
        """End what runs on memory alone for too long."""
        now = self._monotonic()
        for digest, bearer in list(self._known.items()):
            if now - bearer.checked_at > OUTAGE_S or self._expired(bearer.standing):
                del self._known[digest]
                bearer.end()

    def _fresh(self, bearer: Bearer) -> bool:
        return self._monotonic() - bearer.checked_at <= FRESH_S

    def _expired(self, standing: Standing) -> bool:
        return standing.expires_at is not None and standing.expires_at <= self._wall()
