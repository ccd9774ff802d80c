"""The interface between the sign-in manager and the store of sign-ins."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tools.upstream.oauth.values import SignIn, SignInKey


@dataclass(frozen=True, kw_only=True)
class StoredSignIn:
    """A sign-in as stored in the database, with the time it was written."""

    sign_in: SignIn
    written_at: datetime


class SignInStoreUnavailable(Exception):
    """The store temporarily cannot be read or written; the message says why in one line."""


class SignInStore(Protocol):
    """Stores sign-ins; every method may raise `SignInStoreUnavailable`."""

    async def load(self, key: SignInKey) -> StoredSignIn | None:
        """Return a sign-in, or None."""

    async def load_changed(
        self, known: Mapping[SignInKey, datetime]
    ) -> Mapping[SignInKey, StoredSignIn | None]:
        """Return the sign-ins changed since the known times; None for deleted ones."""

    async def save(
        self, key: SignInKey, new: SignIn, *, instead_of: SignIn
    ) -> StoredSignIn | None:
        """Replace a sign-in; if `instead_of` is no longer the stored one, return None."""

    def lock_renewal(self, key: SignInKey) -> AbstractAsyncContextManager[None]:
        """Lock the renewal of a sign-in against other processes."""
