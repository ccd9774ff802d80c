"""Sign-ins in the database, as the keeper of tokens asks for them; and all that stands on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

import django.db
import psycopg

from gateway_project.foundation import advisory
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import SealBroken, Sealer
from tools.store import sign_ins as store
from tools.upstream.http.remote import Remote
from tools.upstream.network import NetworkRules
from tools.upstream.oauth.authorize import for_spec
from tools.upstream.oauth.keeping import KeepUnavailable, Kept
from tools.upstream.oauth.sign_ins import SignIns
from tools.upstream.oauth.values import Key, SignIn

LOCK_TIMEOUT_S = 30.0
"""Twice what a renewal may take in the process that has the lock."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class KeptInDatabase:
    """The `Keep` of a process that has a database.

    Attributes:
        sealer: Seals tokens.
    """

    sealer: Sealer

    async def load(self, key: Key) -> Kept | None:
        """Return a sign-in; None if there is none."""
        return await _ask(store.load, key, sealer=self.sealer)

    async def newer(self, known: Mapping[Key, datetime]) -> Mapping[Key, Kept | None]:
        """Return those of the known that were changed since, None for those that are gone."""
        return await _ask(store.newer, known, sealer=self.sealer)

    async def save(self, key: Key, new: SignIn, *, instead_of: SignIn) -> Kept | None:
        """Replace a sign-in; None, and nothing is done, if another stands there by now."""
        return await _ask(store.save, key, new, instead_of=instead_of, sealer=self.sealer)

    @asynccontextmanager
    async def alone(self, key: Key) -> AsyncIterator[None]:
        """Hold off every other process that would renew the same sign-in."""
        name = f"sign-in of {key.user!r} at {key.server!r}"
        try:
            async with advisory.held(name, timeout_s=LOCK_TIMEOUT_S):
                yield
        except (django.db.Error, psycopg.Error) as error:
            raise _unavailable(error) from None


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def remote_with_sign_ins(
    *,
    sealer: Sealer,
    rules: NetworkRules,
    listing_user: str = "",
    clock: Callable[[], datetime] = _now,
) -> AsyncIterator[tuple[Remote, SignIns]]:
    """Provide what a pool reaches remote servers with, and the sign-ins it calls them by.

    Enter it before the pool and leave it after: a renewal under way is brought to its end.

    Args:
        sealer: Seals tokens.
        rules: Which addresses may be connected to.
        listing_user: In whose name the gateway lists the tools of servers that each user signs in
            to.
        clock: Tells the time.
    """
    own = Remote(rules=rules)  # outlives the pool's
    sign_ins = SignIns(
        keep=KeptInDatabase(sealer=sealer),
        http=lambda: own.client,
        clock=clock,
    )
    remote = Remote(
        rules=rules,
        authorize=lambda spec: for_spec(sign_ins, spec, listing_user=listing_user),
    )
    try:
        async with sign_ins:
            yield remote, sign_ins
    finally:
        await own.aclose()


async def _ask(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        return await in_database(function, *args, **kwargs)
    except (django.db.Error, SealBroken) as error:
        raise _unavailable(error) from None


def _unavailable(error: Exception) -> KeepUnavailable:
    return KeepUnavailable(f"sign-ins cannot be read or written: {first_line(error)}")
