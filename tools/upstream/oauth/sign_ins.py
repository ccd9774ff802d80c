"""Manages the sign-ins of a process: caches them, renews their tokens, and authorizes requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

import structlog

from gateway_project.foundation.caller import GATEWAY, Caller
from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.errors import SignInRequired, SignInUnavailable, UpstreamError
from tools.upstream.oauth import addresses, grants
from tools.upstream.oauth.fetching import FetchRequest
from tools.upstream.oauth.values import (
    AuthorizationRefused,
    SignIn,
    SignInFailed,
    SignInKey,
    SignInStore,
    SignInStoreUnavailable,
    StoredSignIn,
    join_scopes,
    read_challenge,
)
from tools.upstream.spec import ServerSpec

if TYPE_CHECKING:
    from tools.upstream.http.client import HttpClient

RETRY_S = 10.0
"""A failed renewal is not retried earlier, and a token younger than this is not renewed."""
FIRST_SAVE_RETRY_S = 0.5
LONGEST_SAVE_RETRY_S = 15.0

log = structlog.get_logger(__name__)

UNAUTHORIZED = 401
FORBIDDEN = 403


@dataclass(kw_only=True)
class _CachedSignIn:
    """A sign-in in memory.

    Attributes:
        stored: The stored sign-in.
        renewed_at: When this process saw its tokens change; None if it has not.
        retry_at: Earliest time of the next renewal after a failed one.
        covered_url: An address already checked to be covered by its resource.
    """

    stored: StoredSignIn
    renewed_at: datetime | None = None
    retry_at: datetime | None = None
    covered_url: str = ""

    @property
    def sign_in(self) -> SignIn:
        """The sign-in."""
        return self.stored.sign_in


@dataclass(kw_only=True)
class SignInManager:
    """The sign-ins of a process; use as an async context manager.

    A valid token is returned without waiting. A token about to expire is renewed once for all
    concurrent callers (single-flight), in its own task: a caller's cancellation must not lose the
    successor of a refresh token already used.

    Attributes:
        store: Persists the sign-ins.
        get_http_client: Returns the HTTP client; called on first use.
        clock: Returns the current time.
    """

    store: SignInStore
    get_http_client: Callable[[], HttpClient]
    clock: Callable[[], datetime]
    _entries: dict[SignInKey, _CachedSignIn | None] = field(
        default_factory=dict, init=False, repr=False
    )
    _renewals: dict[SignInKey, asyncio.Task[_CachedSignIn | UpstreamError]] = field(
        default_factory=dict, init=False, repr=False
    )
    _reloads: int = field(default=0, init=False, repr=False)
    _group: TaskGroup = field(default_factory=TaskGroup, init=False, repr=False)
    _unsaved: set[asyncio.Task[None]] = field(default_factory=set, init=False, repr=False)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._unsaved:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    async def reload(self) -> None:
        """Load the changes made by other processes; on failure, keep the current state."""
        self._reloads += 1
        self._forget_absent()
        known = {key: entry.stored.written_at for key, entry in self._entries.items() if entry}
        if not known:
            return
        try:
            changed = await self.store.load_changed(known)
        except SignInStoreUnavailable as error:
            log.warning("sign_ins.reload_failed", reason=str(error))
            return
        for key, stored in changed.items():
            entry = self._entries.get(key)
            if stored is None:
                self._entries.pop(key, None)
            elif entry is None or stored.written_at > entry.stored.written_at:
                self._entries[key] = _CachedSignIn(stored=stored, renewed_at=self.clock())

    async def get_usable(self, key: SignInKey, url: str, *, private: bool) -> SignIn:
        """Return a currently valid sign-in for an address, renewing it if necessary.

        Args:
            key: Key of the sign-in.
            url: The address.
            private: Whether the server's own address may be in a private network.

        Raises:
            SignInRequired: If there is none.
            SignInUnavailable: If it must be renewed but temporarily cannot be.
        """
        entry = await self._load_entry(key)
        self._require_not_ended(key, entry.sign_in)
        if url != entry.covered_url:
            if not addresses.is_covered(entry.sign_in.resource, url):
                raise build_sign_in_error(key, "its address is not the one that was signed in to")
            entry.covered_url = url
        now = self.clock()
        tokens = entry.sign_in.tokens
        left_s = tokens.remaining_s(now)
        if not tokens.is_due(now) or (tokens.refresh is None and left_s > 0):
            return entry.sign_in
        if left_s > 0 and entry.retry_at and now < entry.retry_at:
            return entry.sign_in
        try:
            return (await self._renew_once(key, entry, private=private)).sign_in
        except SignInUnavailable as error:
            if left_s <= 0:
                raise
            log.warning("sign_ins.renewal_failed", server=key.server, reason=str(error))
            return entry.sign_in

    async def renew(self, key: SignInKey, *, private: bool) -> bool:
        """Renew tokens that the server refused; return whether to repeat the request.

        Args:
            key: Key of the sign-in.
            private: Whether the server's own address may be in a private network.

        Raises:
            SignInRequired: If no new tokens can be obtained.
            SignInUnavailable: If they temporarily cannot be obtained.
        """
        entry = await self._load_entry(key)
        recent = self.clock() - timedelta(seconds=RETRY_S)
        if entry.renewed_at is not None and entry.renewed_at > recent:
            return True  # the request may have carried the previous token
        await self._renew_once(key, entry, private=private)
        return True

    async def add_wanted_scope(self, key: SignInKey, scope: str) -> None:
        """Record scopes that a server demands beyond the requested ones."""
        entry = await self._load_entry(key)
        known = join_scopes(entry.sign_in.asked, entry.sign_in.wanted)
        if join_scopes(known, scope) == known:
            return
        wanting = replace(entry.sign_in, wanted=join_scopes(entry.sign_in.wanted, scope))
        try:
            stored = await self.store.save(key, wanting, instead_of=entry.sign_in)
        except SignInStoreUnavailable as error:
            log.warning("sign_ins.save_failed", server=key.server, reason=str(error))
            return
        if stored is not None:
            self._entries[key] = replace(entry, stored=stored)

    async def _load_entry(self, key: SignInKey) -> _CachedSignIn:
        """Return a sign-in from memory, or load it from the store."""
        while key not in self._entries:
            reloads = self._reloads
            try:
                stored = await self.store.load(key)
            except SignInStoreUnavailable as error:
                raise SignInUnavailable(str(error), server=key.server) from None
            if reloads == self._reloads:  # else a concurrent reload may have seen newer data
                self._entries.setdefault(key, _CachedSignIn(stored=stored) if stored else None)
        entry = self._entries[key]
        if entry is None:
            raise build_sign_in_error(
                key, f"{key.user} has none yet" if key.user else "there is none"
            )
        return entry

    def _forget_absent(self) -> None:
        for key in [key for key, entry in self._entries.items() if entry is None]:
            del self._entries[key]

    def _make_removed_error(self, key: SignInKey) -> SignInRequired:
        self._entries.pop(key, None)
        return build_sign_in_error(key, "its sign-in was removed")

    def _require_not_ended(self, key: SignInKey, sign_in: SignIn) -> None:
        if sign_in.ended:
            raise build_sign_in_error(key, f"the sign-in has ended: {sign_in.ended}")

    async def _renew_once(
        self, key: SignInKey, entry: _CachedSignIn, *, private: bool
    ) -> _CachedSignIn:
        """Join or start the renewal task (single-flight), which survives cancelled callers."""
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

    async def _renew(
        self, key: SignInKey, entry: _CachedSignIn, *, private: bool
    ) -> _CachedSignIn | UpstreamError:
        """Renew and cache the result; errors are returned, since only the callers need them."""
        try:
            renewed = await self._renew_locked(key, entry, private=private)
        except UpstreamError as error:
            entry.retry_at = self.clock() + timedelta(seconds=RETRY_S)
            return error
        except Exception:  # top of a task: one server's failure must not end the gateway
            log.exception("sign_ins.renewal_crashed", server=key.server)
            return SignInUnavailable(
                "its tokens could not be renewed; see the log", server=key.server
            )
        self._entries[key] = renewed
        return renewed

    async def _renew_locked(
        self, key: SignInKey, entry: _CachedSignIn, *, private: bool
    ) -> _CachedSignIn:
        try:
            async with self.store.lock_renewal(key):
                stored = await self.store.load(key)
                if stored is None:
                    raise self._make_removed_error(key)
                if stored.sign_in.tokens.access != entry.sign_in.tokens.access:
                    self._entries[key] = current = _CachedSignIn(
                        stored=stored, renewed_at=self.clock()
                    )
                    self._require_not_ended(key, stored.sign_in)
                    return current  # another process renewed first
                return await self._refresh(key, stored, private=private)
        except SignInStoreUnavailable as error:
            raise SignInUnavailable(str(error), server=key.server) from None

    async def _refresh(self, key: SignInKey, old: StoredSignIn, *, private: bool) -> _CachedSignIn:
        self._require_not_ended(key, old.sign_in)
        if old.sign_in.tokens.refresh is None:
            return await self._mark_ended(
                key, old, "its token is no longer valid and cannot be renewed"
            )
        own = addresses.url_origin(old.sign_in.resource)[1:] if private else None
        fetch = FetchRequest(client=self.get_http_client(), own=own)
        try:
            new = await grants.refresh_tokens(old.sign_in, fetch=fetch, now=self.clock())
        except AuthorizationRefused as error:
            return await self._mark_ended(key, old, str(error))
        except SignInFailed as error:
            raise SignInUnavailable(
                f"its tokens could not be renewed: {error}", server=key.server
            ) from None
        log.info("sign_ins.renewed", server=key.server, user=key.user)
        stored = await self._save(key, new, old)
        return _CachedSignIn(stored=stored, renewed_at=self.clock())

    async def _mark_ended(self, key: SignInKey, old: StoredSignIn, reason: str) -> _CachedSignIn:
        """Mark a sign-in as ended, unless it has been replaced meanwhile."""
        ended = replace(old.sign_in, ended=reason)
        log.warning("sign_ins.ended", server=key.server, user=key.user, reason=reason)
        stored = await self.store.save(key, ended, instead_of=old.sign_in)
        self._entries.pop(key, None)
        if stored is not None:
            self._entries[key] = _CachedSignIn(stored=stored)
        entry = await self._load_entry(key)
        self._require_not_ended(key, entry.sign_in)
        return entry

    async def _save(self, key: SignInKey, new: SignIn, old: StoredSignIn) -> StoredSignIn:
        """Store new tokens; if that fails, use them and retry storing in the background."""
        try:
            stored = await self.store.save(key, new, instead_of=old.sign_in)
            stored = stored or await self.store.load(key)
        except SignInStoreUnavailable as error:
            log.warning("sign_ins.save_failed", server=key.server, reason=str(error))
        else:
            if stored is None:
                raise self._make_removed_error(key)
            self._require_not_ended(key, stored.sign_in)
            return stored
        task = self._group.create_task(self._save_later(key, new, old.sign_in))
        self._unsaved.add(task)
        task.add_done_callback(self._unsaved.discard)
        return replace(old, sign_in=new)

    async def _save_later(self, key: SignInKey, new: SignIn, old: SignIn) -> None:
        """Retry until the tokens are stored; try once more when the process ends."""
        wait_s = FIRST_SAVE_RETRY_S
        ending = False
        while not ending:
            try:
                await asyncio.sleep(wait_s)
            except asyncio.CancelledError:
                ending = True
            try:
                stored = await self.store.save(key, new, instead_of=old)
            except SignInStoreUnavailable:
                wait_s = min(2 * wait_s, LONGEST_SAVE_RETRY_S)
                continue
            entry = self._entries.get(key)
            if stored is not None and entry is not None and entry.sign_in is new:
                entry.stored = stored
            return
        log.error("sign_ins.not_saved", server=key.server, user=key.user)


def build_sign_in_error(key: SignInKey, why: str) -> SignInRequired:
    """Return the error that asks a person to sign in."""
    return SignInRequired(key.server, why=why, user=key.user)


@dataclass(frozen=True)
class SignInCredentials:
    """The `CredentialsProvider` of one server's connections.

    Attributes:
        sign_ins: Source of the tokens.
        spec: The server's entry.
        listing_user: User whose sign-in serves the gateway's own listings of servers with
            per-user sign-ins; requests of callers always use their own. Empty: there is none.
    """

    sign_ins: SignInManager
    spec: ServerSpec
    listing_user: str

    async def build_headers(self, url: str, caller: Caller) -> Mapping[str, str]:
        """Return the headers that authorize a request.

        Args:
            url: Address of the request; tokens are sent only to the resource they are valid for.
            caller: Whose rights the request carries.

        Raises:
            SignInRequired: If there is no usable sign-in.
            SignInUnavailable: If it temporarily cannot be renewed.
        """
        key = self._find_key(caller)
        sign_in = await self.sign_ins.get_usable(key, url, private=self.spec.private_network)
        return {"Authorization": f"Bearer {sign_in.tokens.access}"}

    async def handle_refusal(self, *, status: int, www_authenticate: str, caller: Caller) -> bool:
        """Handle a 401 or 403; return whether to repeat the request.

        Args:
            status: Status of the response.
            www_authenticate: Its header of that name, or empty.
            caller: As for `build_headers`.

        Raises:
            SignInRequired: If a person must sign in, again or for more scopes.
            SignInUnavailable: If new tokens are temporarily unavailable.
        """
        refusal, key = read_challenge(www_authenticate), self._find_key(caller)
        if status == UNAUTHORIZED:
            return await self.sign_ins.renew(key, private=self.spec.private_network)
        if status == FORBIDDEN and refusal.error == "insufficient_scope":
            await self.sign_ins.add_wanted_scope(key, refusal.scope)
            scopes = f": {refusal.scope}" if refusal.scope else ""
            raise build_sign_in_error(key, f"this takes more rights than were granted{scopes}")
        return False

    def _find_key(self, caller: Caller) -> SignInKey:
        """Return the sign-in of a caller; only the gateway's own requests use another user's."""
        if self.spec.authorization != "oauth_per_user":
            return SignInKey(self.spec.name, "")
        user = self.listing_user if caller == GATEWAY else caller.user
        if not user:
            raise SignInRequired(self.spec.name, why="each user has their own")
        return SignInKey(self.spec.name, user)
