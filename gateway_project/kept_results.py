"""Results too large to send unasked: sealed on disk for an hour, for whom they were made.

A result is kept under a name that only its reader can know, and opened for its caller alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import SealBroken, Sealer
from tools import resource_uris

LIFETIME_S: Final = 3_600.0
SWEEP_EVERY_S: Final = 300.0
MAX_BYTES: Final = 512 * 1024 * 1024
"""What all kept results of an installation may take; the oldest give way."""
ID_BYTES: Final = 32
_NAME: Final = re.compile(r"[0-9a-f]{64}\.sealed")

log = structlog.get_logger(__name__)


class UnknownResult(LookupError):
    """No such result is kept for the caller."""

    code = "unknown_result"

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"there is no result {uri!r} for you: it has expired, or was never yours; results "
            f"are kept for {LIFETIME_S / 60:g} minutes, so call the tool again"
        )
        self.uri = uri


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A result that waits to be read.

    Attributes:
        uri: To read it by.
        size_bytes: Of its JSON, as UTF-8.
        expires_at: Seconds since the epoch.
    """

    uri: str
    size_bytes: int
    expires_at: float


class KeptResults:
    """Results on disk.

    Args:
        folder: Where they lie; made when it is first needed.
        sealer: Of the installation.
        now: Seconds since the epoch.
        max_bytes: What they may take together.
    """

    def __init__(
        self,
        folder: Path,
        sealer: Sealer,
        *,
        now: Callable[[], float] = time.time,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._folder = folder
        self._sealer = sealer
        self._now = now
        self._max_bytes = max_bytes

    async def keep(self, raw: Mapping[str, Any], caller: Caller) -> Kept:
        """Keep a result for its caller.

        Raises:
            OSError: If there is no room for it.
        """
        return await asyncio.to_thread(self._keep, raw, caller)

    async def read(self, result_id: str, caller: Caller) -> str:
        """Return a result as JSON, every time the same.

        Raises:
            UnknownResult: If it has expired, or is not the caller's.
        """
        return await asyncio.to_thread(self._read, result_id, caller)

    async def keep_swept(self) -> None:
        """Remove what has expired, now and then, until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(SWEEP_EVERY_S)

    async def sweep(self) -> None:
        """Remove what has expired."""
        try:
            await asyncio.to_thread(self._make_room, 0)
        except OSError as error:
            log.warning("results.not_swept", folder=str(self._folder), reason=str(error))

    def _keep(self, raw: Mapping[str, Any], caller: Caller) -> Kept:
        text = _json(raw)
        expires_at = self._now() + LIFETIME_S
        sealed = self._sealer.seal(
            {"owner": _owner(caller), "expires_at": expires_at, "text": text}
        ).encode()
        result_id = secrets.token_urlsafe(ID_BYTES)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(len(sealed))
        _write(self._folder / _file_name(result_id), sealed)
        return Kept(
            uri=resource_uris.result_uri(result_id),
            size_bytes=len(text.encode()),
            expires_at=expires_at,
        )

    def _read(self, result_id: str, caller: Caller) -> str:
        path = self._folder / _file_name(result_id)
        try:
            kept = self._sealer.open(path.read_bytes().decode())
        except (FileNotFoundError, SealBroken):
            raise UnknownResult(resource_uris.result_uri(result_id)) from None
        if kept["owner"] != _owner(caller) or kept["expires_at"] <= self._now():
            raise UnknownResult(resource_uris.result_uri(result_id))
        return str(kept["text"])

    def _make_room(self, wanted_bytes: int) -> None:
        """Remove what has expired, and then the oldest until the rest fits."""
        if not self._folder.is_dir():
            return
        files = []
        for path in self._folder.iterdir():
            try:
                status = path.stat()
            except FileNotFoundError:  # another process was faster
                continue
            if status.st_mtime + LIFETIME_S <= self._now():
                path.unlink(missing_ok=True)
            elif _NAME.fullmatch(path.name):
                files.append((status.st_mtime, status.st_size, path))
        taken = sum(size for _, size, _ in files) + wanted_bytes
        for _, size, path in sorted(files):
            if taken <= self._max_bytes:
                return
            path.unlink(missing_ok=True)
            taken -= size
            log.info("results.gave_way", size_bytes=size)


def _json(raw: Mapping[str, Any]) -> str:
    text = json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot carry
        return json.dumps(raw, separators=(",", ":"))
    return text


def _owner(caller: Caller) -> list[str | int | None]:
    return [caller.user, caller.team]


def _file_name(result_id: str) -> str:
    return f"{hashlib.sha256(result_id.encode()).hexdigest()}.sealed"


def _write(path: Path, content: bytes) -> None:
    """Write whole or not at all, readable by its owner only."""
    temporary = path.with_suffix(".part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
