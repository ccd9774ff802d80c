"""Where sign-ins are kept, as the keeper of tokens sees it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tools.upstream.oauth.values import Key, SignIn


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A sign-in as the database has it, and when it was written there."""

    sign_in: SignIn
    at: datetime


class KeepUnavailable(Exception):
    """What is kept cannot be read or written at the moment; one line that says why."""


class Keep(Protocol):
    """Where sign-ins are kept; every method may raise `KeepUnavailable`."""

    async def load(self, key: Key) -> Kept | None:
        """Return a sign-in."""

    async def newer(self, known: Mapping[Key, datetime]) -> Mapping[Key, Kept | None]:
        """Return those of the known that were changed since, None for those that are gone."""

    async def save(self, key: Key, new: SignIn, *, instead_of: SignIn) -> Kept | None:
        """Replace a sign-in; None, and nothing is done, if another stands there by now."""

    def alone(self, key: Key) -> AbstractAsyncContextManager[None]:
        """Hold off every other process that would renew the same sign-in."""
