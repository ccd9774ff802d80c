"""Sign-ins kept in memory, as several processes see them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tools.upstream.oauth.values import SignIn, SignInKey, SignInStoreUnavailable, StoredSignIn


@dataclass(kw_only=True)
class MemoryKeep:
    """A `SignInStore` that counts what it is asked.

    Attributes:
        rows: What is kept.
        down: Whether it cannot be reached.
        fails: Methods that cannot be used at the moment.
        loads: How often a sign-in was read.
    """

    rows: dict[SignInKey, StoredSignIn] = field(default_factory=dict)
    down: bool = False
    fails: set[str] = field(default_factory=set)
    loads: int = 0
    saves: int = 0
    saved: asyncio.Event = field(default_factory=asyncio.Event)
    _at: datetime = datetime(2026, 11, 21)  # noqa: DTZ001 - a counter in the form of a time
    _locks: dict[SignInKey, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )

    def put(self, key: SignInKey, sign_in: SignIn) -> None:
        self._at += timedelta(seconds=1)
        self.rows[key] = StoredSignIn(sign_in=sign_in, written_at=self._at)

    async def load(self, key: SignInKey) -> StoredSignIn | None:
        self._require("load")
        self.loads += 1
        return self.rows.get(key)

    async def load_changed(
        self, known: Mapping[SignInKey, datetime]
    ) -> dict[SignInKey, StoredSignIn | None]:
        self._require("newer")
        return {
            key: self.rows.get(key)
            for key, at in known.items()
            if key not in self.rows or self.rows[key].written_at > at
        }

    async def save(
        self, key: SignInKey, new: SignIn, *, instead_of: SignIn
    ) -> StoredSignIn | None:
        self._require("save")
        old = self.rows.get(key)
        if old is None or old.sign_in.tokens.access != instead_of.tokens.access:
            return None
        self.put(key, new)
        self.saves += 1
        self.saved.set()
        return self.rows[key]

    @asynccontextmanager
    async def lock_renewal(self, key: SignInKey):
        self._require("alone")
        async with self._locks[key]:
            yield

    def _require(self, method: str) -> None:
        if self.down or method in self.fails:
            raise SignInStoreUnavailable("sign-ins cannot be read or written: gone")
