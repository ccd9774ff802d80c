"""The `SignInStore` in the database, and the remote transports that use it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

import django.db
import psycopg

from gateway_project.foundation import advisory
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.store import sign_ins as store
from tools.upstream.http.remote import RemoteTransports
from tools.upstream.network import NetworkRules
from tools.upstream.oauth.sign_ins import SignInCredentials, SignInManager
from tools.upstream.oauth.values import SignIn, SignInKey, SignInStoreUnavailable, StoredSignIn

LOCK_TIMEOUT_S = 30.0
"""Twice the longest renewal in the process that holds the lock."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class DatabaseSignInStore:
    """The `SignInStore` of a process with a database.

    Attributes:
        sealer: Seals tokens.
    """

    sealer: Sealer

    async def load(self, key: SignInKey) -> StoredSignIn | None:
        """Return a sign-in; None if there is none."""
        return await _run_store_call(store.load_sign_in, key, sealer=self.sealer)

    async def load_changed(
        self, known: Mapping[SignInKey, datetime]
    ) -> Mapping[SignInKey, StoredSignIn | None]:
        """Return the known sign-ins that changed since; None for deleted ones."""
        return await _run_store_call(store.load_changed, known, sealer=self.sealer)

    async def save(
        self, key: SignInKey, new: SignIn, *, instead_of: SignIn
    ) -> StoredSignIn | None:
        """Replace a sign-in; do nothing and return None if it changed meanwhile."""
        return await _run_store_call(
            store.replace_sign_in, key, new, instead_of=instead_of, sealer=self.sealer
        )

    @asynccontextmanager
    async def lock_renewal(self, key: SignInKey) -> AsyncIterator[None]:
        """Hold the lock under which a process renews a sign-in."""
        name = f"sign-in of {key.user!r} at {key.server!r}"
        try:
            async with advisory.hold_lock(name, timeout_s=LOCK_TIMEOUT_S):
                yield
        except (django.db.Error, psycopg.Error) as error:
            raise _make_unavailable_error(error) from None


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def make_remote_with_sign_ins(
    *,
    sealer: Sealer,
    rules: NetworkRules,
    listing_user: str,
    clock: Callable[[], datetime] = _now,
) -> AsyncIterator[tuple[RemoteTransports, SignInManager]]:
    """Provide the pool's remote transports and the sign-ins that authorize them.

    Enter it before the pool and leave it after: a running renewal is completed.

    Args:
        sealer: Seals tokens.
        rules: Which addresses may be connected to.
        listing_user: User whose sign-in lists the tools of servers with a sign-in per user.
        clock: Current time.
    """
    own = RemoteTransports(rules=rules)  # outlives the pool's
    sign_ins = SignInManager(
        store=DatabaseSignInStore(sealer=sealer),
        get_http_client=lambda: own.client,
        clock=clock,
    )
    remote = RemoteTransports(
        rules=rules,
        authorize=lambda spec: SignInCredentials(sign_ins, spec, listing_user),
    )
    try:
        async with sign_ins:
            yield remote, sign_ins
    finally:
        await own.aclose()


async def _run_store_call(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        return await run_in_database_thread(function, *args, **kwargs)
    except (django.db.Error, UnsealingFailed) as error:
        raise _make_unavailable_error(error) from None


def _make_unavailable_error(error: Exception) -> SignInStoreUnavailable:
    return SignInStoreUnavailable(f"sign-ins cannot be read or written: {summarize_error(error)}")
