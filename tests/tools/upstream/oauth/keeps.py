"""Sign-ins kept in memory, as several processes see them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tools.upstream.oauth.keeping import KeepUnavailable, Kept
from tools.upstream.oauth.values import Key, SignIn


@dataclass(kw_only=True)
class MemoryKeep:
    """A `Keep` that counts what it is asked.

    Attributes:
        rows: What is kept.
        down: Whether it cannot be reached.
        fails: Methods that cannot be used at the moment.
        loads: How often a sign-in was read.
    """

    rows: dict[Key, Kept] = field(default_factory=dict)
    down: bool = False
    fails: set[str] = field(default_factory=set)
    loads: int = 0
    saves: int = 0
    saved: asyncio.Event = field(default_factory=asyncio.Event)
    _at: datetime = datetime(2026, 11, 21)  # noqa: DTZ001 - a counter in the form of a time
    _locks: dict[Key, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def put(self, key: Key, sign_in: SignIn) -> None:
        self._at += timedelta(seconds=1)
        self.rows[key] = Kept(sign_in=sign_in, at=self._at)

    async def load(self, key: Key) -> Kept | None:
        self._require("load")
        self.loads += 1
        return self.rows.get(key)

    async def newer(self, known: Mapping[Key, datetime]) -> dict[Key, Kept | None]:
        self._require("newer")
        return {
            key: self.rows.get(key)
            for key, at in known.items()
            if key not in self.rows or self.rows[key].at > at
        }

    async def save(self, key: Key, new: SignIn, *, instead_of: SignIn) -> Kept | None:
        self._require("save")
        old = self.rows.get(key)
        if old is None or old.sign_in.tokens.access != instead_of.tokens.access:
            return None
        self.put(key, new)
        self.saves += 1
        self.saved.set()
        return self.rows[key]

    @asynccontextmanager
    async def alone(self, key: Key):
        self._require("alone")
        async with self._locks[key]:
            yield

    def _require(self, method: str) -> None:
        if self.down or method in self.fails:
            raise KeepUnavailable("sign-ins cannot be read or written: gone")
