"""Keeps the tokens that servers are called with: in memory, current, each for its own user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

import structlog

from tools.upstream.errors import SignInRequired, SignInUnavailable, UpstreamError
from tools.upstream.oauth import addresses, grants
from tools.upstream.oauth.failures import Refused, SignInFailed
from tools.upstream.oauth.fetching import over_http
from tools.upstream.oauth.keeping import Keep, KeepUnavailable, Kept
from tools.upstream.oauth.values import Key, SignIn, union

if TYPE_CHECKING:
    from tools.upstream.http.client import HttpClient

RETRY_S = 10.0
"""A renewal that failed is not tried again before; nor is a token doubted that is younger."""
FIRST_SAVE_RETRY_S = 0.5
LONGEST_SAVE_RETRY_S = 15.0

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class _Entry:
    """A sign-in in memory.

    Attributes:
        kept: As it is.
        renewed_at: When its tokens came, if that was under this process's eyes.
        retry_at: When renewing may be tried again after it failed.
        covers: An address that its tokens are known to be meant for.
    """

    kept: Kept
    renewed_at: datetime | None = None
    retry_at: datetime | None = None
    covers: str = ""

    @property
    def sign_in(self) -> SignIn:
        """The sign-in itself."""
        return self.kept.sign_in


@dataclass(kw_only=True)
class SignIns:
    """The sign-ins of a process; use as an async context manager.

    While a token is valid, no call waits for anything. One that is about to end is renewed, once
    for all calls that need it, by a task of its own: a caller that gives up does not leave a
    refresh token behind that is used and whose successor nobody wrote down.

    Attributes:
        keep: Where they are kept.
        http: Gives the HTTP client; asked when it is first needed.
        clock: Tells the time.
    """

    keep: Keep
    http: Callable[[], HttpClient]
    clock: Callable[[], datetime]
    _entries: dict[Key, _Entry | None] = field(default_factory=dict, init=False, repr=False)
    _renewals: dict[Key, asyncio.Task[_Entry | UpstreamError]] = field(
        default_factory=dict, init=False, repr=False
    )
    _reloads: int = field(default=0, init=False, repr=False)
    _group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup, init=False, repr=False)
    _unsaved: set[asyncio.Task[None]] = field(default_factory=set, init=False, repr=False)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._unsaved:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    async def reload(self) -> None:
        """Take over what other processes changed; what cannot be read stays as it was."""
        self._reloads += 1
        self._forget_absent()
        known = {key: entry.kept.at for key, entry in self._entries.items() if entry}
        if not known:
            return
        try:
            found = await self.keep.newer(known)
        except KeepUnavailable as error:
            log.warning("sign_ins.not_reloaded", reason=str(error))
            return
        for key, kept in found.items():
            entry = self._entries.get(key)
            if kept is None:
                self._entries.pop(key, None)
            elif entry is None or kept.at > entry.kept.at:
                self._entries[key] = _Entry(kept=kept, renewed_at=self.clock())

    async def usable(self, key: Key, url: str, *, private: bool) -> SignIn:
        """Return the sign-in with which an address may be called now.

        Args:
            key: Which sign-in.
            url: The address.
            private: Whether the server's own address may lie in a private network.

        Raises:
            SignInRequired: If there is none.
            SignInUnavailable: If it must be renewed and cannot be at the moment.
        """
        entry = await self._entry(key)
        self._require_alive(key, entry.sign_in)
        if url != entry.covers:
            if not addresses.covers(entry.sign_in.resource, url):
                raise required(key, "its address is not the one that was signed in to")
            entry.covers = url
        now = self.clock()
        tokens = entry.sign_in.tokens
        left_s = tokens.left_s(now)
        if not tokens.is_due(now) or (tokens.refresh is None and left_s > 0):
            return entry.sign_in
        if left_s > 0 and entry.retry_at and now < entry.retry_at:
            return entry.sign_in
        try:
            return (await self._renewed(key, entry, private=private)).sign_in
        except SignInUnavailable as error:
            if left_s <= 0:
                raise
            log.warning("sign_ins.not_renewed", server=key.server, reason=str(error))
            return entry.sign_in

    async def renew(self, key: Key, *, private: bool) -> bool:
        """Renew tokens that the server does not take; return whether to try again with new ones.

        Args:
            key: Which sign-in.
            private: Whether the server's own address may lie in a private network.

        Raises:
            SignInRequired: If there are no others to be had.
            SignInUnavailable: If they cannot be had at the moment.
        """
        entry = await self._entry(key)
        recent = self.clock() - timedelta(seconds=RETRY_S)
        if entry.renewed_at is not None and entry.renewed_at > recent:
            return True  # the request may have been sent with the token before
        await self._renewed(key, entry, private=private)
        return True

    async def want(self, key: Key, scope: str) -> None:
        """Remember scopes that a server wants beside those that were asked for."""
        entry = await self._entry(key)
        known = union(entry.sign_in.asked, entry.sign_in.wanted)
        if union(known, scope) == known:
            return
        wanting = replace(entry.sign_in, wanted=union(entry.sign_in.wanted, scope))
        try:
            kept = await self.keep.save(key, wanting, instead_of=entry.sign_in)
        except KeepUnavailable as error:
            log.warning("sign_ins.not_saved", server=key.server, reason=str(error))
            return
        if kept is not None:
            self._entries[key] = replace(entry, kept=kept)

    async def _entry(self, key: Key) -> _Entry:
        """Return a sign-in from memory, else from where it is kept."""
        while key not in self._entries:
            reloads = self._reloads
            try:
                kept = await self.keep.load(key)
            except KeepUnavailable as error:
                raise SignInUnavailable(str(error), server=key.server) from None
            if reloads == self._reloads:  # else what was read may be older than the change
                self._entries.setdefault(key, _Entry(kept=kept) if kept else None)
        entry = self._entries[key]
        if entry is None:
            raise required(key, f"{key.user} has none yet" if key.user else "there is none")
        return entry

    def _forget_absent(self) -> None:
        for key in [key for key, entry in self._entries.items() if entry is None]:
            del self._entries[key]

    def _removed(self, key: Key) -> SignInRequired:
        self._entries.pop(key, None)
        return required(key, "its sign-in was removed")

    def _require_alive(self, key: Key, sign_in: SignIn) -> None:
        if sign_in.ended:
            raise required(key, f"the sign-in has ended: {sign_in.ended}")

    async def _renewed(self, key: Key, entry: _Entry, *, private: bool) -> _Entry:
        """Renew once, however many ask; the task goes on if they do not wait."""
        task = self._renewals.get(key)
        if task is None:
            task = self._group.create_task(
                self._renew(key, entry, private=private), name=f"sign-in {key.server}"
            )
            self._renewals[key] = task
            task.add_done_callback(lambda _: self._renewals.pop(key, None))
        outcome = await asyncio.shield(task)
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome

    async def _renew(self, key: Key, entry: _Entry, *, private: bool) -> _Entry | UpstreamError:
        """Renew and keep the outcome; an error is returned, for it concerns the callers only."""
        try:
            renewed = await self._renew_alone(key, entry, private=private)
        except UpstreamError as error:
            entry.retry_at = self.clock() + timedelta(seconds=RETRY_S)
            return error
        except Exception:  # top of the task: one server's tokens must not end the gateway
            log.exception("sign_ins.renewal_broke", server=key.server)
            return SignInUnavailable(
                "its tokens could not be renewed; see the log", server=key.server
            )
        self._entries[key] = renewed
        return renewed

    async def _renew_alone(self, key: Key, entry: _Entry, *, private: bool) -> _Entry:
        try:
            async with self.keep.alone(key):
                kept = await self.keep.load(key)
                if kept is None:
                    raise self._removed(key)
                if kept.sign_in.tokens.access != entry.sign_in.tokens.access:
                    self._entries[key] = other = _Entry(kept=kept, renewed_at=self.clock())
                    self._require_alive(key, kept.sign_in)
                    return other  # another process was first
                return await self._refresh(key, kept, private=private)
        except KeepUnavailable as error:
            raise SignInUnavailable(str(error), server=key.server) from None

    async def _refresh(self, key: Key, old: Kept, *, private: bool) -> _Entry:
        self._require_alive(key, old.sign_in)
        if old.sign_in.tokens.refresh is None:
            return await self._end(key, old, "its token is no longer valid and cannot be renewed")
        own = addresses.origin(old.sign_in.resource)[1:] if private else None
        fetch = over_http(self.http(), own=own)
        try:
            new = await grants.refresh(old.sign_in, fetch=fetch, now=self.clock())
        except Refused as error:
            return await self._end(key, old, str(error))
        except SignInFailed as error:
            raise SignInUnavailable(
                f"its tokens could not be renewed: {error}", server=key.server
            ) from None
        log.info("sign_ins.renewed", server=key.server, user=key.user)
        kept = await self._save(key, new, old)
        return _Entry(kept=kept, renewed_at=self.clock())

    async def _end(self, key: Key, old: Kept, why: str) -> _Entry:
        """Mark a sign-in as ended, unless another was made meanwhile."""
        ended = replace(old.sign_in, ended=why)
        log.warning("sign_ins.ended", server=key.server, user=key.user, reason=why)
        kept = await self.keep.save(key, ended, instead_of=old.sign_in)
        self._entries.pop(key, None)
        if kept is not None:
            self._entries[key] = _Entry(kept=kept)
        entry = await self._entry(key)
        self._require_alive(key, entry.sign_in)
        return entry

    async def _save(self, key: Key, new: SignIn, old: Kept) -> Kept:
        """Write new tokens down; if that fails, they are used and writing is tried again."""
        try:
            kept = await self.keep.save(key, new, instead_of=old.sign_in)
            kept = kept or await self.keep.load(key)
        except KeepUnavailable as error:
            log.warning("sign_ins.not_saved", server=key.server, reason=str(error))
        else:
            if kept is None:
                raise self._removed(key)
            self._require_alive(key, kept.sign_in)
            return kept
        task = self._group.create_task(self._save_later(key, new, old.sign_in))
        self._unsaved.add(task)
        task.add_done_callback(self._unsaved.discard)
        return replace(old, sign_in=new)

    async def _save_later(self, key: Key, new: SignIn, old: SignIn) -> None:
        """Try until it is written or the process ends, which is a last occasion."""
        wait_s = FIRST_SAVE_RETRY_S
        ending = False
        while not ending:
            try:
                await asyncio.sleep(wait_s)
            except asyncio.CancelledError:
                ending = True
            try:
                kept = await self.keep.save(key, new, instead_of=old)
            except KeepUnavailable:
                wait_s = min(2 * wait_s, LONGEST_SAVE_RETRY_S)
                continue
            entry = self._entries.get(key)
            if kept is not None and entry is not None and entry.sign_in is new:
                entry.kept = kept
            return
        log.error("sign_ins.lost", server=key.server, user=key.user)


def required(key: Key, why: str) -> SignInRequired:
    """Return the error that a person has to sign in."""
    return SignInRequired(key.server, why=why, user=key.user)
